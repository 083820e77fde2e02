// What the tiled engine adds to the common words: the key by which streams are compared in one step.
//
// Law: for two streams with packets, served_before(compare(a, b), number of a < number of b) says what decision_block says. The
// fraction is floor(x' * ceil(2^31 / y') / 2^15): equal for equal x'/y', larger for larger ones, for all 1 <= x' <= y' <= 255 (the bench
// tries them all).
//
// Source: Krishnamurthy et al., "ShareStreams", Table 1; the fraction is ours. Twin: tidegate_core::dwcs::Rank.

package tiled_pkg;

  import dwcs_pkg::*;

  // Of one stream, all that a decision looks at, in the order in which it looks; the smaller key is served first.
  typedef struct packed {
    // Has no packet.
    logic        missing;
    // Its deadline never comes.
    logic        infinite;
    // The deadline from the clock, and 2^15.
    tick_t       ahead;
    // x'/y' in steps of 2^-16.
    logic [16:0] fraction;
    // x', or of streams that tolerate nothing the complement of y'.
    logic [7:0]  tie;
    // Of the head; serial.
    tick_t       arrival;
  } key_t;

  localparam int unsigned ReciprocalWidth = 32;

  // 2^31 / y, rounded up.
  function automatic logic [ReciprocalWidth-1:0] reciprocal(int unsigned y);
    return y == 0 ? '0 : 32'((64'h8000_0000 + 64'(y) - 64'd1) / 64'(y));
  endfunction

  // A comparison in parts, which can be made in one cycle and put together in the next.
  typedef struct packed {
    // By missing, infinite and ahead.
    logic sooner;
    logic as_soon;
    // By the window.
    logic tighter;
    logic as_tight;
    // By the arrival.
    logic older;
    logic as_old;
  } parts_t;

  // Of a against b.
  function automatic parts_t compare(key_t a, key_t b);
    return '{
      sooner:   {a.missing, a.infinite, a.ahead} < {b.missing, b.infinite, b.ahead},
      as_soon:  {a.missing, a.infinite, a.ahead} == {b.missing, b.infinite, b.ahead},
      tighter:  {a.fraction, a.tie} < {b.fraction, b.tie},
      as_tight: {a.fraction, a.tie} == {b.fraction, b.tie},
      older:    precedes(a.arrival, b.arrival),
      as_old:   a.arrival == b.arrival
    };
  endfunction

  // Whether a is served before b; `otherwise` decides if all is equal.
  function automatic logic served_before(parts_t parts, logic otherwise);
    return parts.sooner
         | (parts.as_soon & (parts.tighter | (parts.as_tight & (parts.older | (parts.as_old & otherwise)))));
  endfunction

  // Decisions that can wait for the host, and numbers for more passes than that.
  localparam int unsigned DecisionRecords = 8;
  typedef logic [$clog2(DecisionRecords):0] pass_t;

  // The counters of one lane's stream.
  typedef struct packed {
    logic [15:0] missed;
    logic [15:0] violations;
  } misses_t;

  // What a tile's step has made of one stream: for a test bench and for questions.
  typedef struct packed {
    // The packet behind the head became the head.
    logic    popped;
    logic    droppable;
    state_t  state;
    misses_t misses;
  } step_t;

endpackage
