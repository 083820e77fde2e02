// The logarithms of 0 to 255 in one block RAM, two at a time.
//
// Source: rank_pkg. Twin: none; a rank replaces the two products of a decision block.
// Latency: one cycle.

module log_table
  import rank_pkg::*;
(
  input  logic       clk_i,
  /// A cycle goes by.
  input  logic       enable_i,
  /// Two numbers.
  input  logic [7:0] first_i,
  input  logic [7:0] second_i,
  /// Their logarithms.
  output log_t       first_o,
  output log_t       second_o
);

  // Read only: written when the device is configured.
  (* ram_style = "block" *)
  log_t table_q[256];

  initial begin
    for (int unsigned n = 0; n < 256; n++) table_q[n] = Logarithms[n];
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) first_o <= table_q[first_i];
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) second_o <= table_q[second_i];
  end

endmodule
