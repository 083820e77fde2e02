// Stands in for the decision block where its answers do not matter: nothing drives the output, so the solver chooses it, anew in every
// cycle and every block.

module decision_block
  import dwcs_pkg::*;
(
  /// Two streams, which it does not look at.
  input  attributes_t first_i,
  input  attributes_t second_i,
  /// The first one wins, or not.
  output logic        first_wins_o
);

  logic unused;
  assign unused = ^{first_i, second_i};

endmodule
