// By how much the logarithms of the numbers two, three and four below another one exceed those of their predecessors, in block RAM.
//
// Source: rank_pkg. Twin: none; a worth replaces the two products of a decision block.
// Latency: two cycles; block RAM is slow, so that its word goes into a register first.

module log_step_table
  import rank_pkg::*;
(
  input  logic       clk_i,
  /// A cycle goes by.
  input  logic       enable_i,
  /// A number n.
  input  logic [7:0] number_i,
  /// The steps up to n - 2, to n - 3 and to n - 4, modulo 256.
  output log_step_t  second_o,
  output log_step_t  third_o,
  output log_step_t  fourth_o
);

  // Read only: written when the device is configured.
  (* ram_style = "block" *)
  logic [50:0] table_q[256];

  function automatic log_step_t step_to(logic [7:0] n);
    return n == 8'd1 ? 17'h10000 : 17'(Logarithms[n] - Logarithms[8'(n - 1)]);
  endfunction

  initial begin
    for (int unsigned n = 0; n < 256; n++) table_q[n] = {step_to(8'(n - 4)), step_to(8'(n - 3)), step_to(8'(n - 2))};
  end

  logic [50:0] read_q, word_q;
  assign {fourth_o, third_o, second_o} = word_q;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      read_q <= table_q[number_i];
      word_q <= read_q;
    end
  end

endmodule
