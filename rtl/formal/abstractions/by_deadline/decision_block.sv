// Replaces the decision block where any strict total order will do and nothing else reads the attributes. The deadline is a plain number: the
// smaller comes first, and among equal ones the smaller number of a stream. Every strict total order of the streams is the order of some
// such deadlines. What holds for all of them holds for the decision block, which decision_order proves to be such an order. Streams without
// packets lose as they do there; of two the second wins.

module decision_block
  import dwcs_pkg::*;
(
  /// Two streams.
  input  attributes_t first_i,
  input  attributes_t second_i,
  /// The first one wins.
  output logic        first_wins_o
);

  assign first_wins_o = first_i.valid & (~second_i.valid | ({first_i.deadline, first_i.id} < {second_i.deadline, second_i.id}));

endmodule
