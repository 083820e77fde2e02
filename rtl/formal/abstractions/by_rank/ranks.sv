// The rank of every stream: arbitrary, and always the same. A harness has one of these, named u_ranks, for all its decision blocks.

module ranks
  import dwcs_pkg::*;
(
  input logic clk_i
);

  id_t [MostStreams-1:0] rank_q;
  always_ff @(posedge clk_i) rank_q <= rank_q;

endmodule
