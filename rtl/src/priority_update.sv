// The priority update of one stream: the one step that it takes in a decision.
//
// The winner is accounted for as served; any other stream with a packet misses at most one deadline; a stream without a packet takes one from
// its queue, and begins a new window if its deadline has come in the meantime. After it, deadlines lie between the clock and 2^14 ticks later.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, Figure 7. Twin: dwcs::device, `Block`.
// Latency: none, it is combinational.

module priority_update
  import dwcs_pkg::*;
(
  /// What the stream asks for.
  input  contract_t contract_i,
  /// Where it stands.
  input  state_t    state_i,
  /// The clock at the end of the service; at most 2^14 ticks after the update before.
  input  tick_t     now_i,
  /// This stream is being served.
  input  logic      won_i,
  /// The packet behind the head.
  input  logic      next_valid_i,
  input  tick_t     next_arrival_i,
  /// What the stream becomes.
  output state_t    state_o,
  output events_t   events_o,
  /// The packet behind the head becomes the head.
  output logic      pop_o
);

  window_t met, missed;
  logic violates;

  window_rules u_window_rules (
    .tolerance_i(contract_i.tolerance),
    .window_i(state_i.window),
    .met_o(met),
    .missed_o(missed),
    .violates_o(violates)
  );

  logic signed [15:0] ahead;
  logic signed [16:0] advanced;
  logic come, past, won_late, misses, steps;

  assign ahead    = state_i.deadline - now_i;
  assign past     = ahead[15];
  assign come     = ~contract_i.infinite & (past | (ahead == '0));
  assign advanced = 17'(ahead) + $signed({2'b00, contract_i.period});

  assign won_late = won_i & past & ~contract_i.infinite;
  assign misses   = state_i.valid & ~won_i & come;
  assign steps    = won_i | misses;

  always_comb begin
    events_o = '{
      met:       won_i & ~won_late,
      late:      won_late,
      missed:    misses | won_late,
      violation: (misses | won_late) & violates,
      dropped:   misses & contract_i.droppable
    };

    state_o = state_i;
    pop_o   = 1'b0;
    if (won_i | events_o.dropped | ~state_i.valid) begin
      pop_o         = next_valid_i;
      state_o.valid = next_valid_i;
      if (next_valid_i) state_o.arrival = next_arrival_i;
    end

    if (~contract_i.infinite) begin
      if (events_o.missed) state_o.window = missed;
      else if (won_i) state_o.window = met;
      else if (pop_o & come) begin
        state_o.window = whole(contract_i.tolerance.numerator, contract_i.tolerance.denominator);
      end

      if (steps) begin
        if (advanced < 0) state_o.deadline = now_i;
        else if (advanced > $signed({1'b0, Latest})) state_o.deadline = now_i + Latest;
        else state_o.deadline = state_i.deadline + 16'(contract_i.period);
      end else if (come) begin
        state_o.deadline = pop_o ? now_i + 16'(contract_i.period) : now_i;
      end
    end
  end

endmodule
