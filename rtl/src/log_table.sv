// The logarithms of the numbers three and four below another one, in one block RAM.
//
// Source: rank_pkg. Twin: none; a worth replaces the two products of a decision block.
// Latency: one cycle.

module log_table
  import rank_pkg::*;
(
  input  logic       clk_i,
  /// A cycle goes by.
  input  logic       enable_i,
  /// A number n.
  input  logic [7:0] number_i,
  /// The logarithms of n - 3 and n - 4, modulo 256.
  output log_t       third_o,
  output log_t       fourth_o
);

  // Read only: written when the device is configured.
  (* ram_style = "block" *)
  logic [35:0] table_q[256];

  initial begin
    for (int unsigned n = 0; n < 256; n++) table_q[n] = {Logarithms[8'(n - 4)], Logarithms[8'(n - 3)]};
  end

  logic [35:0] word_q;
  assign {fourth_o, third_o} = word_q;

  always_ff @(posedge clk_i) begin
    if (enable_i) word_q <= table_q[number_i];
  end

endmodule
