// Replaces the ranks of windows where they do not matter: nothing drives the outputs, so the solver chooses them in every cycle.

module window_rank #(
  /// Does not matter.
  parameter bit Block = 1'b1
) (
  input  logic        clk_i,
  /// A window, which it does not read.
  input  logic [7:0]  numerator_i,
  input  logic [7:0]  denominator_i,
  /// Anything.
  output logic [16:0] fraction_o,
  output logic [7:0]  tie_o
);

  logic unused;
  assign unused = ^{clk_i, numerator_i, denominator_i, Block};

endmodule
