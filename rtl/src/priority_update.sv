// The priority update of one stream: the one step that it takes in a decision, chosen among its outcomes.
//
// The winner is accounted for as served; any other stream with a packet misses at most one deadline; a stream without a packet takes one from
// its queue, and begins a new window if its deadline has come in the meantime.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, Figure 7. Twin: dwcs::device, `Block`.
// Latency: none, it is combinational.

module priority_update
  import dwcs_pkg::*;
(
  /// Its deadline never comes; a head that misses its deadline is dropped.
  input  logic      infinite_i,
  input  logic      droppable_i,
  /// The window that begins.
  input  window_t   fresh_i,
  /// Where it stands.
  input  state_t    state_i,
  /// What may become of it.
  input  outcomes_t outcomes_i,
  /// This stream is being served.
  input  logic      won_i,
  /// It may take a packet if it has none.
  input  logic      activate_i,
  /// The packet behind the head.
  input  logic      next_valid_i,
  input  tick_t     next_arrival_i,
  /// What the stream becomes.
  output state_t    state_o,
  output events_t   events_o,
  /// The packet behind the head becomes the head.
  output logic      pop_o
);

  logic misses, won_late;

  assign misses   = state_i.valid & ~won_i & outcomes_i.come;
  assign won_late = won_i & outcomes_i.past;

  always_comb begin
    events_o = '{
      met:       won_i & ~won_late,
      late:      won_late,
      missed:    misses | won_late,
      violation: (misses | won_late) & outcomes_i.violates,
      dropped:   misses & droppable_i
    };

    pop_o   = (won_i | events_o.dropped | (~state_i.valid & activate_i)) & next_valid_i;
    state_o = state_i;
    if (won_i | events_o.dropped | ~state_i.valid) state_o.valid = pop_o;
    if (pop_o) state_o.arrival = next_arrival_i;

    if (events_o.missed) state_o.window = outcomes_i.missed;
    else if (won_i & ~infinite_i) state_o.window = outcomes_i.met;
    else if (~state_i.valid & pop_o & outcomes_i.come) state_o.window = fresh_i;

    if (won_i | misses) begin
      if (~infinite_i) state_o.deadline = outcomes_i.stepped;
    end else if (outcomes_i.come) begin
      // Without a packet all that is left to know of the deadline is that it has come.
      state_o.deadline = pop_o ? outcomes_i.begun : outcomes_i.now;
    end
  end

endmodule
