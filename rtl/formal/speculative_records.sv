// Proves of the speculative engine that it names one stream or none, and that this is the first of all. No record is lost however slow the host
// is, and a record that is offered stays unchanged until it is taken.
//
// Sizes: N = 4; choice_groups proves that more streams, in groups, have the same winner. The keys of blocks are arbitrary; key_order proves that
// they order as the decision block does.
// How: induction over cycles.

module speculative_records
  import dwcs_pkg::*;
  import rank_pkg::*;
#(
  parameter int unsigned N = 4
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

  logic            load_ready, valid, update, served;
  decision_t       decision;
  id_t             winner;
  tick_t           finish, now;
  logic [N-1:0]    pop, take;
  logic            query_ready, answer_valid;
  status_t         answer;
  status_t [N-1:0] status;

  speculative #(
    .N(N)
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
    .take_o(take),
    .now_o(now),
    .query_valid_i(1'b0),
    .query_ready_o(query_ready),
    .query_id_i('0),
    .answer_valid_o(answer_valid),
    .answer_o(answer),
    .status_o(status)
  );

  // The keys with which streams went into the decision of this cycle, if it is a new one.
  key_t [N-1:0] lost_q, gained_q, key;
  logic         started_q = 1'b0;
  logic         moved_q   = 1'b0;
  logic [N-1:0] won, won_q;
  logic         waited_q  = 1'b0;
  decision_t    decision_q;

  // One wire names each of four streams.
  assign won = u_engine.champion & u_engine.named;

  always_ff @(posedge clk_i) begin
    started_q  <= 1'b1;
    moved_q    <= u_engine.enable_q;
    lost_q     <= u_engine.lost;
    gained_q   <= u_engine.gained;
    won_q      <= won;
    // The record that was offered in vain in the cycle before.
    waited_q   <= rst_ni & valid & ~ready_i;
    decision_q <= decision;
  end

  // The number of streams named, whether any can be, whether the one named is the first.
  logic [3:0] named;
  logic       any_named, first;
  always_comb begin
    named    = '0;
    any_named = 1'b0;
    first    = 1'b1;
    for (int unsigned i = 0; i < N; i++) key[i] = u_engine.won_q[i] ? gained_q[i] : lost_q[i];
    for (int unsigned i = 0; i < N; i++) begin
      named    += 4'(won[i]);
      any_named |= u_engine.run_q & ~is_idle(key[i]);
      for (int unsigned j = 0; j < N; j++) begin
        if (won[i]) first &= {key[i], id_t'(i)} <= {key[j], id_t'(j)};
      end
    end
  end

  // The queue stops the engine when it is half full, and has room for the decisions under way.
  logic [5:0] records;
  assign records = 6'(u_engine.records);

  always_comb begin
    // Every run begins with a reset.
    reset_first: assume (started_q | ~rst_ni);
    if (started_q & rst_ni) begin
      if (moved_q) begin
        one_named: assert (named == 4'(any_named));
        named_is_first: assert (first);
      end else begin
        named_as_before: assert (won == won_q);
      end
      nobody_named: assert (u_engine.gen_direct.u_choice.nobody_q == (u_engine.won_q == '0));
      one_at_most: assert ((won & (won - 1'b1)) == '0);
      one_winner: assert ((u_engine.won_q & (u_engine.won_q - 1'b1)) == '0);
      enabled_together: assert (u_engine.enable == {N{u_engine.enable_q}});
      stops_in_time: assert ((records <= 6'd10) & (~u_engine.record_valid_q | (records <= 6'd9))
                             & (~u_engine.enable_q | (records <= 6'd8)
                                | ~((|u_engine.ready_q[2:1]) | u_engine.run_q | u_engine.ran_q | u_engine.record_valid_q)));
      no_record_lost: assert (~u_engine.record_valid_q | u_engine.records_ready);
      if (waited_q) stays: assert (valid & (decision == decision_q));
      takes_what_there_is: assert ((pop & ~next_valid_i) == '0);
      stopped: cover (records == 6'd10);
      serves: cover (valid & ready_i & decision.served);
    end
  end

  logic unused;
  assign unused = ^{load_ready, update, served, winner, finish, now, take, query_ready, answer_valid, answer, status};

endmodule
