// The logarithms of all numbers, in one block RAM.
//
// Source: rank_pkg. Twin: none; a worth replaces the two products of a decision block.
// Latency: one cycle.

module log_table
  import rank_pkg::*;
(
  input  logic       clk_i,
  /// A number.
  input  logic [7:0] number_i,
  /// Its logarithm.
  output log_t       log_o
);

  // Read only: written when the device is configured.
  (* ram_style = "block" *)
  log_t table_q[256];

  initial begin
    for (int unsigned n = 0; n < 256; n++) table_q[n] = Logarithms[n];
  end

  always_ff @(posedge clk_i) begin
    log_o <= table_q[number_i];
  end

endmodule
