// Replaces the decision block where any strict total order will do. Each stream has an arbitrary rank: the smaller comes first, and among equal
// ones the smaller number. Every strict total order of the streams is the order of some such ranks. What holds for all ranks holds for the
// decision block, which decision_order proves to be such an order. Streams without packets lose as they do there; of two the second wins.

module decision_block
  import dwcs_pkg::*;
(
  /// Two streams.
  input  attributes_t first_i,
  input  attributes_t second_i,
  /// The first one wins.
  output logic        first_wins_o
);

  id_t first_rank, second_rank;
  assign first_rank   = u_ranks.rank_q[first_i.id];
  assign second_rank  = u_ranks.rank_q[second_i.id];
  assign first_wins_o = first_i.valid & (~second_i.valid | ({first_rank, first_i.id} < {second_rank, second_i.id}));

endmodule
