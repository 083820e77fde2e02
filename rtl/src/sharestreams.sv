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
//   compute_i          1         0         0        1         0         0
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
  /// The streams at the ports of the network after a decision, while update_o is set. Not a sorted list unless Routing is Exact, and then in the
  /// order of the bit-reversed port numbers.
  output attributes_t [N-1:0] home_o,
  /// Where every stream stands, counters a cycle later than the rest.
  output status_t     [N-1:0] status_o
);

  localparam int unsigned K = $clog2(N);

  logic                take, shift, last, compute, update, load;
  logic [2:0]          pass, dimension;
  attributes_t [N-1:0] attributes, delivered, ports;
  logic                found, served;
  id_t                 found_id, winner;
  tick_t               finish, next_now;
  logic  [N-1:0]       valid, won, found_one, drop, drops_q;

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
    .pass_o(pass),
    .dimension_o(dimension),
    .take_o(take),
    .shift_o(shift),
    .last_o(last),
    .load_o(load),
    .compute_o(compute),
    .update_o(update),
    .finish_o(finish),
    .next_now_o(next_now),
    .now_o,
    .valid_o(decision_valid_o)
  );

  shuffle_exchange #(
    .N(N), .Routing(Routing)
  ) u_shuffle_exchange (
    .clk_i,
    .load_i(take),
    .ports_i(attributes),
    .pass_i(pass),
    .dimension_i(dimension),
    .enable_i(shift),
    .winner_valid_o(found),
    .winner_o(found_id),
    .won_o(found_one),
    .delivered_o(delivered),
    .ports_o(ports)
  );

  // The winner as it leaves the network, or a cycle later.
  if (Ahead) begin : gen_ahead
    assign served = found;
    assign winner = found_id;
    assign won    = found_one;
    assign home_o = delivered;

    logic unused;
    assign unused = ^{last, ports};
  end else begin : gen_in_turn
    logic         served_q;
    id_t          winner_q;
    logic [N-1:0] won_q;

    always_ff @(posedge clk_i) begin
      if (last) begin
        served_q <= found;
        winner_q <= found_id;
        won_q    <= found_one;
      end
    end

    assign served = served_q;
    assign winner = winner_q;
    assign won    = won_q;
    assign home_o = ports;

    logic unused;
    assign unused = ^delivered;
  end

  for (genvar i = 0; i < N; i++) begin : gen_stream
    register_block #(
      .Id(id_t'(i)), .Ahead(Ahead)
    ) u_register_block (
      .clk_i,
      .rst_ni,
      .load_i(load_valid_i & load_ready_o & (load_i.id == id_t'(i))),
      .load_contract_i(load_i.contract),
      .load_deadline_i(load_i.deadline),
      .compute_i(compute),
      .update_i(update),
      .finish_i(finish),
      .now_i(next_now),
      .won_i(won[i]),
      .next_valid_i(next_valid_i[i]),
      .next_arrival_i(next_arrival_i[i]),
      .pop_o(pop_o[i]),
      .drop_o(drop[i]),
      .attributes_o(attributes[i]),
      .valid_o(valid[i]),
      .status_o(status_o[i])
    );
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

  assign load_ready_o = load & ~enable_i;
  assign update_o     = update;
  assign served_o     = served;
  assign winner_o     = winner;
  assign finish_o     = next_now;

endmodule
