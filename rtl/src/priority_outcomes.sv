// What becomes of a stream in a decision, as far as it does not matter who wins: its deadline after a step, whether it has come, its window after
// service in time and after a miss.
//
// Law: after a step a deadline lies between the clock and 2^14 ticks later.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, Figure 7. Twin: dwcs::device, `Block`.
// Latency: none, it is combinational.

module priority_outcomes
  import dwcs_pkg::*;
(
  /// What the stream asks for.
  input  logic        infinite_i,
  input  logic [14:0] period_i,
  input  tolerance_t  tolerance_i,
  /// Where it stands.
  input  tick_t       deadline_i,
  input  window_t     window_i,
  /// The clock at the end of the service; at most 2^14 ticks after the update before.
  input  tick_t       now_i,
  /// The period less that clock.
  input  tick_t       period_from_now_i,
  output outcomes_t   outcomes_o
);

  window_t met, missed;
  logic    violates;

  window_rules u_window_rules (
    .tolerance_i,
    .window_i,
    .met_o(met),
    .missed_o(missed),
    .violates_o(violates)
  );

  tick_t ahead, stepped;
  // The deadline after a step, from now on: from -2^14 to 2^15, so two bits tell where it is.
  /* verilator lint_off UNUSEDSIGNAL */
  tick_t advanced;
  /* verilator lint_on UNUSEDSIGNAL */

  assign ahead    = deadline_i - now_i;
  assign advanced = deadline_i + period_from_now_i;

  always_comb begin
    unique case (advanced[15:14])
      2'b11:   stepped = now_i;
      2'b10:   stepped = now_i + Latest;
      2'b01:   stepped = now_i + Latest;
      default: stepped = deadline_i + 16'(period_i);
    endcase
  end

  assign outcomes_o = '{
    come:     ~infinite_i & (ahead[15] | (ahead == '0)),
    past:     ~infinite_i & ahead[15],
    stepped:  stepped,
    begun:    now_i + 16'(period_i),
    now:      now_i,
    met:      met,
    missed:   missed,
    violates: violates
  };

endmodule
