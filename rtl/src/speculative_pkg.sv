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

endpackage
