// Which of two keys comes first: one wide comparison in place of the decision block's rules.
//
// Law: as decision_block, for two streams of which the first has the smaller number.
//
// Source: rank_pkg. Twin: dwcs::device::Attributes::wins.
// Latency: none, it is combinational.

module key_block
  import dwcs_pkg::*;
  import rank_pkg::*;
(
  input  key_t first_i,
  input  key_t second_i,
  output logic first_wins_o
);

  logic rank_less, ranks_equal, first_come;

  assign rank_less    = first_i.rank < second_i.rank;
  assign ranks_equal  = first_i.rank == second_i.rank;
  // Equal arrivals go to the smaller number.
  assign first_come   = ~precedes(second_i.arrival, first_i.arrival);
  assign first_wins_o = first_i.valid & (~second_i.valid | rank_less | (ranks_equal & first_come));

endmodule
