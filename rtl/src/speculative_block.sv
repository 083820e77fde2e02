// A register block that takes its step in the cycle of the decision itself: all that depends on the winner is a choice between two outcomes,
// made when the winner is known, at the end of that cycle.
//
// The step of a stream depends on nothing but whether it is the winner. So a decision needs no cycle of its own for updates, and no stream's key
// waits for it. What a step takes is prepared a step ahead: the deadline after it, the worth of the window after service and after a miss, whether
// the deadline will have come. A window stays as it is, or is replaced by one of two: what service in time leaves, and what a miss leaves or a
// beginning brings. A stream without packets whose deadline has come has the window and the deadline at hand with which it would come
// back. Worths are differences of logarithms, of x' and of y' - x'. Each of these sinks by at most one in a step, so the worth after another
// step is that after this one and a difference between neighbours, the next of which are at hand.
//
// Law: after every decision, the state of a register block that is updated in turn.
//
// Source: beyond Krishnamurthy et al., "ShareStreams", whose compute-ahead blocks hold the outcomes of one decision. Twin: dwcs::device, `Block`.
// Latency: one cycle, the decision's; what the host may know comes a cycle later.
//
//   clk_i         t                                          t + 1
//   state         after decision t - 1                       after decision t
//   keys          for decision t + 1, if it loses t, wins t
//   named_i       late: whether the champion wins decision t
//   take_o        of decision t - 1                          of decision t

module speculative_block
  import dwcs_pkg::*;
  import rank_pkg::*;
  import speculative_pkg::*;
