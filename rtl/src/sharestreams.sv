// ShareStreams: N streams scheduled by Dynamic Window-Constrained Scheduling.
//
// One register block per stream, N/2 decision blocks in a recirculating shuffle-exchange network, a control unit. Base architecture (Lattice,
// in turn), winner-only routing (Winner), compute-ahead register blocks (Ahead), and the exact order (Exact) are parameters; all of them name
// the same winners. Queues of arrival times lie outside, one per stream, and show the packet behind the head.
//
// Source: Krishnamurthy et al., "ShareStreams", sections 3 and 4, Figure 5. Twin: dwcs::device::Device.
// Latency: a decision takes k cycles (k * k for the exact order), k = log2 N, and one more unless blocks compute ahead.
//
//            LOAD  |      SCHEDULE     | UPDATE |      SCHEDULE     | UPDATE |      (N = 4, base)
//   clk_i      0       1         2         3        4         5         6
//   first_i            1         0         0        1         0         0
//   decision_valid_o                       1                            1
//   update_o                               1                            1          if decision_ready_i
//
//            LOAD  |      SCHEDULE     |      SCHEDULE     |                       (N = 4, compute-ahead)
//   clk_i      0       1         2         3         4
//   decision_valid_o             1                   1

module sharestreams
  import dwcs_pkg::*;
#(
  /// Streams, and ports of the network: 4, 8, 16 or 32.
  parameter int unsigned N       = 4,
  /// What is wired.
  parameter routing_e    Routing = Lattice,
  /// Register blocks compute ahead.
  parameter bit          Ahead   = 1'b0
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  /// Decides; otherwise streams can be loaded once load_ready_o is set.
  input  logic                enable_i,
  /// The clock is time_i. Otherwise it counts winners, from the last time_i that it saw with outside_i set.
  input  logic                outside_i,
  /// The time in ticks; at most 2^14 may pass between two updates.
  input  tick_t               time_i,
  /// LOAD: what a stream asks for.
  input  logic                load_valid_i,
  output logic                load_ready_o,
  input  load_t               load_i,
  /// The packets behind the heads, and which of them become heads in this cycle.
  input  logic  [N-1:0]       next_valid_i,
  input  tick_t [N-1:0]       next_arrival_i,
  output logic  [N-1:0]       pop_o,
  /// Decisions.
  output logic                decision_valid_o,
  input  logic                decision_ready_i,
  output decision_t           decision_o,
  /// Register blocks take their step in this cycle: stream winner_o is served until finish_o, if served_o.
  output logic                update_o,
  output logic                served_o,
  output id_t                 winner_o,
  output tick_t               finish_o,
  /// The clock.
  output tick_t               now_o,
  /// The streams at the ports of the network after a decision, from one update to the next first SCHEDULE cycle, if blocks update in turn
  /// from the last SCHEDULE cycle on. Not a sorted list unless Routing is Exact, and then in the order of the bit-reversed port numbers.
  output attributes_t [N-1:0] home_o,
  /// Where every stream stands.
  output status_t     [N-1:0] status_o
);

  localparam int unsigned K = $clog2(N);

  logic                first, shift, compute, update, load;
  logic [2:0]          pass, dimension;
  attributes_t [N-1:0] attributes;
  logic                found, served;
  id_t                 found_id, winner;
  tick_t               finish;
  logic  [N-1:0]       valid, won, drop, drops_q;

  control_unit #(
    .K(K), .Routing(Routing), .Ahead(Ahead)
  ) u_control_unit (
    .clk_i,
    .rst_ni,
    .enable_i,
    .outside_i,
    .time_i,
    .served_i(|valid),
    .record_i(decision_o.served | (|drops_q)),
    .ready_i(decision_ready_i),
    .first_o(first),
    .pass_o(pass),
    .dimension_o(dimension),
    .shift_o(shift),
    .load_o(load),
    .compute_o(compute),
    .update_o(update),
    .next_now_o(finish),
    .now_o,
    .valid_o(decision_valid_o)
  );

  shuffle_exchange #(
    .N(N), .Routing(Routing)
  ) u_shuffle_exchange (
    .clk_i,
    .first_i(first),
    .pass_i(pass),
    .dimension_i(dimension),
    .enable_i(shift),
    .ports_i(attributes),
    .winner_valid_o(found),
    .winner_o(found_id),
    .home_o
  );

  // The winner as it leaves the network, or a cycle later.
  assign served = Ahead ? found : home_o[0].valid;
  assign winner = Ahead ? found_id : home_o[0].id;

  for (genvar i = 0; i < N; i++) begin : gen_stream
    register_block #(
      .Id(id_t'(i)), .Ahead(Ahead)
    ) u_register_block (
      .clk_i,
      .rst_ni,
      .load_i(load & load_valid_i & (load_i.id == id_t'(i))),
      .load_contract_i(load_i.contract),
      .load_deadline_i(load_i.deadline),
      .compute_i(compute),
      .update_i(update),
      .now_i(finish),
      .won_i(won[i]),
      .next_valid_i(next_valid_i[i]),
      .next_arrival_i(next_arrival_i[i]),
      .pop_o(pop_o[i]),
      .drop_o(drop[i]),
      .attributes_o(attributes[i]),
      .status_o(status_o[i])
    );
    assign valid[i] = attributes[i].valid;
    assign won[i]   = served & (winner == id_t'(i));
  end

  // What was dropped goes with the next decision.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) drops_q <= '0;
    else if (update) drops_q <= drop;
  end

  assign decision_o = '{
    reserved:  '0,
    drops:     MostStreams'(drops_q),
    timestamp: now_o,
    served:    served,
    winner:    winner
  };

  assign load_ready_o = load;
  assign update_o     = update;
  assign served_o     = served;
  assign winner_o     = winner;
  assign finish_o     = finish;

endmodule
