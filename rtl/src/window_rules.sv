// The two rules that adjust a window constraint: A, served in time, and B, a deadline missed.
//
// Source: West and Poellabauer, RTSS 2000; y' saturates at 255. Twin: dwcs::device, `Constraint::met` and `Constraint::missed`.
// Latency: none, it is combinational.

module window_rules
  import dwcs_pkg::*;
(
  /// What the stream tolerates.
  input  tolerance_t tolerance_i,
  /// The constraint now.
  input  window_t    window_i,
  /// The constraint if the head is served in time.
  output window_t    met_o,
  /// The constraint if a deadline is missed.
  output window_t    missed_o,
  /// That miss would be a violation.
  output logic       violates_o
);

  window_t fresh;
  assign fresh = whole(tolerance_i.numerator, tolerance_i.denominator);

  logic numerator_zero, full, denominator_last;
  logic [7:0] one_fewer, one_tolerated_fewer;
  logic [8:0] raised;

  assign numerator_zero      = window_i.numerator == '0;
  assign full                = window_i.denominator == window_i.numerator;
  // After a step down nothing is left; a denominator of 0 stays there.
  assign denominator_last    = window_i.denominator[7:1] == '0;
  assign one_fewer           = window_i.denominator - 8'd1;
  assign one_tolerated_fewer = window_i.numerator - 8'd1;
  assign raised              = 9'(window_i.denominator) + 9'(tolerance_i.penalty);

  always_comb begin
    met_o = '{
      violation:   1'b0,
      numerator:   full & ~numerator_zero ? one_tolerated_fewer : window_i.numerator,
      denominator: one_fewer
    };
    if (denominator_last | window_i.violation) met_o = fresh;

    missed_o   = '{violation: window_i.violation, numerator: one_tolerated_fewer, denominator: one_fewer};
    violates_o = 1'b0;
    if (numerator_zero) begin
      // Without a window there is nothing to violate.
      violates_o = tolerance_i.denominator != '0;
      missed_o   = window_i;
      if (violates_o) begin
        missed_o.violation   = 1'b1;
        missed_o.denominator = raised[8] ? 8'hff : raised[7:0];
      end
    end else if (denominator_last) begin
      missed_o = fresh;
    end

    if (tolerance_i.fixed) begin
      met_o      = window_i;
      missed_o   = window_i;
      violates_o = 1'b0;
    end
  end

endmodule
