// Proves that engines of all architectures (base, winner-only, compute-ahead, exact, and their combinations) make the same decisions: from any
// equal states the same winner, record and clock. With States they also take the same packets, drop the same heads and are in equal states
// again; otherwise that follows from the same winner and register_ahead. So they always agree.
//
// Sizes: N = 4, and 8 but for Exact; States with N = 4 and Winner. Each other architecture is compared with the base architecture. Decision
// blocks compare ranks (abstractions/by_rank): the exact order compares other pairs, and agrees only because the order is total.
// How: one decision from any state, BMC of as many cycles as the longer one takes. Records are taken at once; engine_handshake proves that
// they do not change while they wait.

module same_winner
  import dwcs_pkg::*;
#(
  parameter int unsigned N       = 4,
  /// Of the engine that is compared with the base architecture.
  parameter routing_e    Routing = Winner,
  parameter bit          Ahead   = 1'b0,
  /// The states after the decision are compared, too.
  parameter bit          States  = 1'b0,
  localparam int unsigned K      = $clog2(N)
) (
  input logic          clk_i,
  input logic          outside_i,
  input tick_t         time_i,
  input logic  [N-1:0] next_valid_i,
  input tick_t [N-1:0] next_arrival_i
);

  // For decision blocks that compare ranks.
  ranks u_ranks (.clk_i);

  // The inputs of a decision do not change in the course of it: engines of different length see the same.
  logic          begun_q = 1'b0;
  logic          outside, outside_q;
  tick_t         now, time_q;
  logic  [N-1:0] next_valid, next_valid_q;
  tick_t [N-1:0] next_arrival, next_arrival_q;
  assign outside      = begun_q ? outside_q : outside_i;
  assign now          = begun_q ? time_q : time_i;
  assign next_valid   = begun_q ? next_valid_q : next_valid_i;
  assign next_arrival = begun_q ? next_arrival_q : next_arrival_i;
  always_ff @(posedge clk_i) begin
    begun_q        <= 1'b1;
    outside_q      <= outside;
    time_q         <= now;
    next_valid_q   <= next_valid;
    next_arrival_q <= next_arrival;
  end

  logic                base_load, base_valid, base_update, base_served;
  logic                other_load, other_valid, other_update, other_served;
  decision_t           base_decision, other_decision;
  id_t                 base_winner, other_winner;
  tick_t               base_finish, other_finish, base_now, other_now;
  logic [N-1:0]        base_pop, other_pop;
  attributes_t [N-1:0] base_home, other_home;
  status_t [N-1:0]     base_status, other_status;

  // With enable_i low an engine goes to LOAD after its decision, and waits there for the other one.
  sharestreams #(
    .N(N), .Routing(Lattice), .Ahead(1'b0)
  ) u_base (
    .clk_i, .rst_ni(1'b1), .enable_i(1'b0), .outside_i(outside), .time_i(now), .load_valid_i(1'b0), .load_ready_o(base_load), .load_i('0),
    .next_valid_i(next_valid), .next_arrival_i(next_arrival), .pop_o(base_pop),
    .decision_valid_o(base_valid), .decision_ready_i(1'b1), .decision_o(base_decision),
    .update_o(base_update), .served_o(base_served), .winner_o(base_winner), .finish_o(base_finish), .now_o(base_now),
    .home_o(base_home), .status_o(base_status)
  );
  sharestreams #(
    .N(N), .Routing(Routing), .Ahead(Ahead)
  ) u_other (
    .clk_i, .rst_ni(1'b1), .enable_i(1'b0), .outside_i(outside), .time_i(now), .load_valid_i(1'b0), .load_ready_o(other_load), .load_i('0),
    .next_valid_i(next_valid), .next_arrival_i(next_arrival), .pop_o(other_pop),
    .decision_valid_o(other_valid), .decision_ready_i(1'b1), .decision_o(other_decision),
    .update_o(other_update), .served_o(other_served), .winner_o(other_winner), .finish_o(other_finish), .now_o(other_now),
    .home_o(other_home), .status_o(other_status)
  );

  // Register blocks with the same contracts.
  logic [N-1:0] same_contract, same_events;
  for (genvar i = 0; i < N; i++) begin : gen_stream
    assign same_contract[i] = u_base.gen_stream[i].u_register_block.contract_q == u_other.gen_stream[i].u_register_block.contract_q;
    assign same_events[i]   = u_base.gen_stream[i].u_register_block.events_q == u_other.gen_stream[i].u_register_block.events_q;
  end

  // The first SCHEDULE cycle.
  logic base_first, other_first;
  assign base_first  = u_base.u_control_unit.schedules & (u_base.pass == 3'd1) & (u_base.dimension == '0);
  assign other_first = u_other.u_control_unit.schedules & (u_other.pass == 3'd1) & (u_other.dimension == '0);

  // What each engine did in its update.
  typedef struct packed {
    logic         served;
    id_t          winner;
    decision_t    decision;
    tick_t        finish;
    logic [N-1:0] pop;
  } done_t;
  done_t base, other;
  logic  base_done_q = 1'b0, other_done_q = 1'b0;
  always_ff @(posedge clk_i) begin
    if (base_update) begin
      base_done_q <= 1'b1;
      base        <= '{served: base_served, winner: base_served ? base_winner : '0, decision: base_decision, finish: base_finish,
                        pop: base_pop};
      if (~base_served) base.decision.winner <= '0;
    end
    if (other_update) begin
      other_done_q <= 1'b1;
      other        <= '{served: other_served, winner: other_served ? other_winner : '0, decision: other_decision, finish: other_finish,
                        pop: other_pop};
      if (~other_served) other.decision.winner <= '0;
    end
  end

  always_comb begin
    if (~begun_q) begin
      // The states are equal in the first cycle of a decision.
      both_begin: assume (base_first & other_first);
      // Then the network has been loaded with the streams as they are (engine_handshake).
      networks_loaded: assume ((u_base.u_shuffle_exchange.ports_q == u_base.attributes)
                               & (u_other.u_shuffle_exchange.ports_q == u_other.attributes));
      equal_contracts: assume (&same_contract);
      equal_states: assume ((base_status == other_status) & (&same_events));
      equal_clocks: assume (base_now == other_now);
      equal_drops: assume (u_base.drops_q == u_other.drops_q);
    end
    if (base_done_q & other_done_q) begin
      same_winner: assert ((base.served == other.served) & (base.winner == other.winner));
      same_decision: assert ((base.decision == other.decision) & (base.finish == other.finish));
      same_clocks: assert (base_now == other_now);
      if (States) begin
        same_pops: assert (base.pop == other.pop);
        same_drops: assert (u_base.drops_q == u_other.drops_q);
        same_states: assert (base_status == other_status);
      end
    end
    no_second_decision: assert (~((base_done_q & base_update) | (other_done_q & other_update)));
  end

  always_comb begin
    if (base_done_q & other_done_q) begin
      last_wins: cover (base.served & (32'(base.winner) == N - 1) & (base.pop != '0));
      no_winner: cover (~base.served);
      drops: cover (u_base.drops_q != '0);
    end
  end

  logic unused;
  assign unused = ^{base_load, other_load, base_valid, other_valid, base_home, other_home};

endmodule
