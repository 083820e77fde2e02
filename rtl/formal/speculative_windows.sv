// Proves of a block of the speculative engine that its window goes as the rules say: what it has at hand for service in time and for a miss
// counts as many tolerated misses as window_rules makes of the window, and every step leaves just that window, or a whole one to a stream that
// comes back; that a violation is worth what it raises y' to; and that what is known ahead of a loss is what a loss is.
//
// Sizes: all contracts; logarithms are arbitrary, because no rule looks at one. Streams that are loaded bring words that fit their contract.
// How: induction over cycles, from any state that keeps to it.

module speculative_windows
  import dwcs_pkg::*;
  import rank_pkg::*;
(
  input logic  clk_i,
  input logic  run_i,
  input logic  next_run_i,
  input logic  ran_i,
  input logic  enable_i,
  input logic  won_i,
  input tick_t finish_i,
  input tick_t next_finish_i,
  input tick_t later_finish_i,
  input logic  next_valid_i,
  input tick_t next_arrival_i
);

  logic    pop, take, drop;
  key_t    lost, gained;
  status_t status;

  speculative_block u_block (
    .clk_i,
    .rst_ni(1'b1),
    .load_i(1'b0),
    .load_contract_i('0),
    .load_deadline_i('0),
    .log_valid_i(1'b0),
    .numerator_log_i('0),
    .to_meet_log_i('0),
    .to_meet_zero_i(1'b0),
    .worth_valid_i(1'b0),
    .worth_i('0),
    .run_i,
    .next_run_i,
    .ran_i,
    .enable_i,
    .won_i,
    .finish_i,
    .next_finish_i,
    .later_finish_i,
    .next_valid_i,
    .next_arrival_i,
    .pop_o(pop),
    .lost_o(lost),
    .won_o(gained),
    .take_o(take),
    .drop_o(drop),
    .status_o(status)
  );

  // What the rules make of a window and of a whole one; a stream without deadlines keeps its.
  tolerance_t tolerance;
  window_t    fresh, window, met, missed, fresh_met, fresh_missed;
  logic       violates, fresh_violates;

  always_comb begin
    tolerance       = u_block.contract_q.tolerance;
    tolerance.fixed = u_block.frozen_q;
    fresh           = whole(tolerance.numerator, tolerance.denominator);
    window          = '{violation: u_block.violation_q, numerator: u_block.x, denominator: u_block.x + u_block.m};
  end

  window_rules u_rules (.tolerance_i(tolerance), .window_i(window), .met_o(met), .missed_o(missed), .violates_o(violates));
  window_rules u_fresh (
    .tolerance_i(tolerance), .window_i(fresh), .met_o(fresh_met), .missed_o(fresh_missed), .violates_o(fresh_violates)
  );

  // What a LOAD leaves, and never changes.
  logic loaded;
  assign loaded = (tolerance.numerator <= tolerance.denominator)
                & (u_block.frozen_q == (u_block.contract_q.infinite | u_block.contract_q.tolerance.fixed | (tolerance.denominator == '0)))
                & (u_block.to_meet_whole_q == tolerance.denominator - tolerance.numerator)
                & (u_block.whole_q.numerator == tolerance.numerator)
                & (u_block.whole_met_q.numerator == fresh_met.numerator)
                & (u_block.whole_missed_q.numerator == fresh_missed.numerator)
                & ((tolerance.numerator != '0) | u_block.frozen_q | (u_block.whole_missed_q == zero_worth(fresh_missed.denominator)));

  // What is kept.
  logic fits, at_hand, worth_of_violation;
  assign fits               = (9'(u_block.x) + 9'(u_block.m) <= 9'd255) & (u_block.x <= tolerance.numerator)
                            & (~u_block.frozen_q | (window == fresh)) & (~u_block.violation_q | (u_block.x == '0))
                            & ((window.denominator != '0) | u_block.frozen_q);
  assign at_hand            = (u_block.met_q.numerator == met.numerator) & (u_block.missed_q.numerator == missed.numerator);
  assign worth_of_violation = (u_block.x != '0) | u_block.frozen_q | (u_block.missed_q == zero_worth(missed.denominator));

  // What is known of a loss since the last decision.
  logic known;
  assign known = (u_block.is_missed_q == (u_block.valid_q & u_block.prepared_q.come & run_i))
               & (u_block.lost_takes_q == ((u_block.comes_back | (u_block.is_missed_q & u_block.contract_q.droppable))
                                           & u_block.behind_valid_q[0]))
               & (~run_i | (u_block.lost_changes_q == (u_block.is_missed_q | (u_block.comes_back & u_block.prepared_q.come))))
               & (u_block.behind_valid_q != 2'b10);

  // The step of the cycle before, and what is due after it.
  logic    started_q = 1'b0;
  logic    run_due_q;
  window_t due_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    run_due_q <= enable_i ? next_run_i : run_i;
    due_q     <= window;
    if (enable_i) begin
      if (won_i) due_q <= u_block.prepared_q.past ? missed : met;
      else if (u_block.is_missed_q) due_q <= missed;
      else if (u_block.lost_changes_q) due_q <= fresh;
    end
  end

  always_comb begin
    loads_fit: assume (loaded);
    // Nobody is named without a packet, or while nothing is decided.
    named_runs: assume (~won_i | (u_block.valid_q & run_i));
    run_is_known: assume (~started_q | (run_i == run_due_q));
    if (~started_q) begin
      begins_so: assume (fits & at_hand & worth_of_violation & known);
    end else begin
      loss_is_known: assert (known);
      window_fits: assert (fits);
      words_at_hand: assert (at_hand);
      violation_raises: assert (worth_of_violation);
      window_due: assert (window == due_q);
      violated: cover (window.violation & (window.denominator > fresh.denominator));
      begun_again: cover (u_block.begun_q & run_i & ~u_block.frozen_q & (fresh.denominator > 8'd1));
    end
  end

  logic unused;
  assign unused = ^{pop, take, drop, lost, gained, status, violates, fresh_violates, fresh_met, fresh_missed};

endmodule
