// What the engine on a heap adds to the common words: by what entries are compared, and what of a stream lies in memory.
//
// Law: for two streams with packets, precedes_in(contest(a, b, below)) says what decision_block says, with numbers as the last difference.
//
// Source: Krishnamurthy et al., "ShareStreams", Table 1; fractions are those of rank_pkg. Twin: tidegate_core::dwcs::Rank.

package heap_pkg;

  import dwcs_pkg::*;

  // Of one stream, all that a decision looks at, in the order in which it looks, but for its number.
  typedef struct packed {
    // Nobody: comes after all others.
    logic                 missing;
    // Its deadline never comes.
    logic                 infinite;
    // Serial.
    tick_t                deadline;
    // What the window is worth.
    rank_pkg::fraction_t  fraction;
    // x', which tells equal fractions apart.
    logic [7:0]           numerator;
    // Of the head; serial.
    tick_t                arrival;
  } claim_t;

  localparam claim_t Nobody = '{missing: 1'b1, default: '0};

  // A comparison in parts, which is made in one cycle and put together in the next.
  typedef struct packed {
    // Known without looking at numbers.
    logic sure;
    // By the deadlines, of two that have the same kind of deadline.
    logic sooner;
    logic as_soon;
    // By the windows.
    logic tighter;
    logic as_tight;
    // By arrivals and numbers.
    logic older;
  } contest_t;

  // Of a against b; `below` says whose number is smaller.
  function automatic contest_t contest(claim_t a, claim_t b, logic below);
    logic alike;
    alike = ~a.missing & ~b.missing & (a.infinite == b.infinite);
    return '{
      sure:     b.missing | (~a.missing & ~a.infinite & b.infinite),
      sooner:   alike & precedes(a.deadline, b.deadline),
      as_soon:  alike & (a.deadline == b.deadline),
      tighter:  {a.fraction, a.numerator} < {b.fraction, b.numerator},
      as_tight: {a.fraction, a.numerator} == {b.fraction, b.numerator},
      older:    precedes(a.arrival, b.arrival) | ((a.arrival == b.arrival) & below)
    };
  endfunction

  // Whether a is served before b. Nobody precedes nobody.
  function automatic logic precedes_in(contest_t parts);
    return parts.sure | parts.sooner | (parts.as_soon & (parts.tighter | (parts.as_tight & parts.older)));
  endfunction

  // A window constraint as it is kept: x' deadlines may be missed, and m' = y' - x' are to be met.
  typedef struct packed {
    logic       violation;
    logic [7:0] numerator;
    logic [7:0] to_meet;
  } slack_t;

  // A contract as it is kept.
  typedef struct packed {
    logic        infinite;
    logic        droppable;
    // Its window is never adjusted: also of streams whose deadline never comes.
    logic        fixed;
    logic [14:0] period;
    slack_t      whole;
    logic [7:0]  penalty;
  } terms_t;

  // What of a stream changes, but for its deadline, its queue and its counters.
  typedef struct packed {
    // It is in the heap.
    logic                valid;
    slack_t              slack;
    // What the window is worth after service in time; of a stream without packets, as it is.
    rank_pkg::fraction_t first;
    // What it is worth after a miss; of a stream without packets, the whole window.
    rank_pkg::fraction_t second;
  } standing_t;

  // The deadline of a stream that rests.
  typedef struct packed {
    // It has come.
    logic  lapsed;
    tick_t deadline;
  } rest_t;

  // The counters of a stream.
  typedef struct packed {
    logic [15:0] met;
    logic [15:0] late;
    logic [15:0] missed;
    logic [15:0] violations;
  } heap_counters_t;

  // What happens to a stream.
  typedef enum logic [1:0] {
    // A packet comes to a stream without one.
    Comes  = 2'd0,
    // A deadline has come.
    Misses = 2'd1,
    // It is served.
    Wins   = 2'd2,
    // It gets a contract.
    Loads  = 2'd3
  } event_e;

  function automatic slack_t slack_of(window_t window);
    return '{violation: window.violation, numerator: window.numerator, to_meet: window.denominator - window.numerator};
  endfunction

  function automatic window_t window_of(slack_t slack);
    return '{violation: slack.violation, numerator: slack.numerator, denominator: slack.numerator + slack.to_meet};
  endfunction

  /* verilator lint_off UNUSEDSIGNAL */
  // The window after service in time: rule A.
  function automatic slack_t met(terms_t terms, slack_t slack);
    slack_t next;
    next = slack;
    if (slack.to_meet != '0) next.to_meet = slack.to_meet - 8'd1;
    else next.numerator = slack.numerator - 8'd1;
    // One deadline is left, or none, or there is a violation to be made good.
    if ((slack.numerator == '0 && slack.to_meet[7:1] == '0) || (slack.numerator == 8'd1 && slack.to_meet == '0) || slack.violation) begin
      next = terms.whole;
    end
    return terms.fixed ? slack : next;
  endfunction

  // A miss would be a violation.
  function automatic logic violates(terms_t terms, slack_t slack);
    return (slack.numerator == '0) & ~terms.fixed & ((terms.whole.numerator != '0) | (terms.whole.to_meet != '0));
  endfunction

  // The window after a miss: rule B.
  function automatic slack_t missed(terms_t terms, slack_t slack);
    slack_t     next;
    logic [8:0] raised;
    raised = 9'(slack.to_meet) + 9'(terms.penalty);
    next   = slack;
    if (slack.numerator != '0) begin
      next.numerator = slack.numerator - 8'd1;
      if (slack.numerator == 8'd1 && slack.to_meet == '0) next = terms.whole;
    end else if (terms.whole.numerator != '0 || terms.whole.to_meet != '0) begin
      next.violation = 1'b1;
      next.to_meet   = raised[8] ? 8'hff : raised[7:0];
    end
    return terms.fixed ? slack : next;
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

endpackage
