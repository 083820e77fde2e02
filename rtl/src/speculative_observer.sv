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
(
  input  logic         clk_i,
  input  logic         rst_ni,
  /// A cycle goes by.
  input  logic         enable_i,
  /// LOAD.
  input  logic         load_i,
  input  tick_t        deadline_i,
  /// Nothing has been decided since: the window is that of the contract.
  input  logic         fresh_i,
  /// A decision was made in the cycle before.
  input  logic         ran_i,
  /// The clock of the last decision.
  input  tick_t        now_i,
  /// The stream has no packet, and its deadline has come by the next decision; it has the window with which it comes back.
  input  logic         resting_i,
  input  logic         lapsed_i,
  /// What the block holds.
  input  state_t       state_i,
  input  counters_t    counters_i,
  /// Where the stream stands.
  output status_t      status_o
);

  logic    valid_q;
  tick_t   arrival_q, deadline_q;
  window_t window_q;
  // It has rested since the last decision: its deadline counts as the clock, whatever the block says.
  logic    expired_q;

  always_ff @(posedge clk_i) begin
    if (enable_i) expired_q <= resting_i;
    if (fresh_i) window_q <= state_i.window;
    if (load_i) begin
      deadline_q <= deadline_i;
    end else if (enable_i && ran_i) begin
      arrival_q <= state_i.arrival;
      if (expired_q) deadline_q <= now_i;
      else if (!lapsed_i) deadline_q <= state_i.deadline;
      if (!lapsed_i) window_q <= state_i.window;
    end
  end

  // A stream that nobody has loaded has no packet.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (load_i) valid_q <= 1'b0;
    else if (enable_i && ran_i) valid_q <= state_i.valid;
  end

  assign status_o = '{state: '{valid: valid_q, arrival: arrival_q, deadline: deadline_q, window: window_q}, counters: counters_i};

endmodule
