// LOAD of one stream after the other: the arithmetic that is needed once per contract, for all blocks of the speculative engine.
//
// A block needs the steps between the logarithms of x, x - 1, ... and of y - x, y - x - 1, ... to begin a window, and what that window is worth: as it
// is, after service in time, and after a miss. Two pairs of tables and one subtraction hand them over word by word.
//
// Law: the words of a contract do not depend on what was loaded before.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: none, its effect is that of dwcs::device, `Block::load`.
// Latency: twelve cycles from load_i to the last word; steps come in cycles 3 to 6, worths in cycles 9 to 11.

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
  /// The next steps between logarithms, up to x and up to y - x, both counted downwards.
  output logic       steps_valid_o,
  output log_step_t  numerator_step_o,
  output log_step_t  to_meet_step_o,
  /// The next of three: what the window is worth, after service in time, after a miss.
  output logic       worth_valid_o,
  output worth_t     worth_o,
  /// With them: the first service in time ends the window, the first miss does. Then the word for after that is the first one.
  output logic       met_ends_o,
  output logic       missed_ends_o
);

  localparam logic [3:0] Last = 4'd11;

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

  // ---- Logarithms, and by how much they exceed those of the numbers before: addresses go out in cycles 0 to 3, logarithms
  // come one later, steps two

  logic [7:0] numerator_address, to_meet_address;
  log_t       numerator_log, to_meet_log;
  log_step_t  [1:0] numerator_unused, to_meet_unused;

  assign numerator_address = numerator_q - 8'(count_q);
  assign to_meet_address   = to_meet_q - 8'(count_q);
  assign steps_valid_o     = (count_q >= 4'd2) & (count_q <= 4'd5);

  log_table u_numerator_log (.clk_i, .number_i(numerator_address), .log_o(numerator_log));
  log_table u_to_meet_log (.clk_i, .number_i(to_meet_address), .log_o(to_meet_log));

  log_step_table u_numerator_steps (
    .clk_i, .enable_i(1'b1), .number_i(numerator_address + 8'd2), .second_o(numerator_step_o), .third_o(numerator_unused[0]),
    .fourth_o(numerator_unused[1])
  );

  log_step_table u_to_meet_steps (
    .clk_i, .enable_i(1'b1), .number_i(to_meet_address + 8'd2), .second_o(to_meet_step_o), .third_o(to_meet_unused[0]),
    .fourth_o(to_meet_unused[1])
  );

  log_t [1:0] numerator_log_q, to_meet_log_q;
  logic [1:0] to_meet_zero_q;
  logic       to_meet_zero_now_q;

  always_ff @(posedge clk_i) begin
    to_meet_zero_now_q <= to_meet_address == 8'd0;
    // The first two of them stay.
    if ((count_q == 4'd1) | (count_q == 4'd2)) begin
      numerator_log_q <= {numerator_log, numerator_log_q[1]};
      to_meet_log_q   <= {to_meet_log, to_meet_log_q[1]};
      to_meet_zero_q  <= {to_meet_zero_now_q, to_meet_zero_q[1]};
    end
  end

  // ---- Worths: one subtraction serves all three; its operands are chosen a cycle before

  logic       x_zero_q, x_one_q, m_zero_q, m_one_q, steps_x, steps_m, is_zero_q;
  logic [7:0] after_numerator_q, after_to_meet_q;
  fraction_t  minuend_q, subtrahend_q;

  assign met_ends_o    = frozen_q | (m_zero_q ? x_one_q : x_zero_q & m_one_q);
  assign missed_ends_o = frozen_q | (x_one_q & m_zero_q);
  assign steps_x       = ((count_q == 4'd8) & ~missed_ends_o) | ((count_q == 4'd7) & m_zero_q & ~met_ends_o);
  assign steps_m       = (count_q == 4'd7) & ~m_zero_q & ~met_ends_o;

  always_ff @(posedge clk_i) begin
    x_zero_q <= numerator_q == 8'd0;
    x_one_q  <= numerator_q == 8'd1;
    m_zero_q <= to_meet_q == 8'd0;
    m_one_q  <= to_meet_q == 8'd1;

    minuend_q         <= minuend(numerator_log_q[steps_x]);
    subtrahend_q      <= subtrahend(to_meet_zero_q[steps_m], to_meet_log_q[steps_m]);
    is_zero_q         <= x_zero_q | ((count_q == 4'd8) & x_one_q & ~missed_ends_o);
    after_numerator_q <= numerator_q - 8'(steps_x);
    after_to_meet_q   <= (count_q == 4'd8) & x_zero_q & ~missed_ends_o ? raised(to_meet_q, penalty_q) : to_meet_q - 8'(steps_m);

    worth_o <= is_zero_q ? zero_worth(after_to_meet_q) : '{fraction: minuend_q - subtrahend_q, numerator: after_numerator_q};
  end

  assign worth_valid_o = (count_q >= 4'd8) & (count_q <= 4'd10);

  logic unused;
  assign unused = ^{numerator_unused, to_meet_unused};

endmodule
