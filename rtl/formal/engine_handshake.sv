// Proves the handshakes of the engine. A record that is offered stays unchanged until it is taken, and so do the states of all streams.
// Register blocks update in the cycle in which a record is taken, or if there is none. Packets are taken only then, and only where there are
// any.
//
// Sizes: N = 4 and 8, all architectures. Decision blocks compare ranks (abstractions/by_rank): only that equal questions have equal answers
// matters here.
// How: induction over cycles.

module engine_handshake
  import dwcs_pkg::*;
#(
  parameter int unsigned N       = 4,
  parameter routing_e    Routing = Lattice,
  parameter bit          Ahead   = 1'b0
) (
  input logic          clk_i,
  input logic          rst_ni,
  input logic          enable_i,
  input logic          outside_i,
  input tick_t         time_i,
  input logic          load_valid_i,
  input load_t         load_i,
  input logic  [N-1:0] next_valid_i,
  input tick_t [N-1:0] next_arrival_i,
  input logic          ready_i
);

  // For decision blocks that compare ranks.
  ranks u_ranks (.clk_i);

  logic                load_ready, valid, update, served;
  decision_t           decision;
  id_t                 winner;
  tick_t               finish, now;
  logic [N-1:0]        pop;
  attributes_t [N-1:0] home;
  status_t [N-1:0]     status;

  sharestreams #(
    .N(N), .Routing(Routing), .Ahead(Ahead)
  ) u_engine (
    .clk_i,
    .rst_ni,
    .enable_i,
    .outside_i,
    .time_i,
    .load_valid_i,
    .load_ready_o(load_ready),
    .load_i,
    .next_valid_i,
    .next_arrival_i,
    .pop_o(pop),
    .decision_valid_o(valid),
    .decision_ready_i(ready_i),
    .decision_o(decision),
    .update_o(update),
    .served_o(served),
    .winner_o(winner),
    .finish_o(finish),
    .now_o(now),
    .home_o(home),
    .status_o(status)
  );

  // The cycle before: a record waited, or nothing was to change the states.
  logic            waited_q = 1'b0;
  logic            rested_q = 1'b0;
  logic            served_q;
  decision_t       decision_q;
  state_t [N-1:0]  states, states_q;
  tick_t           now_q;
  logic            started_q = 1'b0;
  always_ff @(posedge clk_i) begin
    started_q  <= 1'b1;
    waited_q   <= rst_ni & valid & ~ready_i;
    rested_q   <= rst_ni & ~update & ~(load_ready & load_valid_i);
    served_q   <= served;
    decision_q <= decision;
    states_q   <= states;
    now_q      <= now;
  end

  for (genvar i = 0; i < N; i++) begin : gen_state
    assign states[i] = status[i].state;
  end

  // The first SCHEDULE cycle.
  logic first;
  assign first = u_engine.u_control_unit.schedules & (u_engine.pass == 3'd1) & (u_engine.dimension == '0);

  always_comb begin
    // Every run begins with a reset.
    reset_first: assume (started_q | ~rst_ni);
    if (started_q & rst_ni) begin
      if (waited_q) begin
        stays_valid: assert (valid);
        stays_unchanged: assert ((decision == decision_q) & (served == served_q) & (now == now_q));
      end
      if (rested_q) states_rest: assert (states == states_q);
      in_sequence: assert ((u_engine.pass >= 3'd1) & (32'(u_engine.pass) <= (Routing == Exact ? $clog2(N) : 1))
                           & (32'(u_engine.dimension) < $clog2(N)));
      network_loaded: assert (~first | (u_engine.u_shuffle_exchange.ports_q == u_engine.attributes));
      update_with_record: assert (~update | ~valid | ready_i);
      record_with_update: assert (~(valid & ready_i) | update);
      loads_apart: assert (~(update & load_ready));
      takes_with_update: assert (((pop & ~next_valid_i) == '0) & (update | (pop == '0)));
      tells_of_winner: assert (~update | ((decision.served == served) & (decision.winner == winner) & (decision.timestamp == now)));
      tells_if_served: assert (~(update & served) | valid);
      held_back: cover (waited_q & valid & ready_i & decision.served);
      nothing_to_tell: cover (update & ~valid);
    end
  end

  logic unused;
  assign unused = ^{finish, home};

endmodule
