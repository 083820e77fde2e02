// The rank of a window constraint: one number that is compared instead of two cross products.
//
// Law: see tiled_pkg. Streams that tolerate nothing come first, the larger denominator before the smaller; then the smaller fraction, and of
// equal fractions the smaller numerator.
//
// Source: Krishnamurthy et al., "ShareStreams", Table 1. Twin: tidegate_core::dwcs::Rank.
// Latency: four cycles: two for the table of reciprocals, one for its product with the numerator, one for the sum of the parts.

module window_rank
  import tiled_pkg::*;
#(
  /// The table lies in block RAM; otherwise in logic.
  parameter bit Block = 1'b1
) (
  input  logic        clk_i,
  /// The constraint.
  input  logic [7:0]  numerator_i,
  input  logic [7:0]  denominator_i,
  /// Its rank.
  output logic [16:0] fraction_o,
  output logic [7:0]  tie_o
);

  logic [ReciprocalWidth-1:0] word_q, reciprocal_q;

  if (Block) begin : gen_block
    (* rom_style = "block", ram_style = "block" *) logic [ReciprocalWidth-1:0] table_q[256];
    for (genvar y = 0; y < 256; y++) begin : gen_word
      initial table_q[y] = reciprocal(y);
    end
    always_ff @(posedge clk_i) word_q <= table_q[denominator_i];
  end else begin : gen_logic
    always_ff @(posedge clk_i) begin
      word_q <= '0;
      for (int unsigned y = 0; y < 256; y++) begin
        if (denominator_i == 8'(y)) word_q <= reciprocal(y);
      end
    end
  end

  // Two factors of at most 18 bits, as multipliers have them.
  logic [7:0]  numerator_q, numerator2_q, tie_q, tie2_q, tie3_q;
  logic [25:0] high_q;
  logic [21:0] low_q;
  logic [39:0] product;

  assign product = {high_q, 14'd0} + 40'(low_q);

  always_ff @(posedge clk_i) begin
    numerator_q  <= numerator_i;
    tie_q        <= numerator_i == '0 ? ~denominator_i : numerator_i;
    reciprocal_q <= word_q;
    numerator2_q <= numerator_q;
    tie2_q       <= tie_q;
    high_q       <= 26'(numerator2_q) * 26'(reciprocal_q[31:14]);
    low_q        <= 22'(numerator2_q) * 22'(reciprocal_q[13:0]);
    tie3_q      <= tie2_q;
    fraction_o   <= product[31:15];
    tie_o        <= tie3_q;
  end

  logic unused;
  assign unused = ^{product[39:32], product[14:0]};

endmodule
