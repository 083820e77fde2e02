// Proves of a block of the speculative engine that its window follows the rules:
// * it knows when service in time and when a miss ends the window, and both keys show as many tolerated misses as window_rules leaves;
// * every step leaves just that window, or a whole one to a stream that comes back;
// * a window that tolerates nothing is worth its y', which violations raise;
// * what the block computes ahead of a loss is what the loss does.
//
// Sizes: all contracts; steps between logarithms are arbitrary, because no rule looks at one. Streams that are loaded bring words that fit their contract.
// How: induction over cycles, from any state that keeps to it.

module speculative_windows
  import dwcs_pkg::*;
  import rank_pkg::*;
  import speculative_pkg::*;
(
  input logic  clk_i,
  input logic  next_run_i,
  input logic  ran_i,
  input logic  fetch_i,
  input logic  enable_i,
  input logic  champion_i,
  input logic  named_i,
  input tick_t now_i,
  input tick_t far_finish_i,
  input logic  next_valid_i,
  input tick_t next_arrival_i
);

  logic    won, pop, take, drop;
  key_t    lost, gained;
  logic [15:0] aspect;
  status_t status;

  speculative_block u_block (
    .clk_i,
    .rst_ni(1'b1),
    .load_i(1'b0),
    .load_next_i(1'b0),
    .word_i('0),
    .next_run_i,
    .ran_i,
    .fetch_i,
    .enable_i,
    .champion_i,
    .named_i,
    .now_i,
    .far_finish_i,
    .next_valid_i,
    .next_arrival_i,
    .pop_o(pop),
    .lost_o(lost),
    .won_o(gained),
    .take_o(take),
    .drop_o(drop),
    .ask_i(1'b0),
    .aspect_i('0),
    .aspect_o(aspect),
    .status_o(status)
  );

  assign won = champion_i & named_i;

  // What the rules make of a window and of a whole one; a stream without deadlines keeps its.
  tolerance_t tolerance_q, tolerance;
  window_t    fresh, window, met, missed, fresh_met, fresh_missed;
  logic       violates, fresh_violates;

  always_comb begin
    tolerance       = tolerance_q;
    tolerance.fixed = u_block.terms.frozen;
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
                & (u_block.terms.frozen | ~(u_block.terms.infinite | (tolerance.denominator == '0)))
                & (u_block.limits.to_meet == tolerance.denominator - tolerance.numerator)
                & (u_block.begun.numerator_few == few(tolerance.numerator)) & (u_block.begun.to_meet_few == few(u_block.limits.to_meet))
                & (u_block.begun_missed.penalty == tolerance.penalty)
                & (u_block.whole_now.numerator == tolerance.numerator)
                & (u_block.whole_met.numerator == fresh_met.numerator) & (u_block.whole_missed.numerator == fresh_missed.numerator)
                & (u_block.begun_missed.met_ends == (fresh_met == fresh)) & (u_block.begun_missed.missed_ends == (fresh_missed == fresh))
                & shows_zero(fresh, u_block.whole_now.fraction)
                & (u_block.begun_missed.met_ends ? u_block.whole_met.fraction == u_block.whole_now.fraction
                   : shows_zero(fresh_met, u_block.whole_met.fraction))
                & (u_block.begun_missed.missed_ends ? u_block.whole_missed.fraction == u_block.whole_now.fraction
                   : shows_zero(fresh_missed, u_block.whole_missed.fraction));

  function automatic logic [7:0] lower(logic [7:0] numerator);
    return numerator == '0 ? '0 : numerator - 8'd1;
  endfunction

  // A window that tolerates nothing is worth its y'.
  function automatic logic shows_zero(window_t window, fraction_t fraction);
    return (window.numerator != '0) | (fraction == zero_fraction(window.denominator));
  endfunction

  // What is kept.
  logic fits, counted, ends_known, worth_of_zero;
  assign counted       = (u_block.x_zero_q == (u_block.x == 8'd0)) & (u_block.x_one_q == (u_block.x == 8'd1))
                       & (u_block.x_two_q == (u_block.x == 8'd2)) & (u_block.m_zero_q == (u_block.m == 8'd0))
                       & (u_block.m_one_q == (u_block.m == 8'd1)) & (u_block.m_two_q == (u_block.m == 8'd2));
  assign fits          = (9'(u_block.x) + 9'(u_block.m) <= 9'd255) & (u_block.x <= tolerance.numerator)
                       & (~u_block.terms.frozen | (window == fresh)) & (~u_block.violation_q | (u_block.x == '0))
                       & ((window.denominator != '0) | u_block.terms.frozen)
                       & (u_block.violation_q | (u_block.m <= u_block.limits.to_meet))
                       & (u_block.missed_ends_q | (u_block.lower_q == lower(u_block.x))) & counted
                       & (u_block.met_numerator_q == met.numerator) & (u_block.missed_numerator_q == missed.numerator)
                       & (u_block.limits.penalty_less == 9'(tolerance.penalty) - 9'd1);
  assign ends_known    = (u_block.met_ends_q == (met == fresh)) & (u_block.missed_ends_q == (missed == fresh));
  assign worth_of_zero = shows_zero(window, u_block.fraction_q)
                       & (u_block.met_ends_q ? u_block.met_q == u_block.whole_now.fraction : shows_zero(met, u_block.met_q))
                       & (u_block.missed_ends_q ? u_block.missed_q == u_block.whole_now.fraction : shows_zero(missed, u_block.missed_q));

  // What the keys show of the window after a win, and after a loss.
  window_t    after_win, after_loss;
  logic       shown;
  assign after_win  = u_block.prepared_q.past ? missed : met;
  assign after_loss = u_block.is_missed_q ? missed : window;
  assign shown      = (gained.worth.numerator == after_win.numerator) & shows_zero(after_win, gained.worth.fraction)
                    & (is_idle(lost) | ((lost.worth.numerator == after_loss.numerator) & shows_zero(after_loss, lost.worth.fraction)));

  // What is known of a loss since the last decision.
  logic known;
  assign known = (u_block.stays_q == ~u_block.is_missed_q)
               & (u_block.is_missed_q == (u_block.valid_q & u_block.prepared_q.come & u_block.run_q))
               & (u_block.lost_takes_q == ((u_block.comes_back | (u_block.is_missed_q & u_block.terms.droppable))
                                           & u_block.behind_valid_q[0]))
               & (~u_block.run_q | (u_block.lost_changes_q == u_block.is_missed_q))
               & (~u_block.lapsed_q | (~u_block.valid_q & u_block.prepared_q.come & (window == fresh)))
               & (~(u_block.comes_back & u_block.prepared_q.come) | u_block.lapsed_q)
               & (u_block.behind_valid_q != 2'b10);

  // The step of the cycle before, and what is due after it.
  logic    started_q = 1'b0;
  window_t due_q;
  always_ff @(posedge clk_i) begin
    started_q   <= 1'b1;
    tolerance_q <= tolerance_q;
    due_q       <= window;
    if (enable_i) begin
      if (won) due_q <= u_block.prepared_q.past ? missed : met;
      else if (u_block.is_missed_q) due_q <= missed;
      else if (u_block.lost_changes_q | u_block.lapses) due_q <= fresh;
    end
  end

  always_comb begin
    loads_fit: assume (loaded);
    // No stream is named without a packet, or while nothing is decided.
    named_runs: assume (~champion_i | (u_block.valid_q & u_block.run_q));
    if (~started_q) begin
      begins_so: assume (fits & ends_known & worth_of_zero & known);
    end else begin
      loss_is_known: assert (known);
      window_fits: assert (fits);
      ends: assert (ends_known);
      zero_worths: assert (worth_of_zero);
      keys_show: assert (~u_block.run_q | shown);
      window_due: assert (window == due_q);
      violated: cover (window.violation & (window.denominator > fresh.denominator));
      begun_again: cover (u_block.begun_q & u_block.run_q & ~u_block.terms.frozen & (fresh.denominator > 8'd1));
    end
  end

  logic unused;
  assign unused = ^{pop, take, drop, lost, gained, aspect, status, violates, fresh_violates};

endmodule
