// What the modules have in common: widths, words and the names of what is built.
//
// Twin in software: tidegate_core::dwcs::device.

package dwcs_pkg;

  // Time in ticks, modulo 2^16. Serial: a is before b if the top bit of a - b is set.
  typedef logic [15:0] tick_t;

  // The number of a stream.
  typedef logic [4:0] id_t;

  // The most streams that numbers of this width can name.
  parameter int unsigned MostStreams = 32;

  // The farthest that a deadline lies ahead of the clock, and the longest period: 2^14 ticks.
  parameter tick_t Latest = 16'h4000;

  // What of the losers is wired, and so what is known after a decision.
  typedef enum logic [1:0] {
    // Winners and losers recirculate: the winner, and the order of a Boolean lattice.
    Lattice = 2'd0,
    // Winners and losers recirculate, and decision blocks turn or pass: the exact order.
    Exact   = 2'd1,
    // Only winners recirculate: the winner and nothing else.
    Winner  = 2'd2
  } routing_e;

  // A window constraint: x of y deadlines may be missed.
  typedef struct packed {
    logic       violation;
    logic [7:0] numerator;
    logic [7:0] denominator;
  } window_t;

  // What a stream tolerates.
  typedef struct packed {
    // Its window is never adjusted.
    logic       fixed;
    // x of y.
    logic [7:0] numerator;
    logic [7:0] denominator;
    // By how much a violation raises y'.
    logic [7:0] penalty;
  } tolerance_t;

  // What a stream asks for; never changes between two LOAD cycles.
  typedef struct packed {
    // Its deadline never comes.
    logic        infinite;
    // A head that misses its deadline is dropped.
    logic        droppable;
    // Ticks between two deadlines, 1 to 2^14.
    logic [14:0] period;
    tolerance_t  tolerance;
  } contract_t;

  // The word of a LOAD cycle: 64 bits.
  typedef struct packed {
    id_t       id;
    // The first deadline, from the start of the clock to 2^14 ticks after it.
    tick_t     deadline;
    contract_t contract;
  } load_t;

  // What an update changes.
  typedef struct packed {
    // Has a packet.
    logic    valid;
    // Of the packet at the head.
    tick_t   arrival;
    tick_t   deadline;
    window_t window;
  } state_t;

  // What may become of a stream in an update.
  typedef struct packed {
    // The deadline has come, has passed, by the end of the service.
    logic    come;
    logic    past;
    // The deadline after a step; of a stream that comes back; and that clock.
    tick_t   stepped;
    tick_t   begun;
    tick_t   now;
    // The window after service in time, after a miss, and whether that is a violation.
    window_t met;
    window_t missed;
    logic    violates;
  } outcomes_t;

  // What happened in an update, one bit per counter.
  typedef struct packed {
    logic met;
    logic late;
    logic missed;
    logic violation;
    logic dropped;
  } events_t;

  // The counters, which wrap.
  typedef struct packed {
    logic [15:0] met;
    logic [15:0] late;
    logic [15:0] missed;
    logic [15:0] violations;
    logic [15:0] dropped;
  } counters_t;

  // All that a host may want to know of a stream.
  typedef struct packed {
    state_t    state;
    counters_t counters;
  } status_t;

  // What travels over the network: of one stream, all that a decision looks at.
  typedef struct packed {
    logic       valid;
    logic       infinite;
    tick_t      deadline;
    logic [7:0] numerator;
    logic [7:0] denominator;
    tick_t      arrival;
    id_t        id;
  } attributes_t;

  // One decision, as the host reads it: 64 bits.
  typedef struct packed {
    logic [9:0]             reserved;
    // Whose heads missed their deadlines and were dropped just before.
    logic [MostStreams-1:0] drops;
    // The clock at the decision.
    tick_t                  timestamp;
    // Somebody is served: stream `winner`.
    logic                   served;
    id_t                    winner;
  } decision_t;

  // Serial comparison: a comes before b, if they are less than 2^15 apart.
  function automatic logic precedes(tick_t a, tick_t b);
    // Both bits below the top decide unless the top bits differ, and then they decide the other way round.
    return (a[14:0] < b[14:0]) ^ a[15] ^ b[15];
  endfunction

  // The constraint of a window that begins: x of y.
  function automatic window_t whole(logic [7:0] numerator, logic [7:0] denominator);
    return '{violation: 1'b0, numerator: numerator, denominator: denominator};
  endfunction

endpackage