#(
  /// Wires that name the champion together.
  parameter int unsigned Late = 1,
  /* verilator lint_off UNUSEDPARAM */
  /// What is known early lies on wires of its own in synthesis.
  parameter bit Apart = 1'b0,
  /* verilator lint_on UNUSEDPARAM */
  /// For a test bench: status_o shows where the stream stands.
  parameter bit Observed = 1'b0
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  /// LOAD: the word is the first deadline; the stream forgets its packets and its counters.
  input  logic       load_i,
  /// The word is the next of what is kept of the contract: see speculative_load.
  input  logic       load_next_i,
  /* verilator lint_off UNUSEDSIGNAL */
  input  word_t      word_i,
  /* verilator lint_on UNUSEDSIGNAL */
  /// A decision is made in the next cycle; otherwise the block only keeps itself ready.
  input  logic       next_run_i,
  /// One was made in the cycle before.
  input  logic       ran_i,
  /// Packets may be taken.
  input  logic       fetch_i,
  /// A cycle goes by.
  input  logic       enable_i,
  /// The stream is the one that is named if the last wires say so: known early.
  input  logic       champion_i,
  /// They do, if all are set: known late.
  input  logic [Late-1:0] named_i,
  /// The clock: of the last decision, and at the end of the service that is the third after the one under decision.
  input  tick_t      now_i,
  input  tick_t      far_finish_i,
  /// The stream's queue; up to two of its packets are taken before they are heads.
  input  logic       next_valid_i,
  input  tick_t      next_arrival_i,
  output logic       pop_o,
  /// The keys with which the stream goes into the decision after this one, if it loses and if it wins this one.
  output key_t       lost_o,
  output key_t       won_o,
  /// The step that the last decision made: a packet has become the head, a head was dropped.
  output logic       take_o,
  output logic       drop_o,
  /// The stream is asked for a word of aspects_t, while nothing is under way; the word, two cycles later, and zeros if it is not asked.
  input  logic       ask_i,
  input  logic [2:0]  aspect_i,
  output logic [15:0] aspect_o,
  /// Where the stream stands, a cycle later; nothing unless Observed.
  output status_t    status_o
);

  // ---- The stream after the last decision

  /* verilator lint_off UNUSEDSIGNAL */
  word_t [Words-1:0]   words_q;
  /* verilator lint_on UNUSEDSIGNAL */
  terms_t              terms;
  limits_t             limits;
  log_step_t [3:0]     rise_whole;
  logic [2:0] [15:0]   fall_whole;
  worth_t              whole_now, whole_met, whole_missed;
  whole_t              begun;
  missed_t             begun_missed;

  logic       valid_q;
  tick_t      deadline_q;
  prepared_t  prepared_q;
  // The deadline will have come, will have passed, by the end of the next service, if it stays as it is.
  logic       stays_come_q, stays_past_q;
  logic       violation_q;
  // x', one less, and y' - x', which may be 0.
  logic [7:0] numerator_q, lower_q, to_meet_q;
  // x' after service in time and after a miss, of the window that begins then, if one does.
  logic [7:0] met_numerator_q, missed_numerator_q;
  logic       x_zero_q, x_one_q, x_two_q, m_zero_q, m_one_q, m_two_q;
  // The fraction that the window is worth: now, after service in time, after a miss. Where that ends the window, that of the one that begins.
  fraction_t  fraction_q, met_q, missed_q;
  logic       met_ends_q, missed_ends_q;
  // How it came about: a window began, x' sank, y' - x' sank, in the last step and in the one before; a packet was taken; what the counters count.
  logic       begun_q, numerator_sank_q, to_meet_sank_q, begun_before_q, numerator_sunk_q, to_meet_sunk_q, taken_q;
  events_t    events_q;

  // The clock at the end of the service under decision (its top bit), of the next one, and of the one after that; a bit of what the clock will be at
  // the decision after this one, for which keys are; whether a decision is made. Every block has them to itself, or they would be far from most.
  tick_t      next_finish_q, later_finish_q;
  logic       finish_half_q, now_quarter_q, run_q;

  // Packets: the head, and two places behind it, the older first.
  tick_t       head_q;
  tick_t [1:0] behind_q;
  logic  [1:0] behind_valid_q;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      finish_half_q  <= next_finish_q[15];
      next_finish_q  <= later_finish_q;
      if (next_run_i) now_quarter_q <= next_finish_q[14];
      else if (!run_q) now_quarter_q <= now_i[14];
      run_q          <= next_run_i & ~load_i;
      // Nothing is decided for long after a LOAD. This tells synthesis that no two blocks have the same one.
      later_finish_q <= load_i ? '0 : far_finish_i;
    end
  end

  // ---- What is kept of the contract

  always_ff @(posedge clk_i) begin
    if (load_next_i) words_q <= {words_q[Words-2:0], word_i};
  end

  assign terms        = terms_t'(words_q[14][17:0]);
  assign limits       = limits_t'(words_q[13][16:0]);
  assign rise_whole   = {words_q[9][16:0], words_q[10][16:0], words_q[11][16:0], words_q[12][16:0]};
  assign fall_whole   = {words_q[6][15:0], words_q[7][15:0], words_q[8][15:0]};
  assign begun        = whole_t'(words_q[4][13:0]);
  assign begun_missed = missed_t'(words_q[0][17:0]);
  assign whole_now    = '{fraction: words_q[5], numerator: begun.numerator};
  assign whole_met    = '{fraction: words_q[3], numerator: words_q[2][7:0]};
  assign whole_missed = '{fraction: words_q[1], numerator: begun_missed.numerator};

  // ---- Where it stands

  logic [7:0] x, m, m_less, penalised, met_penalised;
  logic [8:0] met_raised_to;
  logic       x_zero, x_one, x_two, m_zero, m_one, m_two;

  assign x      = numerator_q;
  assign m      = to_meet_q;
  assign x_zero = x_zero_q;
  assign x_one  = x_one_q;
  assign x_two  = x_two_q;
  assign m_zero = m_zero_q;
  assign m_one  = m_one_q;
  assign m_two  = m_two_q;

  assign m_less    = m - 8'd1;
  // With x' = 0 a miss raises y' - x', which its worth tells.
  assign penalised = ~missed_q[7:0];
  // And one after service in time, which is one less: the penalty is added to no more than 8 bits.
  assign met_raised_to = 9'(m) + limits.penalty_less;
  assign met_penalised = met_raised_to[8] ? 8'hff : met_raised_to[7:0];

  // ---- Both outcomes of the decision under way, and the choice

  // If the stream loses it misses a deadline, its window changes, it takes a packet from behind the head: known since the last decision.
  // (That nothing is missed is held as well, for worths alone: one register cannot be near all that it chooses.)
  logic is_missed_q, stays_q, lost_changes_q, lost_takes_q;
  // Loaded, and nothing has been decided since.
  logic fresh_q;
  // Had no packet at the last decision, either. A stream comes back from there only, so that what it comes back with is there before.
  logic rested_q;
  // Has no packet, and its deadline will have come by the end of the next service: the window and the deadline are those with which it would come back
  // then, whereas the host is shown those that it has.
  logic lapsed_q;
  logic comes_back, lapses, lost_valid, lost_changes, named;
  // What the step is if the champion of the stream's group is named, and if not: known early, on wires that synthesis does not mix with what
  // is known last. So one table lies between that and all that depends on it.
  logic won_ends;
  (* keep = Apart *) logic in_time, changes_named, steps_named;
  (* keep = Apart *) logic ends_named, begins, numerator_named, numerator_lost, to_meet_named, to_meet_lost, rises_named, rises_lost;
  (* keep = Apart *) logic changes_lost, takes_named, valid_named;
  (* keep *) logic serves, ends, changes, changes_numerator, changes_to_meet, changes_rises, steps, takes;

  assign comes_back = ~valid_q & rested_q & behind_valid_q[0] & run_q;
  assign lapses     = ~valid_q & ~comes_back & (lapsed_q | (next_run_i & stays_come_q & ~terms.infinite));
  assign lost_valid = valid_q ? ~(is_missed_q & terms.droppable) | behind_valid_q[0] : comes_back;

  assign won_ends       = prepared_q.past ? missed_ends_q : met_ends_q;
  assign lost_changes   = lost_changes_q | lapses;
  assign named          = &named_i;

  // Service in time is one way that a window goes; otherwise it takes a miss, or begins. A window that has just been loaded is taken again until
  // decisions begin.
  assign begins        = missed_ends_q | ~valid_q | ~run_q;
  assign in_time       = champion_i & ~prepared_q.past;
  assign ends_named    = in_time ? met_ends_q : begins;
  assign changes_named = enable_i & champion_i;
  assign changes_lost  = enable_i & lost_changes;
  assign steps_named   = champion_i | is_missed_q;
  assign valid_named   = champion_i ? behind_valid_q[0] : lost_valid;
  assign takes_named   = champion_i ? behind_valid_q[0] : lost_takes_q;

  assign numerator_lost  = enable_i & lost_changes & (begins | ~x_zero);
  assign to_meet_lost    = enable_i & lost_changes & (begins | x_zero);
  assign rises_lost      = enable_i & lost_changes & begins;
  assign numerator_named = champion_i ? enable_i & (won_ends | (prepared_q.past ? ~x_zero : m_zero)) : numerator_lost;
  assign to_meet_named   = champion_i ? enable_i & (won_ends | (prepared_q.past ? x_zero : ~m_zero)) : to_meet_lost;
  assign rises_named     = champion_i ? enable_i & (won_ends | (~prepared_q.past & ~m_zero)) : rises_lost;

  assign serves  = named & in_time;
  assign ends    = named ? ends_named : begins;
  assign changes = (named & changes_named) | changes_lost;
  assign changes_numerator = named ? numerator_named : numerator_lost;
  assign changes_to_meet   = named ? to_meet_named : to_meet_lost;
  assign changes_rises     = named ? rises_named : rises_lost;
  assign steps   = named ? steps_named : is_missed_q;
  assign takes   = named ? takes_named : lost_takes_q;

  // ---- Steps between logarithms at hand: up to y' - x', to y' - x' - 1, ..., and up to x' - 1, to x' - 2; the last one comes from the table, where
  // the three that it may be were looked up two steps before

  log_step_t [1:0] rise_q;
  log_step_t       next_rise;
  logic [15:0]       fall_q, next_fall;
  log_step_t       rise_second, rise_third, rise_fourth, fall_second, fall_third, fall_fourth;

  log_step_table u_rises (
    .clk_i, .enable_i, .number_i(m), .second_o(rise_second), .third_o(rise_third), .fourth_o(rise_fourth)
  );

  log_step_table u_falls (
    .clk_i, .enable_i, .number_i(x), .second_o(fall_second), .third_o(fall_third), .fourth_o(fall_fourth)
  );

  always_comb begin
    next_rise = rise_second;
    next_fall = fall_second[15:0];
    if (to_meet_sank_q ^ to_meet_sunk_q) next_rise = rise_third;
    if (to_meet_sank_q & to_meet_sunk_q) next_rise = rise_fourth;
    if (numerator_sank_q ^ numerator_sunk_q) next_fall = fall_third[15:0];
    if (numerator_sank_q & numerator_sunk_q) next_fall = fall_fourth[15:0];
    // What the table says is of the window before.
    if (begun_q | begun_before_q) begin
      next_rise = begun_q | ~to_meet_sank_q ? rise_whole[2] : rise_whole[3];
      next_fall = begun_q | ~numerator_sank_q ? fall_whole[1] : fall_whole[2];
    end
  end

  // ---- The window after a step

  // What it is worth after two steps: a miss and service in time, in whatever order; twice service; service and a miss; two misses. Each is one of a few
  // sums, or something that is known before them: all but the sums. Where the first step ends the window, none of them counts.
  fraction_t  mixed_known, met_missed_known, missed_missed_known, missed_risen, met_raised, missed_fallen;
  logic       mixed_rises, mixed_falls, missed_missed_falls;
  logic [8:0] missed_penalised;

  // Of a window that tolerates nothing service takes one from y', a miss adds the penalty to it; worths go the other way.
  assign missed_risen     = missed_q + step_fraction(rise_q[0]);
  assign met_raised       = met_q + (x_zero ? fraction_t'(1) : step_fraction(rise_q[1]));
  assign missed_fallen    = missed_q - fraction_t'(fall_q);
  assign missed_penalised = 9'(missed_q[7:0]) - 9'(begun_missed.penalty);

  assign mixed_rises         = ~m_zero & ~x_one;
  assign mixed_falls         = m_zero & ~x_two;
  assign missed_missed_falls = ~x_zero & ~x_one & ~x_two;

  always_comb begin
    mixed_known = '0;
    if (m_zero ? x_two : x_one & m_one) mixed_known = whole_now.fraction;
    else if (~m_zero & x_one) mixed_known = zero_fraction(m_less);

    met_missed_known = x_zero ? zero_fraction(met_penalised) : mixed_known;

    missed_missed_known = '0;
    if (x_zero | x_one) missed_missed_known = missed_penalised[8] ? '0 : fraction_t'(missed_penalised[7:0]);
    else if (x_two) missed_missed_known = m_zero ? whole_now.fraction : zero_fraction(m);
  end

  // Which sum the worth after service and the one after a miss will be, if any; otherwise what is known.
  (* keep *) logic met_raises, met_rises, met_falls, missed_rises, missed_falls;
  fraction_t       met_known, missed_known;
  // The same if the champion is named, and if not.
  (* keep = Apart *) logic met_raises_named, met_rises_named, met_falls_named, missed_rises_named, missed_falls_named;
  (* keep = Apart *) logic met_rises_lost, met_falls_lost, missed_falls_lost;

  assign met_rises_lost     = ~begins & ~x_zero & mixed_rises;
  assign met_falls_lost     = ~begins & ~x_zero & mixed_falls;
  assign missed_falls_lost  = ~begins & missed_missed_falls;
  assign met_raises_named   = in_time & ~met_ends_q & ~m_zero & ~m_one & ~(x_zero & m_two);
  assign met_rises_named    = in_time ? ~met_ends_q & (m_zero | m_one) & mixed_rises : met_rises_lost;
  assign met_falls_named    = in_time ? ~met_ends_q & (m_zero | m_one) & mixed_falls : met_falls_lost;
  assign missed_rises_named = in_time & ~met_ends_q & ~x_zero & mixed_rises;
  assign missed_falls_named = in_time ? ~met_ends_q & ~x_zero & mixed_falls : missed_falls_lost;

  assign met_raises   = named & met_raises_named;
  assign met_rises    = named ? met_rises_named : met_rises_lost;
  assign met_falls    = named ? met_falls_named : met_falls_lost;
  assign missed_rises = named & missed_rises_named;
  assign missed_falls = named ? missed_falls_named : missed_falls_lost;

  always_comb begin
    if (serves) begin
      met_known    = mixed_known;
      missed_known = met_missed_known;
      if (~m_zero & ~m_one) met_known = x_zero & m_two ? whole_now.fraction : '0;
      if (met_ends_q) {met_known, missed_known} = {whole_met.fraction, whole_missed.fraction};
    end else begin
      met_known    = x_zero ? whole_now.fraction : mixed_known;
      missed_known = missed_missed_known;
      if (begins) {met_known, missed_known} = {whole_met.fraction, whole_missed.fraction};
    end
  end

  // Whether the step after the next ends it.
  logic met_met_ends, mixed_ends, missed_missed_ends, won_met_ends, won_missed_ends;
  (* keep = Apart *) logic lost_met_ends, lost_missed_ends, met_ends_named, missed_ends_named, sinks_named, to_meet_sinks_named;

  always_comb begin
    mixed_ends         = m_zero ? x_two : x_one & m_one;
    met_met_ends       = mixed_ends | (x_zero & m_two);
    missed_missed_ends = m_zero & x_two;

    won_met_ends     = prepared_q.past ? mixed_ends | x_zero : met_met_ends;
    won_missed_ends  = prepared_q.past ? missed_missed_ends : mixed_ends;
    lost_met_ends    = met_ends_q;
    lost_missed_ends = missed_ends_q;
    if (lost_changes) begin
      lost_met_ends    = begins ? begun_missed.met_ends : mixed_ends | x_zero;
      lost_missed_ends = begins ? begun_missed.missed_ends : missed_missed_ends;
    end
    if (won_ends) begin
      won_met_ends    = begun_missed.met_ends;
      won_missed_ends = begun_missed.missed_ends;
    end
  end

  assign met_ends_named      = champion_i ? won_met_ends : lost_met_ends;
  assign missed_ends_named   = champion_i ? won_missed_ends : lost_missed_ends;
  assign sinks_named         = champion_i ? numerator_named & ~won_ends : numerator_lost & ~begins;
  assign to_meet_sinks_named = champion_i & rises_named & ~won_ends;

  // What x' would be after another step: of a window that was served in time, and of one that was not.
  logic [7:0] served_met_numerator, mixed_numerator, missed_met_numerator, missed_missed_numerator, lowest;

  assign lowest = lower_q - 8'd1;

  always_comb begin
    // A miss, and one service if no deadline has to be met: two steps down.
    mixed_numerator      = m_zero ? lowest : lower_q;
    served_met_numerator = m_zero ? lowest : (m_one ? lower_q : numerator_q);
    if (mixed_ends) mixed_numerator = whole_now.numerator;
    else if (x_zero) mixed_numerator = '0;
    if (met_met_ends) served_met_numerator = whole_now.numerator;
    // Service ends a violation.
    missed_met_numerator    = x_zero ? whole_now.numerator : mixed_numerator;
    missed_missed_numerator = x_zero | x_one ? '0 : lowest;
    if (missed_missed_ends) missed_missed_numerator = whole_now.numerator;
  end

  always_ff @(posedge clk_i) begin
    if (changes) begin
      // Where a window ends, what it is worth then is what a whole one is.
      fraction_q  <= ends ? whole_now.fraction : (serves ? met_q : missed_q);
      met_q       <= only(met_raises, met_raised) | only(met_rises, missed_risen) | only(met_falls, missed_fallen) | met_known;
      missed_q    <= only(missed_rises, missed_risen) | only(missed_falls, missed_fallen) | missed_known;
      m_zero_q    <= ends ? begun.to_meet_few.zero : m_zero | (serves & m_one);
      met_numerator_q    <= ends ? whole_met.numerator : (serves ? served_met_numerator : missed_met_numerator);
      missed_numerator_q <= ends ? whole_missed.numerator : (serves ? mixed_numerator : missed_missed_numerator);
      violation_q <= ~ends & ~serves & (violation_q | x_zero);
    end
    if (changes_numerator) begin
      numerator_q <= ends ? whole_now.numerator : lower_q;
      lower_q     <= ends ? whole_missed.numerator : (x_one ? '0 : lowest);
      x_zero_q    <= ends ? begun.numerator_few.zero : x_zero | x_one;
      x_one_q     <= ends ? begun.numerator_few.one : x_two;
      x_two_q     <= ends ? begun.numerator_few.two : x == 8'd3;
      fall_q      <= ends ? fall_whole[0] : next_fall;
    end
    if (changes_to_meet) begin
      to_meet_q <= ends ? limits.to_meet : (serves ? m_less : penalised);
      m_one_q   <= ends ? begun.to_meet_few.one : (serves ? m_two : penalised == 8'd1);
      m_two_q   <= ends ? begun.to_meet_few.two : (serves ? m == 8'd3 : penalised == 8'd2);
    end
    if (changes_rises) rise_q <= ends ? rise_whole[1:0] : {next_rise, rise_q[1]};
    if (enable_i) begin
      numerator_sank_q <= named ? sinks_named : numerator_lost & ~begins;
      to_meet_sank_q   <= named & to_meet_sinks_named;
      numerator_sunk_q <= numerator_sank_q;
      to_meet_sunk_q   <= to_meet_sank_q;
      begun_before_q   <= begun_q;
      met_ends_q       <= named ? met_ends_named : lost_met_ends;
      missed_ends_q    <= named ? missed_ends_named : lost_missed_ends;
    end
  end

  // ---- The deadline, and the one after the step that follows

  // The deadline of a stream whose own has come, if it comes back in the next decision, and the period from there on, which is kept a cycle ahead.
  tick_t       begun_deadline;
  logic [15:0] period_from_q;

  assign begun_deadline = next_finish_q + 16'(terms.period);

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      period_from_q <= 16'(terms.period) - later_finish_q;
      stays_come_q  <= steps ? is_come(prepared_q.stepped, later_finish_q) : is_come(lapses ? begun_deadline : deadline_q, later_finish_q);
      stays_past_q  <= steps ? is_past(prepared_q.stepped, later_finish_q) : is_past(lapses ? begun_deadline : deadline_q, later_finish_q);
      lapsed_q      <= lapses;
      if (run_q) rested_q <= ~valid_q;
    end
    if (load_i) begin
      lapsed_q <= 1'b0;
      rested_q <= 1'b1;
    end
  end

  prepared_t if_waits, if_steps;

  always_comb begin
    if_steps.come    = is_come(prepared_q.stepped, next_finish_q) & ~terms.infinite;
    if_steps.past    = is_past(prepared_q.stepped, next_finish_q) & ~terms.infinite;
    if_steps.stepped = stepped(prepared_q.stepped, next_finish_q, period_from_q, terms.period);
    if_waits.come    = (stays_come_q & ~terms.infinite) | (lapsed_q & ~comes_back);
    if_waits.past    = stays_past_q & ~terms.infinite;
    if_waits.stepped = stepped(deadline_q, next_finish_q, period_from_q, terms.period);
  end

  // What the stream does if it wins or loses this decision and loses the next one. Whether a packet comes counts only if a cycle goes by.
  logic lost_come, won_next_takes, won_behind, lost_behind, rests, pops;
  (* keep = Apart *) logic misses_named, misses_lost, next_takes_named, lost_next_takes;

  assign lost_come       = is_missed_q ? if_steps.come : if_waits.come;
  assign won_behind      = behind_valid_q[1] | pops;
  assign lost_behind     = (lost_takes_q ? behind_valid_q[1] : behind_valid_q[0]) | pops;
  assign rests           = run_q ? ~valid_q : rested_q;
  assign won_next_takes  = behind_valid_q[0] & won_behind & if_steps.come & terms.droppable;
  assign lost_next_takes = lost_behind & (lost_valid ? lost_come & terms.droppable : rests);
  assign next_takes_named = champion_i ? won_next_takes : lost_next_takes;
  assign misses_lost     = lost_valid & lost_come;
  assign misses_named    = champion_i ? behind_valid_q[0] & if_steps.come : misses_lost;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      deadline_q     <= steps ? prepared_q.stepped : (lapses ? begun_deadline : deadline_q);
      prepared_q     <= steps ? if_steps : if_waits;
      // All are for the next decision; in a pause a window that has just been loaded is taken.
      lost_changes_q <= next_run_i ? (named ? misses_named : misses_lost) : fresh_q;
      is_missed_q    <= next_run_i & (named ? misses_named : misses_lost);
      stays_q        <= ~(next_run_i & (named ? misses_named : misses_lost));
      lost_takes_q   <= next_run_i & (named ? next_takes_named : lost_next_takes);
    end
    if (load_i) deadline_q <= word_i[15:0];
  end

  // ---- Packets

  assign pops  = fetch_i & ~behind_valid_q[1] & next_valid_i;
  assign pop_o = enable_i & pops;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      if (takes) head_q <= behind_q[0];
      if (takes | ~behind_valid_q[0]) behind_q[0] <= behind_valid_q[1] ? behind_q[1] : next_arrival_i;
      if (~behind_valid_q[1]) behind_q[1] <= next_arrival_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      behind_valid_q <= '0;
      valid_q        <= 1'b0;
      begun_q        <= 1'b0;
      fresh_q        <= 1'b0;
      taken_q        <= 1'b0;
    end else if (load_i) begin
      behind_valid_q <= '0;
      valid_q        <= 1'b0;
      begun_q        <= 1'b1;
      fresh_q        <= 1'b1;
      taken_q        <= 1'b0;
    end else if (enable_i) begin
      // A packet fills the first place that is free.
      behind_valid_q[0] <= (takes ? behind_valid_q[1] : behind_valid_q[0]) | pops;
      behind_valid_q[1] <= ~takes & (behind_valid_q[1] | (behind_valid_q[0] & pops));
      valid_q           <= named ? valid_named : lost_valid;
      begun_q           <= changes & ends;
      fresh_q           <= fresh_q & ~run_q;
      taken_q           <= takes;
    end
  end

  // ---- What the keys show: the deadline, the worth, the packet

  tick_t  lost_deadline, lost_head;
  worth_t lost_worth, won_worth;

  always_comb begin
    // One table each is all that lies between registers and comparisons.
    lost_deadline        = is_missed_q ? prepared_q.stepped : deadline_q;
    lost_head            = lost_takes_q ? behind_q[0] : head_q;
    // Of a stream that stays without packets nothing counts.
    lost_worth.fraction  = stays_q ? fraction_q : missed_q;
    lost_worth.numerator = stays_q ? numerator_q : missed_numerator_q;
    won_worth.fraction   = prepared_q.past ? missed_q : met_q;
    won_worth.numerator  = prepared_q.past ? missed_numerator_q : met_numerator_q;
  end

  assign lost_o = key(lost_valid, terms.infinite, lost_deadline, lost_worth, lost_head, now_quarter_q, finish_half_q);
  assign won_o  = key(behind_valid_q[0], terms.infinite, prepared_q.stepped, won_worth, behind_q[0], now_quarter_q, finish_half_q);

  // ---- What a host may know

  tally_t         tally_q;
  aspects_t       aspects;
  logic [7:0]     asked_q;
  logic [15:0]    aspect, aspect_q;

  (* keep = Apart *) events_t events_named, events_lost;

  always_comb begin
    events_lost = '{
      met: 1'b0, late: 1'b0, missed: is_missed_q, violation: is_missed_q & x_zero & ~terms.frozen,
      dropped: is_missed_q & terms.droppable
    };
    events_named = events_lost;
    if (champion_i) begin
      events_named = '{
        met: ~prepared_q.past, late: prepared_q.past, missed: prepared_q.past, violation: prepared_q.past & x_zero & ~terms.frozen,
        dropped: 1'b0
      };
    end
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) events_q <= named ? events_named : events_lost;
    if (load_i) begin
      tally_q <= '0;
    end else if (enable_i && ran_i) begin
      if (events_q.met) tally_q.met <= tally_q.met + 16'd1;
      if (events_q.late) tally_q.late <= tally_q.late + 16'd1;
      if (events_q.missed) tally_q.missed <= tally_q.missed + 16'd1;
      if (events_q.violation) tally_q.violations <= tally_q.violations + 16'd1;
    end
  end

  assign aspects = '{
    flags:     '{none: '0, droppable: terms.droppable, violation: violation_q, lapsed: lapsed_q, valid: valid_q},
    arrival:   head_q,
    deadline:  deadline_q,
    numerator: x,
    to_meet:   m,
    tally:     tally_q
  };

  always_comb begin
    aspect = '0;
    for (int unsigned i = 0; i < 8; i++) aspect |= {16{asked_q[i]}} & aspects[16*(7-i)+:16];
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 8; i++) asked_q[i] <= ask_i & (aspect_i == 3'(i));
    aspect_q <= aspect;
  end

  assign aspect_o = aspect_q;

  if (Observed) begin : gen_observed
    speculative_observer u_observer (
      .clk_i, .rst_ni, .enable_i, .load_i, .deadline_i(word_i[15:0]), .fresh_i(fresh_q), .ran_i, .now_i,
      .resting_i(~valid_q & ~comes_back & prepared_q.come), .lapsed_i(lapsed_q),
      .state_i('{
        valid: valid_q, arrival: head_q, deadline: deadline_q, window: '{violation: violation_q, numerator: x, denominator: x + m}
      }),
      .counters_i(counters(tally_q, terms.droppable)),
      .status_o
    );
  end else begin : gen_unobserved
    logic unused_clock;
    assign unused_clock = ^{now_i, prepared_q.come};
    assign status_o = '0;
  end

  // No numerator falls from 1 by a logarithm.
  logic unused;
  assign unused = ^{fall_second[16], fall_third[16], fall_fourth[16]};

  assign take_o   = taken_q;
  assign drop_o   = events_q.dropped;

endmodule
