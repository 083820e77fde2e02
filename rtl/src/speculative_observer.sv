// What a test bench sees of a stream of the speculative engine: where it stands after every decision.
//
// A block is ahead of that in one respect. A stream without packets whose deadline has come has the window and the deadline at hand with which it
// comes back; here it keeps those that it had, and its deadline is the clock.
//
// Law: state and counters are those of a register block that is updated in turn.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: tidegate_core::dwcs::Standing.
// Latency: one cycle.

module speculative_observer
  import dwcs_pkg::*;
  import speculative_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  /// A cycle goes by.
  input  logic         enable_i,
  /// LOAD.
  input  logic         load_i,
  /* verilator lint_off UNUSEDSIGNAL */
  input  stream_word_t load_word_i,
  /* verilator lint_on UNUSEDSIGNAL */
  /// A decision was made in the cycle before.
  input  logic         ran_i,
  /// The clock: of the last decision, and at the end of the service under decision.
  input  tick_t        now_i,
  input  tick_t        finish_i,
  /// The stream has no packet, and its deadline has come by the next decision; it has the window with which it comes back.
  input  logic         resting_i,
  input  logic         lapsed_i,
  /// The block: whether there is a packet, when that arrived, the deadline from the end of the service on, less one, the window, the counters.
  input  logic         valid_i,
  input  tick_t        arrival_i,
  input  tick_t        ahead_i,
  input  window_t      window_i,
  input  counters_t    counters_i,
  /// Where the stream stands.
  output status_t      status_o
);

  logic    valid_q;
  // It has rested since the last decision: its deadline counts as the clock, whatever the block says.
  logic    expired_q;
  tick_t   arrival_q, deadline_q;
  window_t window_q;

  always_ff @(posedge clk_i) begin
    if (enable_i) expired_q <= resting_i;
    if (load_i) begin
      deadline_q <= load_word_i.deadline;
      window_q   <= whole(load_word_i.contract.tolerance.numerator, load_word_i.contract.tolerance.denominator);
    end else if (enable_i && ran_i) begin
      arrival_q <= arrival_i;
      if (expired_q) deadline_q <= now_i;
      else if (!lapsed_i) deadline_q <= finish_i + ahead_i + 16'd1;
      if (!lapsed_i) window_q <= window_i;
    end
  end

  // A stream that nobody has loaded has no packet.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (load_i) valid_q <= 1'b0;
    else if (enable_i && ran_i) valid_q <= valid_i;
  end

  assign status_o = '{
    state:    '{valid: valid_q, arrival: arrival_q, deadline: deadline_q, window: window_q},
    counters: counters_i
  };

endmodule
