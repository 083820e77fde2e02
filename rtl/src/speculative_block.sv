// A register block that is ready for whatever the decision under way will be: it holds what its stream is after the last decision if it lost and
// if it won, takes one of them when that is known, and shows for both outcomes of the next decision the key with which it then goes on.
//
// The step of a stream depends on nothing but whether it is the winner. So a decision needs no cycle of its own for updates, and no stream's key
// waits for it. What a step takes is prepared a step ahead: the deadline after it, the ranks of the window after service and after a miss, whether
// the deadline will have come. Ranks are differences of logarithms; of numerator and of deadlines to be met, the next five are at hand, because each
// sinks by at most one in a step.
//
// Law: after every decision, the state of a register block that is updated in turn.
//
// Source: beyond Krishnamurthy et al., "ShareStreams", whose compute-ahead blocks hold the outcomes of one decision. Twin: dwcs::device, `Block`.
// Latency: one cycle from won_i to the state; LOAD takes ten.

module speculative_block
  import dwcs_pkg::*;
  import rank_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  /// LOAD: takes the contract and the first deadline, forgets its packets and its counters.
  input  logic      load_i,
  input  contract_t load_contract_i,
  input  tick_t     load_deadline_i,
  /// Nine more cycles, after which the block is ready.
  output logic      loading_o,
  /// A decision is made; otherwise the block only keeps itself ready.
  input  logic      run_i,
  /// A decision was made in the cycle before.
  input  logic      ran_i,
  /// A cycle goes by.
  input  logic      enable_i,
  /// The stream was named in the last decision: three copies, because so much depends on it.
  input  logic [2:0] won_i,
  /// The clock at the end of the service under decision, of the next one, and of the one after that.
  input  tick_t     finish_i,
  input  tick_t     next_finish_i,
  input  tick_t     later_finish_i,
  /// The stream's queue; up to two of its packets are taken before they are heads.
  input  logic      next_valid_i,
  input  tick_t     next_arrival_i,
  output logic      pop_o,
  /// The keys with which the stream goes into the decision after this one, if it loses and if it wins this one.
  output key_t      lost_o,
  output key_t      won_o,
  /// The step that the last decision made: a packet has become the head, a head was dropped.
  output logic      take_o,
  output logic      drop_o,
  /// Where the stream stands, a cycle later.
  output status_t   status_o
);

  // A stream after a decision, and what its next step will be.
  typedef struct packed {
    logic       valid;
    tick_t      deadline;
    logic       violation;
    // y' - x'; x' is the numerator of `worth`.
    logic [7:0] to_meet;
    // Of the window now, after service in time, after a miss.
    worth_t     worth;
    worth_t     met;
    worth_t     missed;
    // Service in time, a miss ends the window.
    logic       met_ends;
    logic       missed_ends;
    // The deadline after a step; has come, has passed, by the end of the next service.
    tick_t      stepped;
    logic       come;
    logic       past;
    // How it came about: a window began, x' sank, y' - x' sank; a packet was taken; what the counters count.
    logic       begun;
    logic       numerator_sank;
    logic       to_meet_sank;
    logic       taken;
    events_t    events;
  } version_t;

  contract_t  contract_q;
  logic       frozen_q;
  logic [7:0] to_meet_whole_q;
  version_t   lost_q, won_q, now, lost, won;

  // ---- What the last decision made of the stream

  always_comb begin
    now             = won_i[0] ? won_q : lost_q;
    now.worth       = won_i[1] ? won_q.worth : lost_q.worth;
    now.met         = won_i[1] ? won_q.met : lost_q.met;
    now.missed      = won_i[1] ? won_q.missed : lost_q.missed;
    now.deadline    = won_i[2] ? won_q.deadline : lost_q.deadline;
    now.stepped     = won_i[2] ? won_q.stepped : lost_q.stepped;
    now.valid       = won_i[2] ? won_q.valid : lost_q.valid;
    now.come        = won_i[2] ? won_q.come : lost_q.come;
    now.past        = won_i[2] ? won_q.past : lost_q.past;
  end

  // ---- Packets: the head, and two places behind it, the older first

  tick_t       head_q, head;
  tick_t [1:0] behind_q, behind;
  logic  [1:0] behind_valid_q, behind_valid;

  always_comb begin
    head         = now.taken ? behind_q[0] : head_q;
    behind       = now.taken ? {behind_q[1], behind_q[1]} : behind_q;
    behind_valid = now.taken ? {1'b0, behind_valid_q[1]} : behind_valid_q;
  end

  // What is taken in the cycle of a LOAD would be lost.
  assign pop_o = enable_i & ~load_i & ~behind_valid[1] & next_valid_i;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      head_q      <= head;
      behind_q[0] <= behind_valid[0] ? behind[0] : next_arrival_i;
      behind_q[1] <= behind_valid[1] ? behind[1] : next_arrival_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) behind_valid_q <= '0;
    else if (load_i) behind_valid_q <= '0;
    else if (enable_i) begin
      // A packet fills the first place that is free.
      behind_valid_q[0] <= behind_valid[0] | next_valid_i;
      behind_valid_q[1] <= behind_valid[1] | (behind_valid[0] & next_valid_i);
    end
  end

  // ---- Logarithms at hand: of x', x' - 1, ... and of y' - x', y' - x' - 1, ...; the last of four comes from the table, where the two that it may
  // be were looked up in the cycle before

  log_t [3:0] numerator_log_q, numerator_log, numerator_whole_q;
  log_t [3:0] to_meet_log_q, to_meet_log, to_meet_log_whole_q;
  logic [3:0] to_meet_zero_q, to_meet_zero, to_meet_zero_whole_q;
  log_t       numerator_third, numerator_fourth, to_meet_third, to_meet_fourth;
  logic       third_zero_q, fourth_zero_q;
  logic [3:0] loading_q;
  logic [7:0] numerator_address, to_meet_address;

  // While a stream is loaded the table is read from x and y - x downwards.
  assign numerator_address = loading_o ? contract_q.tolerance.numerator - 8'(loading_q) : now.worth.numerator - 8'd3;
  assign to_meet_address   = loading_o ? to_meet_whole_q - 8'(loading_q) : now.to_meet - 8'd3;

  log_table u_numerator_log (
    .clk_i,
    .enable_i(enable_i | loading_o),
    .first_i(numerator_address),
    .second_i(now.worth.numerator - 8'd4),
    .first_o(numerator_third),
    .second_o(numerator_fourth)
  );

  log_table u_to_meet_log (
    .clk_i,
    .enable_i(enable_i | loading_o),
    .first_i(to_meet_address),
    .second_i(now.to_meet - 8'd4),
    .first_o(to_meet_third),
    .second_o(to_meet_fourth)
  );

  always_ff @(posedge clk_i) begin
    if (enable_i | loading_o) begin
      third_zero_q  <= to_meet_address == '0;
      fourth_zero_q <= now.to_meet == 8'd4;
    end
  end

  always_comb begin
    numerator_log = numerator_log_q;
    if (now.begun) numerator_log = numerator_whole_q;
    else if (now.numerator_sank) numerator_log = {numerator_fourth, numerator_log_q[3:1]};
    else numerator_log[3] = numerator_third;

    to_meet_log  = to_meet_log_q;
    to_meet_zero = to_meet_zero_q;
    if (now.begun) begin
      to_meet_log  = to_meet_log_whole_q;
      to_meet_zero = to_meet_zero_whole_q;
    end else if (now.to_meet_sank) begin
      to_meet_log  = {to_meet_fourth, to_meet_log_q[3:1]};
      to_meet_zero = {fourth_zero_q, to_meet_zero_q[3:1]};
    end else begin
      to_meet_log[3]  = to_meet_third;
      to_meet_zero[3] = third_zero_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      numerator_log_q <= numerator_log;
      to_meet_log_q   <= to_meet_log;
      to_meet_zero_q  <= to_meet_zero;
    end
  end

  // ---- The window that begins: what it is worth, and its logarithms

  worth_t whole_q, whole_met_q, whole_missed_q;
  logic   whole_met_ends, whole_missed_ends;

  assign loading_o = loading_q != 4'd9;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    // After a reset as after a LOAD: a stream that nobody loads has no packet.
    if (!rst_ni) loading_q <= '0;
    else if (load_i) loading_q <= '0;
    else if (loading_o) loading_q <= loading_q + 4'd1;
  end

  logic   whole_x_zero, whole_x_one, whole_m_zero, whole_m_one;
  logic   steps_x, steps_m;
  worth_t whole_after;

  assign whole_x_zero = contract_q.tolerance.numerator == 8'd0;
  assign whole_x_one  = contract_q.tolerance.numerator == 8'd1;
  assign whole_m_zero = to_meet_whole_q == 8'd0;
  assign whole_m_one  = to_meet_whole_q == 8'd1;

  // One subtraction serves all three: now, after service, after a miss.
  assign steps_x     = (loading_q == 4'd8) | ((loading_q == 4'd7) & whole_m_zero);
  assign steps_m     = (loading_q == 4'd7) & ~whole_m_zero;
  assign whole_after = worth(
      steps_x ? numerator_whole_q[1] : numerator_whole_q[0],
      steps_m ? to_meet_zero_whole_q[1] : to_meet_zero_whole_q[0],
      steps_m ? to_meet_log_whole_q[1] : to_meet_log_whole_q[0],
      contract_q.tolerance.numerator - 8'(steps_x));

  assign whole_met_ends    = frozen_q | (whole_m_zero ? whole_x_one : whole_x_zero & whole_m_one);
  assign whole_missed_ends = frozen_q | (whole_x_one & whole_m_zero);

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      contract_q      <= load_contract_i;
      to_meet_whole_q <= load_contract_i.tolerance.denominator - load_contract_i.tolerance.numerator;
      frozen_q        <= load_contract_i.infinite | load_contract_i.tolerance.fixed
                       | (load_contract_i.tolerance.denominator == '0);
    end
    // Addresses go out in cycles 0 to 3, logarithms come back one later.
    if (loading_q >= 4'd1 && loading_q <= 4'd4) begin
      numerator_whole_q    <= {numerator_third, numerator_whole_q[3:1]};
      to_meet_log_whole_q  <= {to_meet_third, to_meet_log_whole_q[3:1]};
      to_meet_zero_whole_q <= {third_zero_q, to_meet_zero_whole_q[3:1]};
    end
    if (loading_q == 4'd6) whole_q <= whole_x_zero ? zero_worth(to_meet_whole_q) : whole_after;
    if (loading_q == 4'd7) begin
      if (whole_met_ends) whole_met_q <= whole_q;
      else if (whole_x_zero) whole_met_q <= zero_worth(to_meet_whole_q - 8'd1);
      else whole_met_q <= whole_after;
    end
    if (loading_q == 4'd8) begin
      if (whole_missed_ends) whole_missed_q <= whole_q;
      else if (whole_x_zero) whole_missed_q <= zero_worth(raised(to_meet_whole_q, contract_q.tolerance.penalty));
      else if (whole_x_one) whole_missed_q <= zero_worth(to_meet_whole_q);
      else whole_missed_q <= whole_after;
    end
  end

  // ---- What service and a miss make of the window, and what it is worth after another step

  logic       x_zero, x_one, x_two, m_zero, m_one, m_two;
  logic [7:0] x, m, m_less, penalised;
  worth_t     worth_11, worth_20, worth_02;

  assign x      = now.worth.numerator;
  assign m      = now.to_meet;
  assign x_zero = x == 8'd0;
  assign x_one  = x == 8'd1;
  assign x_two  = x == 8'd2;
  assign m_zero = m == 8'd0;
  assign m_one  = m == 8'd1;
  assign m_two  = m == 8'd2;

  assign m_less    = m - 8'd1;
  assign penalised = raised(m, contract_q.tolerance.penalty);
  assign worth_11  = worth(numerator_log[1], to_meet_zero[1], to_meet_log[1], x - 8'd1);
  assign worth_20  = worth(numerator_log[2], to_meet_zero[0], to_meet_log[0], x - 8'd2);
  assign worth_02  = worth(numerator_log[0], to_meet_zero[2], to_meet_log[2], x);

  // The part of a version that is about the window.
  typedef struct packed {
    logic       violation;
    logic [7:0] to_meet;
    worth_t     met;
    worth_t     missed;
    logic       begun;
    logic       numerator_sank;
    logic       to_meet_sank;
  } change_t;

  change_t begins, serves, misses;

  always_comb begin
    begins = '{
      violation: 1'b0, to_meet: to_meet_whole_q, met: whole_met_q, missed: whole_missed_q, begun: 1'b1, numerator_sank: 1'b0,
      to_meet_sank: 1'b0
    };

    // Rule A.
    serves = '{
      violation: 1'b0, to_meet: m_zero ? m : m_less, met: whole_q, missed: whole_q, begun: 1'b0, numerator_sank: m_zero,
      to_meet_sank: ~m_zero
    };
    if (m_zero) begin
      if (!x_two) serves.met = worth_20;
      if (!x_two) serves.missed = worth_20;
    end else begin
      if (m_one) begin
        if (!x_one) serves.met = worth_11;
      end else if (!x_zero) serves.met = worth_02;
      else if (!m_two) serves.met = zero_worth(m - 8'd2);

      if (x_zero) serves.missed = zero_worth(raised(m_less, contract_q.tolerance.penalty));
      else if (!x_one) serves.missed = worth_11;
      else if (!m_one) serves.missed = zero_worth(m_less);
    end
    if (now.met_ends) serves = begins;

    // Rule B.
    misses = '{
      violation: now.violation | x_zero, to_meet: x_zero ? penalised : m, met: whole_q, missed: whole_q, begun: 1'b0,
      numerator_sank: ~x_zero, to_meet_sank: 1'b0
    };
    if (!x_zero) begin
      if (m_zero) begin
        if (!x_two) misses.met = worth_20;
      end else if (!x_one) misses.met = worth_11;
      else if (!m_one) misses.met = zero_worth(m_less);
    end
    if (x_zero) misses.missed = zero_worth(raised(penalised, contract_q.tolerance.penalty));
    else if (x_one) misses.missed = zero_worth(penalised);
    else if (!x_two) misses.missed = worth_20;
    else if (!m_zero) misses.missed = zero_worth(m);
    if (now.missed_ends) misses = begins;
  end

  // ---- Both outcomes of the decision under way

  logic    is_missed, comes_back, is_loaded;
  tick_t   begun_deadline_q;
  change_t lost_change, won_change;

  assign is_missed  = now.valid & now.come & run_i;
  assign comes_back = ~now.valid & behind_valid[0] & run_i;
  assign is_loaded  = now.begun & ~run_i;

  // The deadline of a stream that comes back.
  always_ff @(posedge clk_i) begin
    if (enable_i) begun_deadline_q <= next_finish_i + 16'(contract_q.period);
  end

  always_comb begin
    lost_change = '{
      violation: now.violation, to_meet: now.to_meet, met: now.met, missed: now.missed, begun: 1'b0, numerator_sank: 1'b0,
      to_meet_sank: 1'b0
    };
    if (is_missed) lost_change = misses;
    // A window that has just been loaded is taken again until decisions begin.
    if ((comes_back & now.come) | is_loaded) lost_change = begins;
    won_change = now.past ? misses : serves;
  end

  // What the keys show: the deadline, the worth, the packet.
  tick_t  lost_deadline, won_deadline, lost_head, won_head;
  worth_t lost_worth, won_worth;
  logic   lost_valid, won_valid, lost_takes;

  always_comb begin
    lost_deadline = now.deadline;
    lost_worth    = now.worth;
    if (now.come & run_i) begin
      lost_deadline = now.valid ? now.stepped : (behind_valid[0] ? begun_deadline_q : finish_i);
      lost_worth    = now.valid ? now.missed : now.worth;
    end
    if ((comes_back & now.come) | is_loaded) lost_worth = whole_q;
    lost_takes = (comes_back | (is_missed & contract_q.droppable)) & behind_valid[0];
    lost_valid = now.valid ? ~(is_missed & contract_q.droppable) | behind_valid[0] : comes_back;
    lost_head  = lost_takes ? behind[0] : head;

    won_deadline = contract_q.infinite ? now.deadline : now.stepped;
    won_worth    = now.past ? now.missed : now.met;
    won_valid    = behind_valid[0];
    won_head     = behind[0];
  end

  // Deadlines lie at most 2^14 ticks from the clock, before it only while nothing is decided; arrivals less than 2^15 before it.
  function automatic key_t key(
      logic valid, logic infinite, tick_t deadline, worth_t window_worth, tick_t arrival, logic [1:0] clock_top);
    return '{
      idle:     ~valid,
      infinite: infinite,
      deadline: infinite ? '0 : {deadline[15:14] - clock_top + 2'd1, deadline[13:0]},
      worth:    window_worth,
      arrival:  {~(arrival[15] ^ clock_top[1]), arrival[14:0]}
    };
  endfunction

  assign lost_o = key(lost_valid, contract_q.infinite, lost_deadline, lost_worth, lost_head, finish_i[15:14]);
  assign won_o  = key(won_valid, contract_q.infinite, won_deadline, won_worth, won_head, finish_i[15:14]);

  // ---- The deadline after the step that follows, for both

  // The period from the end of the next service on, kept a cycle ahead.
  logic [15:0] period_from_q;

  always_ff @(posedge clk_i) begin
    if (enable_i) period_from_q <= 16'(contract_q.period) - later_finish_i;
  end

  typedef struct packed {
    tick_t stepped;
    logic  come;
    logic  past;
  } prepared_t;

  function automatic prepared_t prepared(
      tick_t deadline, logic infinite, tick_t next_finish, logic [15:0] period_from, logic [14:0] period);
    logic [15:0] ahead;
    // Its two top bits tell on which side of its range it is.
    /* verilator lint_off UNUSEDSIGNAL */
    logic [15:0] advanced;
    /* verilator lint_on UNUSEDSIGNAL */
    prepared_t   result;
    ahead    = deadline - next_finish;
    advanced = deadline + period_from;
    result.past = ahead[15] & ~infinite;
    result.come = (ahead[15] | (ahead == '0)) & ~infinite;
    // From -2^14 to 2^15.
    unique case (advanced[15:14])
      2'b11: result.stepped = next_finish;
      2'b10: result.stepped = next_finish + Latest;
      2'b01: result.stepped = next_finish + Latest;
      default: result.stepped = deadline + 16'(period);
    endcase
    return result;
  endfunction

  prepared_t lost_prepared, won_prepared;
  assign lost_prepared = prepared(lost_deadline, contract_q.infinite, next_finish_i, period_from_q, contract_q.period);
  assign won_prepared  = prepared(won_deadline, contract_q.infinite, next_finish_i, period_from_q, contract_q.period);

  // A window ends when nothing is left of it, or when a violation is made good.
  function automatic logic [1:0] ends(logic frozen, logic violation, logic [7:0] x_after, logic [7:0] m_after);
    logic met_ends, missed_ends;
    met_ends    = frozen | violation | (m_after == 8'd0 ? x_after == 8'd1 : (x_after == 8'd0) & (m_after == 8'd1));
    missed_ends = frozen | ((x_after == 8'd1) & (m_after == 8'd0));
    return {met_ends, missed_ends};
  endfunction

  events_t lost_events, won_events;

  assign lost_events = '{
    met: 1'b0, late: 1'b0, missed: is_missed, violation: is_missed & x_zero & ~frozen_q, dropped: is_missed & contract_q.droppable
  };
  assign won_events = '{
    met: ~now.past, late: now.past, missed: now.past, violation: now.past & x_zero & ~frozen_q, dropped: 1'b0
  };

  logic lost_met_ends, lost_missed_ends, won_met_ends, won_missed_ends;
  assign {lost_met_ends, lost_missed_ends} = ends(frozen_q, lost_change.violation, lost_worth.numerator, lost_change.to_meet);
  assign {won_met_ends, won_missed_ends}   = ends(frozen_q, won_change.violation, won_worth.numerator, won_change.to_meet);

  assign lost = '{
    valid:          lost_valid,
    deadline:       lost_deadline,
    violation:      lost_change.violation,
    to_meet:        lost_change.to_meet,
    worth:          lost_worth,
    met:            lost_change.met,
    missed:         lost_change.missed,
    met_ends:       lost_met_ends,
    missed_ends:    lost_missed_ends,
    stepped:        lost_prepared.stepped,
    come:           lost_prepared.come,
    past:           lost_prepared.past,
    begun:          lost_change.begun,
    numerator_sank: lost_change.numerator_sank,
    to_meet_sank:   lost_change.to_meet_sank,
    taken:          lost_takes,
    events:         lost_events
  };
  assign won = '{
    valid:          won_valid,
    deadline:       won_deadline,
    violation:      won_change.violation,
    to_meet:        won_change.to_meet,
    worth:          won_worth,
    met:            won_change.met,
    missed:         won_change.missed,
    met_ends:       won_met_ends,
    missed_ends:    won_missed_ends,
    stepped:        won_prepared.stepped,
    come:           won_prepared.come,
    past:           won_prepared.past,
    begun:          won_change.begun,
    numerator_sank: won_change.numerator_sank,
    to_meet_sank:   won_change.to_meet_sank,
    taken:          won_valid,
    events:         won_events
  };

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      lost_q <= lost;
      won_q  <= won;
    end
    if (loading_o) begin
      lost_q.valid    <= 1'b0;
      lost_q.deadline <= status_o.state.deadline;
      lost_q.begun    <= 1'b1;
      lost_q.taken    <= 1'b0;
    end
  end

  // ---- What a host may know

  state_t    state_q;
  counters_t counters_q;

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      state_q    <= '{
        valid: 1'b0, arrival: '0, deadline: load_deadline_i,
        window: whole(load_contract_i.tolerance.numerator, load_contract_i.tolerance.denominator)
      };
      counters_q <= '0;
    end else if (loading_o) begin
      state_q.valid <= 1'b0;
    end else if (enable_i && ran_i) begin
      state_q <= '{
        valid: now.valid, arrival: head, deadline: now.deadline,
        window: '{violation: now.violation, numerator: x, denominator: x + m}
      };
      counters_q.met        <= counters_q.met + 16'(now.events.met);
      counters_q.late       <= counters_q.late + 16'(now.events.late);
      counters_q.missed     <= counters_q.missed + 16'(now.events.missed);
      counters_q.violations <= counters_q.violations + 16'(now.events.violation);
      counters_q.dropped    <= counters_q.dropped + 16'(now.events.dropped);
    end
  end

  assign status_o = '{state: state_q, counters: counters_q};
  assign take_o   = now.taken;
  assign drop_o   = now.events.dropped;

endmodule
