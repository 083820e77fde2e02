// Whether a deadline will have come by the end of the next service, if it stays as it is: a cycle ahead.
//
// Law: come_o is the sign of ahead_i less the ticks from the end of the service under decision to that of the next one, and never set of a stream
// without deadlines.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: dwcs::device, `Block`.
// Latency: one cycle.

module speculative_foresight
  import dwcs_pkg::*;
(
  input  logic        clk_i,
  /// A cycle goes by.
  input  logic        enable_i,
  /// The deadline takes a step in this decision; it has come, and the stream has no packet.
  input  logic        steps_i,
  input  logic        lapses_i,
  /// The deadline after a step and without one, from the end of the service under decision on, and the period; all less one.
  input  tick_t       stepped_i,
  input  tick_t       ahead_i,
  input  logic [14:0] period_last_i,
  /// By how many ticks the clock moves from the end of the next service to that of the one after it, and from the one under decision on.
  input  tick_t       ticks_i,
  input  tick_t       two_ticks_i,
  /// The deadline never comes.
  input  logic        infinite_i,
  /// It will have come by the end of the next service.
  output logic        come_o
);

  logic  come_q;
  tick_t two_ticks_q;
  tick_t steps, waits, lapses;

  assign steps  = stepped_i - two_ticks_q;
  assign waits  = ahead_i - two_ticks_q;
  assign lapses = 16'(period_last_i) - ticks_i;
  assign come_o = come_q & ~infinite_i;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      two_ticks_q <= two_ticks_i;
      come_q      <= steps_i ? steps[15] : (lapses_i ? lapses[15] : waits[15]);
    end
  end

  logic unused;
  assign unused = ^{steps[14:0], waits[14:0], lapses[14:0]};

endmodule
