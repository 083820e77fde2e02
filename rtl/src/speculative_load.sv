// LOAD of one stream after the other: the arithmetic that is needed once per contract, for all blocks of the speculative engine.
//
// A block needs the logarithms of x, x - 1, ... and of y - x, y - x - 1, ... to begin a window, and what that window is worth: as it is, after
// service in time, and after a miss. One pair of tables and one subtraction hand them over word by word.
//
// Law: the words of a contract do not depend on what was loaded before.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: none, its effect is that of dwcs::device, `Block::load`.
// Latency: ten cycles from load_i to the last word; logarithms come in cycles 2 to 5, worths in cycles 7 to 9.

module speculative_load
  import dwcs_pkg::*;
  import rank_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  /// A contract comes, of which only this counts.
  input  logic       load_i,
  input  logic       infinite_i,
  input  tolerance_t tolerance_i,
  /// Words of it are still to come.
  output logic       loading_o,
  /// The next logarithms, of x counted downwards and of y - x counted downwards, and whether that is 0.
  output logic       log_valid_o,
  output log_t       numerator_log_o,
  output log_t       to_meet_log_o,
  output logic       to_meet_zero_o,
  /// The next of three: what the window is worth, after service in time, after a miss.
  output logic       worth_valid_o,
  output worth_t     worth_o
);

  localparam logic [3:0] Last = 4'd9;

  logic [3:0] count_q;
  logic [7:0] numerator_q, to_meet_q, penalty_q;
  logic       frozen_q;

  assign loading_o = count_q != Last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= Last;
    else if (load_i) count_q <= '0;
    else if (loading_o) count_q <= count_q + 4'd1;
  end

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      numerator_q <= tolerance_i.numerator;
      penalty_q   <= tolerance_i.penalty;
      to_meet_q   <= tolerance_i.denominator - tolerance_i.numerator;
      frozen_q    <= infinite_i | tolerance_i.fixed | (tolerance_i.denominator == '0);
    end
  end

  // ---- Logarithms: addresses go out in cycles 0 to 3, words come one later

  logic [7:0] numerator_address, to_meet_address;
  log_t       numerator_unused, to_meet_unused;

  assign numerator_address = numerator_q - 8'(count_q) + 8'd3;
  assign to_meet_address   = to_meet_q - 8'(count_q) + 8'd3;
  assign log_valid_o       = (count_q >= 4'd1) & (count_q <= 4'd4);

  log_table u_numerator_log (
    .clk_i, .enable_i(1'b1), .number_i(numerator_address), .third_o(numerator_log_o), .fourth_o(numerator_unused)
  );

  log_table u_to_meet_log (
    .clk_i, .enable_i(1'b1), .number_i(to_meet_address), .third_o(to_meet_log_o), .fourth_o(to_meet_unused)
  );

  log_t [1:0] numerator_log_q, to_meet_log_q;
  logic [1:0] to_meet_zero_q;

  always_ff @(posedge clk_i) begin
    to_meet_zero_o <= to_meet_address == 8'd3;
    // The first two of them stay.
    if ((count_q == 4'd1) | (count_q == 4'd2)) begin
      numerator_log_q <= {numerator_log_o, numerator_log_q[1]};
      to_meet_log_q   <= {to_meet_log_o, to_meet_log_q[1]};
      to_meet_zero_q  <= {to_meet_zero_o, to_meet_zero_q[1]};
    end
  end

  // ---- Worths: one subtraction serves all three

  logic   x_zero, x_one, m_zero, m_one, steps_x, steps_m, met_ends, missed_ends;
  worth_t after, whole_q;

  assign x_zero      = numerator_q == 8'd0;
  assign x_one       = numerator_q == 8'd1;
  assign m_zero      = to_meet_q == 8'd0;
  assign m_one       = to_meet_q == 8'd1;
  assign met_ends    = frozen_q | (m_zero ? x_one : x_zero & m_one);
  assign missed_ends = frozen_q | (x_one & m_zero);
  assign steps_x     = (count_q == 4'd8) | ((count_q == 4'd7) & m_zero);
  assign steps_m     = (count_q == 4'd7) & ~m_zero;
  assign after       = worth(
      numerator_log_q[steps_x], to_meet_zero_q[steps_m], to_meet_log_q[steps_m], numerator_q - 8'(steps_x));

  assign worth_valid_o = (count_q >= 4'd6) & (count_q <= 4'd8);

  always_comb begin
    worth_o = after;
    unique case (count_q)
      4'd7: begin
        if (met_ends) worth_o = whole_q;
        else if (x_zero) worth_o = zero_worth(to_meet_q - 8'd1);
      end
      4'd8: begin
        if (missed_ends) worth_o = whole_q;
        else if (x_zero) worth_o = zero_worth(raised(to_meet_q, penalty_q));
        else if (x_one) worth_o = zero_worth(to_meet_q);
      end
      default: if (x_zero) worth_o = zero_worth(to_meet_q);
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (count_q == 4'd6) whole_q <= worth_o;
  end

  logic unused;
  assign unused = ^{numerator_unused, to_meet_unused};

endmodule
