// Which of two keys comes first: one wide comparison in place of the decision block's rules.
//
// Law: as decision_block, for two streams with packets of which the first has the smaller number.
//
// Source: rank_pkg. Twin: dwcs::device::Attributes::wins.
// Latency: none, it is combinational.

module key_block
  import rank_pkg::*;
(
  /// Two streams; equals go to the first.
  input  key_t first_i,
  input  key_t second_i,
  /// The first one wins.
  output logic first_wins_o
);

  // Not `<=`, for which synthesis would add a comparison for equality.
  assign first_wins_o = ~(second_i < first_i);

endmodule
