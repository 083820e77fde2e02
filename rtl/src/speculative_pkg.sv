// What blocks of the speculative engine reckon with: deadlines and the clock, and the key that a stream shows.
//
// Law: serial comparisons of ticks that lie less than 2^15 apart; keys order streams with packets as decision_block does.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: tidegate_core::dwcs::device.

package speculative_pkg;

  import dwcs_pkg::*;
  import rank_pkg::*;

  // The clock and a deadline: has come, has passed, by the end of the next service; the deadline after a step.
  typedef struct packed {
    logic  come;
    logic  past;
    tick_t stepped;
  } prepared_t;

  // What is counted. Dropped are the heads that were missed and not served late, of a stream that drops them.
  typedef struct packed {
    logic [15:0] met;
    logic [15:0] late;
    logic [15:0] missed;
    logic [15:0] violations;
  } tally_t;

  // A block is loaded word by word; all words have the width of the widest, a fraction.
  typedef logic [19:0] word_t;

  // What it keeps of a contract, the first word at the top: terms, limits, four and three steps between logarithms, and of the whole window, of one that
  // has been served in time, and of one that has missed a deadline two words each, the fraction and another one.
  localparam int unsigned Words = 15;

  typedef struct packed {
    // Its window is never adjusted.
    logic        frozen;
    // As in contract_t.
    logic        infinite;
    logic        droppable;
    logic [14:0] period;
  } terms_t;

  typedef struct packed {
    // y - x.
    logic [7:0] to_meet;
    // The penalty, less one.
    logic [8:0] penalty_less;
  } limits_t;

  // Whether a number is 0, 1, 2.
  typedef struct packed {
    logic zero;
    logic one;
    logic two;
  } few_t;

  function automatic few_t few(logic [7:0] number);
    return '{zero: number == 8'd0, one: number == 8'd1, two: number == 8'd2};
  endfunction

  // Of the whole window, and of one that has been served: x and y - x, and x' then.
  typedef struct packed {
    few_t       numerator_few;
    few_t       to_meet_few;
    logic [7:0] numerator;
  } whole_t;

  // Of one that has missed a deadline: x' then; whether service in time ends the whole window, and whether a miss does.
  typedef struct packed {
    logic [7:0] penalty;
    logic       met_ends;
    logic       missed_ends;
    logic [7:0] numerator;
  } missed_t;

  // What a block says of its stream when it is asked, in words of 16 bits, the first one at the top.
  typedef struct packed {
    logic [11:0] none;
    logic        droppable;
    logic        violation;
    // Has no packet, and its deadline has come, which is the clock then.
    logic        lapsed;
    logic        valid;
  } flags_t;

  typedef struct packed {
    flags_t     flags;
    tick_t      arrival;
    tick_t      deadline;
    logic [7:0] numerator;
    // y' - x'.
    logic [7:0] to_meet;
    tally_t     tally;
  } aspects_t;

  // The fraction, or nothing.
  function automatic fraction_t only(logic is_it, fraction_t fraction);
    return is_it ? fraction : '0;
  endfunction

  /* verilator lint_off UNUSEDSIGNAL */
  // The deadline has passed by this clock; it lies less than 2^15 ticks from it.
  function automatic logic is_past(tick_t deadline, tick_t clock);
    tick_t ahead;
    ahead = deadline - clock;
    return ahead[15];
  endfunction

  // It has passed or is now. Not by a comparison for equality, which would come after the difference.
  function automatic logic is_come(tick_t deadline, tick_t clock);
    tick_t since;
    since = clock - deadline;
    return ~since[15];
  endfunction

  // The deadline after a step; the period from the end of the next service on is known before.
  function automatic tick_t stepped(tick_t deadline, tick_t next_finish, logic [15:0] period_from, logic [14:0] period);
    logic [15:0] advanced;
    advanced = deadline + period_from;
    // From -2^14 to 2^15.
    unique case (advanced[15:14])
      2'b11: return next_finish;
      2'b10: return next_finish + Latest;
      2'b01: return next_finish + Latest;
      default: return deadline + 16'(period);
    endcase
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // Deadlines lie from the clock of the last decision to 2^14 ticks after it: one bit tells the two quarters of all times apart in which they are. Arrivals
  // lie less than 2^15 ticks before the end of the service under decision.
  /* verilator lint_off UNUSEDSIGNAL */
  function automatic key_t key(
      logic valid, logic infinite, tick_t deadline, worth_t window_worth, tick_t arrival, logic now_quarter, logic finish_half);
    return '{
      infinite: infinite | ~valid,
      deadline: {~valid | (~infinite & (deadline[14] ^ now_quarter)), infinite ? 14'd0 : deadline[13:0]},
      worth:    window_worth,
      arrival:  {~(arrival[15] ^ finish_half), arrival[14:0]}
    };
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // The counters of a stream.
  function automatic counters_t counters(tally_t tally, logic droppable);
    return '{
      met:        tally.met,
      late:       tally.late,
      missed:     tally.missed,
      violations: tally.violations,
      dropped:    droppable ? tally.missed - tally.late : 16'd0
    };
  endfunction

endpackage
