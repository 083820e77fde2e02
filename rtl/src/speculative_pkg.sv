// What blocks of the speculative engine reckon with: deadlines and the clock, and the key that a stream shows.
//
// Law: serial comparisons of ticks that lie less than 2^15 apart; keys order streams with packets as decision_block does.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: tidegate_core::dwcs::device.

package speculative_pkg;

  import dwcs_pkg::*;
  import rank_pkg::*;

  // Of a deadline, by the end of the next service: it has come, has passed; and how far ahead of that the one after a step is, up to 2^14 ticks, less one.
  typedef struct packed {
    logic        come;
    logic        past;
    logic [14:0] stepped;
  } prepared_t;

  // What is counted. Dropped are the heads that were missed and not served late, of a stream that drops them.
  typedef struct packed {
    logic [15:0] met;
    logic [15:0] late;
    logic [15:0] missed;
    logic [15:0] violations;
  } tally_t;

  // What a block is loaded with: the contract, and what follows from it alone.
  typedef struct packed {
    contract_t  contract;
    tick_t      deadline;
    // The deadline, from the end of the service on that is under decision after LOAD, and the period; both less one.
    tick_t       ahead;
    logic [14:0] period_last;
    // Its window is never adjusted.
    logic       frozen;
    // y - x.
    logic [7:0] to_meet;
    // The penalty, less one.
    logic [8:0] penalty_less;
  } stream_word_t;

  // What a block says of its stream when it is asked; nothing, which is all zeros, otherwise.
  typedef struct packed {
    logic       valid;
    tick_t      arrival;
    // Has no packet, and its deadline has come, which is the clock then.
    logic       lapsed;
    tick_t      ahead;
    logic       violation;
    logic [7:0] numerator;
    // y' - x'.
    logic [7:0] to_meet;
    logic       droppable;
    tally_t     tally;
  } answer_t;

  // The fraction, or nothing.
  function automatic fraction_t only(logic is_it, fraction_t fraction);
    return is_it ? fraction : '0;
  endfunction

  /* verilator lint_off UNUSEDSIGNAL */
  // Of a deadline that lies so far ahead of the end of the next service, less one: so its sign says whether it has come. A step, which would advance it to
  // there, leads no farther back than to the clock, and no farther ahead than 2^14 ticks.
  function automatic prepared_t prepared(tick_t ahead, tick_t advanced, logic infinite);
    return '{
      come:    ahead[15] & ~infinite,
      past:    ahead[15] & ~(&ahead[14:0]) & ~infinite,
      stepped: {advanced[15], advanced[13:0] | {14{advanced[15] | advanced[14]}}}
    };
  endfunction

  // Deadlines lie from 2^14 ticks before the clock, which they do while nothing is decided, to 2^14 ticks after it: plain numbers if the top bit is
  // turned over. Arrivals lie less than 2^15 ticks before the end of the service under decision.
  /* verilator lint_off UNUSEDSIGNAL */
  function automatic key_t key(
      logic valid, logic infinite, tick_t ahead, worth_t window_worth, tick_t arrival, logic finish_half);
    return '{
      infinite: infinite | ~valid,
      deadline: {~valid | ~(infinite | ahead[15]), infinite ? 15'd0 : ahead[14:0]},
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
