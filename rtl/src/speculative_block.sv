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
  /// The stream was named in the last decision.
  input  logic      won_i,
  /// The clock at the end of the service under decision, of the next one, and of the one after that.
  input  tick_t     finish_i,
  input  tick_t     next_finish_i,
  input  tick_t     later_finish_i,
  /// The stream's queue; up to three of its packets are taken before they are heads.
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
    tick_t      arrival;
    tick_t      deadline;
    logic       violation;
    // x', and y' - x'.
    logic [7:0] numerator;
    logic [7:0] to_meet;
    // The rank of the window now, after service in time, after a miss.
    fraction_t  rank;
    fraction_t  met_rank;
    fraction_t  missed_rank;
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

  assign now = won_i ? won_q : lost_q;

  // ---- Packets behind the head: three places, the oldest first

  tick_t [2:0] behind_q, behind;
  logic  [2:0] behind_valid_q, behind_valid;

  always_comb begin
    behind       = now.taken ? {behind_q[2], behind_q[2:1]} : behind_q;
    behind_valid = now.taken ? {1'b0, behind_valid_q[2:1]} : behind_valid_q;
  end

  // What is taken in the cycle of a LOAD would be lost.
  assign pop_o = enable_i & ~load_i & ~behind_valid[2] & next_valid_i;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      behind_q[0] <= behind_valid[0] ? behind[0] : next_arrival_i;
      behind_q[1] <= behind_valid[1] ? behind[1] : next_arrival_i;
      behind_q[2] <= behind_valid[2] ? behind[2] : next_arrival_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) behind_valid_q <= '0;
    else if (load_i) behind_valid_q <= '0;
    else if (enable_i) begin
      // A packet fills the first place that is free.
      behind_valid_q[0] <= behind_valid[0] | next_valid_i;
      behind_valid_q[1] <= behind_valid[1] | (behind_valid[0] & next_valid_i);
      behind_valid_q[2] <= behind_valid[2] | (behind_valid[1] & next_valid_i);
    end
  end

  // ---- Logarithms at hand: of x', x' - 1, ... and of y' - x', y' - x' - 1, ...; the last of five comes from the table, where the two that it may
  // be were looked up in the cycle before

  log_t [4:0] numerator_log_q, numerator_log, numerator_whole_q;
  log_t [4:0] to_meet_log_q, to_meet_log, to_meet_log_whole_q;
  logic [4:0] to_meet_zero_q, to_meet_zero, to_meet_zero_whole_q;
  log_t       numerator_fourth, numerator_fifth, to_meet_fourth, to_meet_fifth;
  logic       fourth_zero_q, fifth_zero_q;
  logic [3:0] loading_q;
  logic [7:0] numerator_address, to_meet_address;

  // While a stream is loaded the table is read from x and y - x downwards.
  assign numerator_address = loading_o ? contract_q.tolerance.numerator - 8'(loading_q) : now.numerator - 8'd4;
  assign to_meet_address   = loading_o ? to_meet_whole_q - 8'(loading_q) : now.to_meet - 8'd4;

  log_table u_numerator_log (
    .clk_i,
    .enable_i(enable_i | loading_o),
    .first_i(numerator_address),
    .second_i(now.numerator - 8'd5),
    .first_o(numerator_fourth),
    .second_o(numerator_fifth)
  );

  log_table u_to_meet_log (
    .clk_i,
    .enable_i(enable_i | loading_o),
    .first_i(to_meet_address),
    .second_i(now.to_meet - 8'd5),
    .first_o(to_meet_fourth),
    .second_o(to_meet_fifth)
  );

  always_ff @(posedge clk_i) begin
    if (enable_i | loading_o) begin
      fourth_zero_q <= to_meet_address == '0;
      fifth_zero_q  <= now.to_meet == 8'd5;
    end
  end

  always_comb begin
    numerator_log = numerator_log_q;
    if (now.begun) numerator_log = numerator_whole_q;
    else if (now.numerator_sank) numerator_log = {numerator_fifth, numerator_log_q[4:1]};
    else numerator_log[4] = numerator_fourth;

    to_meet_log  = to_meet_log_q;
    to_meet_zero = to_meet_zero_q;
    if (now.begun) begin
      to_meet_log  = to_meet_log_whole_q;
      to_meet_zero = to_meet_zero_whole_q;
    end else if (now.to_meet_sank) begin
      to_meet_log  = {to_meet_fifth, to_meet_log_q[4:1]};
      to_meet_zero = {fifth_zero_q, to_meet_zero_q[4:1]};
    end else begin
      to_meet_log[4]  = to_meet_fourth;
      to_meet_zero[4] = fourth_zero_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      numerator_log_q <= numerator_log;
      to_meet_log_q   <= to_meet_log;
      to_meet_zero_q  <= to_meet_zero;
    end
  end

  // ---- The window that begins: its ranks, and its logarithms

  fraction_t whole_rank_q, whole_met_rank_q, whole_missed_rank_q;

  assign loading_o = loading_q != 4'd9;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    // After a reset as after a LOAD: a stream that nobody loads has no packet.
    if (!rst_ni) loading_q <= '0;
    else if (load_i) loading_q <= '0;
    else if (loading_o) loading_q <= loading_q + 4'd1;
  end

  // The rank after k steps of x' and j of y' - x'.
  function automatic fraction_t rank_after(
      log_t [4:0] numerators, log_t [4:0] to_meets, logic [4:0] zeros, int unsigned k, int unsigned j);
    return fraction(numerators[k], zeros[j], to_meets[j]);
  endfunction

  logic x_zero, x_one, x_two, m_zero, m_one, m_two;
  logic whole_x_zero, whole_x_one, whole_m_zero, whole_m_one;

  assign whole_x_zero = contract_q.tolerance.numerator == 8'd0;
  assign whole_x_one  = contract_q.tolerance.numerator == 8'd1;
  assign whole_m_zero = to_meet_whole_q == 8'd0;
  assign whole_m_one  = to_meet_whole_q == 8'd1;

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      contract_q      <= load_contract_i;
      to_meet_whole_q <= load_contract_i.tolerance.denominator - load_contract_i.tolerance.numerator;
      frozen_q        <= load_contract_i.infinite | load_contract_i.tolerance.fixed
                       | (load_contract_i.tolerance.denominator == '0);
    end
    // Addresses go out in cycles 0 to 4, logarithms come back one later.
    if (loading_q >= 4'd1 && loading_q <= 4'd5) begin
      numerator_whole_q    <= {numerator_fourth, numerator_whole_q[4:1]};
      to_meet_log_whole_q  <= {to_meet_fourth, to_meet_log_whole_q[4:1]};
      to_meet_zero_whole_q <= {fourth_zero_q, to_meet_zero_whole_q[4:1]};
    end
    if (loading_q == 4'd6) begin
      whole_rank_q <= whole_x_zero ? zero_fraction(to_meet_whole_q)
                    : rank_after(numerator_whole_q, to_meet_log_whole_q, to_meet_zero_whole_q, 0, 0);
    end
    if (loading_q == 4'd7) begin
      if (frozen_q | (whole_m_zero ? whole_x_one : whole_x_zero & whole_m_one)) whole_met_rank_q <= whole_rank_q;
      else if (whole_m_zero) begin
        whole_met_rank_q <= rank_after(numerator_whole_q, to_meet_log_whole_q, to_meet_zero_whole_q, 1, 0);
      end else if (whole_x_zero) whole_met_rank_q <= zero_fraction(to_meet_whole_q - 8'd1);
      else whole_met_rank_q <= rank_after(numerator_whole_q, to_meet_log_whole_q, to_meet_zero_whole_q, 0, 1);

      if (frozen_q | (whole_x_one & whole_m_zero)) whole_missed_rank_q <= whole_rank_q;
      else if (whole_x_zero) whole_missed_rank_q <= zero_fraction(raised(to_meet_whole_q, contract_q.tolerance.penalty));
      else if (whole_x_one) whole_missed_rank_q <= zero_fraction(to_meet_whole_q);
      else whole_missed_rank_q <= rank_after(numerator_whole_q, to_meet_log_whole_q, to_meet_zero_whole_q, 1, 0);
    end
  end

  // ---- What service and a miss make of the window, and of the ranks after them

  logic [7:0] penalised, twice_penalised;
  fraction_t  rank_11, rank_20, rank_02;

  assign x_zero = now.numerator == 8'd0;
  assign x_one  = now.numerator == 8'd1;
  assign x_two  = now.numerator == 8'd2;
  assign m_zero = now.to_meet == 8'd0;
  assign m_one  = now.to_meet == 8'd1;
  assign m_two  = now.to_meet == 8'd2;

  assign penalised       = raised(now.to_meet, contract_q.tolerance.penalty);
  assign twice_penalised = raised(penalised, contract_q.tolerance.penalty);
  assign rank_11         = rank_after(numerator_log, to_meet_log, to_meet_zero, 1, 1);
  assign rank_20         = rank_after(numerator_log, to_meet_log, to_meet_zero, 2, 0);
  assign rank_02         = rank_after(numerator_log, to_meet_log, to_meet_zero, 0, 2);

  version_t whole_version, met_version, missed_version;

  // Only the fields of the window count.
  always_comb begin
    whole_version             = now;
    whole_version.violation   = 1'b0;
    whole_version.numerator   = contract_q.tolerance.numerator;
    whole_version.to_meet     = to_meet_whole_q;
    whole_version.rank        = whole_rank_q;
    whole_version.met_rank    = whole_met_rank_q;
    whole_version.missed_rank = whole_missed_rank_q;
    whole_version.begun       = 1'b1;

    // Rule A.
    met_version           = now;
    met_version.begun     = 1'b0;
    met_version.violation = 1'b0;
    met_version.rank      = now.met_rank;
    if (frozen_q | now.violation | (m_zero ? x_one : x_zero & m_one)) begin
      met_version = whole_version;
    end else if (m_zero) begin
      met_version.numerator      = now.numerator - 8'd1;
      met_version.numerator_sank = 1'b1;
      met_version.to_meet_sank   = 1'b0;
      met_version.met_rank       = x_two ? whole_rank_q : rank_20;
      met_version.missed_rank    = x_two ? whole_rank_q : rank_20;
    end else begin
      met_version.to_meet        = now.to_meet - 8'd1;
      met_version.numerator_sank = 1'b0;
      met_version.to_meet_sank   = 1'b1;
      if (m_one) met_version.met_rank = x_one ? whole_rank_q : rank_11;
      else if (x_zero) met_version.met_rank = m_two ? whole_rank_q : zero_fraction(now.to_meet - 8'd2);
      else met_version.met_rank = rank_02;
      if (x_zero) met_version.missed_rank = zero_fraction(raised(now.to_meet - 8'd1, contract_q.tolerance.penalty));
      else if (x_one) met_version.missed_rank = m_one ? whole_rank_q : zero_fraction(now.to_meet - 8'd1);
      else met_version.missed_rank = rank_11;
    end

    // Rule B.
    missed_version       = now;
    missed_version.begun = 1'b0;
    missed_version.rank  = now.missed_rank;
    if (frozen_q | (x_one & m_zero)) begin
      missed_version = whole_version;
    end else if (x_zero) begin
      missed_version.violation      = 1'b1;
      missed_version.to_meet        = penalised;
      missed_version.numerator_sank = 1'b0;
      missed_version.to_meet_sank   = 1'b0;
      missed_version.met_rank       = whole_rank_q;
      missed_version.missed_rank    = zero_fraction(twice_penalised);
    end else begin
      missed_version.numerator      = now.numerator - 8'd1;
      missed_version.numerator_sank = 1'b1;
      missed_version.to_meet_sank   = 1'b0;
      if (m_zero) missed_version.met_rank = x_two ? whole_rank_q : rank_20;
      else if (x_one) missed_version.met_rank = m_one ? whole_rank_q : zero_fraction(now.to_meet - 8'd1);
      else missed_version.met_rank = rank_11;
      if (x_one) missed_version.missed_rank = zero_fraction(penalised);
      else if (x_two) missed_version.missed_rank = m_zero ? whole_rank_q : zero_fraction(now.to_meet);
      else missed_version.missed_rank = rank_20;
    end
  end

  // ---- Both outcomes of the decision under way

  logic  misses, activates, won_late;
  tick_t begun_q;

  assign misses    = now.valid & now.come;
  assign activates = ~now.valid & behind_valid[0];
  assign won_late  = now.past;

  // The deadline of a stream that comes back.
  always_ff @(posedge clk_i) begin
    if (enable_i) begun_q <= next_finish_i + 16'(contract_q.period);
  end

  always_comb begin
    lost                = now;
    lost.begun          = ~run_i & now.begun;
    lost.numerator_sank = 1'b0;
    lost.to_meet_sank   = 1'b0;
    lost.taken          = 1'b0;
    lost.events         = '0;
    if (run_i) begin
      if (misses) begin
        lost                  = missed_version;
        lost.taken            = contract_q.droppable & behind_valid[0];
        lost.events           = '0;
        lost.events.missed    = 1'b1;
        lost.events.violation = x_zero & ~frozen_q;
        lost.events.dropped   = contract_q.droppable;
        lost.valid            = ~contract_q.droppable | behind_valid[0];
        if (lost.taken) lost.arrival = behind[0];
        lost.deadline = now.stepped;
      end else if (activates) begin
        if (now.come) lost = whole_version;
        lost.taken    = 1'b1;
        lost.events   = '0;
        lost.valid    = 1'b1;
        lost.arrival  = behind[0];
        lost.deadline = now.come ? begun_q : now.deadline;
      end else if (now.come) begin
        // Without a packet: all that is left to know of the deadline is that it has come.
        lost.deadline = finish_i;
      end
    end

    won                  = won_late ? missed_version : met_version;
    won.taken            = behind_valid[0];
    won.events           = '0;
    won.events.met       = ~won_late;
    won.events.late      = won_late;
    won.events.missed    = won_late;
    won.events.violation = won_late & x_zero & ~frozen_q;
    won.valid            = behind_valid[0];
    if (behind_valid[0]) won.arrival = behind[0];
    if (!contract_q.infinite) won.deadline = now.stepped;
  end

  // The top bit of deadlines is turned over while the clock's is set.
  always_comb begin
    lost_o = '{
      valid:   lost.valid,
      rank:    '{infinite: contract_q.infinite, deadline: {lost.deadline[15] ^ finish_i[15], lost.deadline[14:0]},
                 fraction: lost.rank, numerator: lost.numerator},
      arrival: lost.arrival
    };
    won_o = '{
      valid:   won.valid,
      rank:    '{infinite: contract_q.infinite, deadline: {won.deadline[15] ^ finish_i[15], won.deadline[14:0]},
                 fraction: won.rank, numerator: won.numerator},
      arrival: won.arrival
    };
    if (contract_q.infinite) begin
      lost_o.rank.deadline = '0;
      won_o.rank.deadline  = '0;
    end
  end

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
  assign lost_prepared = prepared(lost.deadline, contract_q.infinite, next_finish_i, period_from_q, contract_q.period);
  assign won_prepared  = prepared(won.deadline, contract_q.infinite, next_finish_i, period_from_q, contract_q.period);

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      lost_q         <= lost;
      lost_q.stepped <= lost_prepared.stepped;
      lost_q.come    <= lost_prepared.come;
      lost_q.past    <= lost_prepared.past;
      won_q          <= won;
      won_q.stepped  <= won_prepared.stepped;
      won_q.come     <= won_prepared.come;
      won_q.past     <= won_prepared.past;
    end
    if (loading_o) begin
      lost_q             <= '0;
      lost_q.begun       <= 1'b1;
      lost_q.deadline    <= status_o.state.deadline;
      lost_q.numerator   <= contract_q.tolerance.numerator;
      lost_q.to_meet     <= to_meet_whole_q;
      lost_q.rank        <= whole_rank_q;
      lost_q.met_rank    <= whole_met_rank_q;
      lost_q.missed_rank <= whole_missed_rank_q;
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
        valid: now.valid, arrival: now.arrival, deadline: now.deadline,
        window: '{violation: now.violation, numerator: now.numerator, denominator: now.numerator + now.to_meet}
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
