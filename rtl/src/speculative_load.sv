// LOAD of one stream after the other: the arithmetic that is needed once per contract, for all blocks of the speculative engine, and the words in
// which a block gets what it keeps of it.
//
// A block needs the steps between the logarithms of x - 1, x - 2, ... and of y - x, y - x - 1, ... to begin a window, and what that window is worth: as
// it is, after service in time, and after a miss. One pair of tables and one subtraction hand them over. All words take the same wires, one in a
// cycle, because these go to all blocks.
//
// Law: the words of a contract do not depend on what was loaded before.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: none, its effect is that of dwcs::device, `Block::load`.
// Latency: the deadline comes a cycle after load_i, the last word 16 cycles later.
//
//   cycle     0         1      2       3-6        7  8-10            11-12  13-14   15-16
//   word_o    deadline  terms  limits  4 of rise     3 of fall       whole  met     missed

module speculative_load
  import dwcs_pkg::*;
  import rank_pkg::*;
  import speculative_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  /// A contract comes, and the first deadline.
  input  logic      load_i,
  input  contract_t contract_i,
  input  tick_t     deadline_i,
  /// Words of it are still on their way.
  output logic      loading_o,
  /// The word is the deadline; it is the next one of kept_t, from the top.
  output logic      first_o,
  output logic      next_o,
  output word_t     word_o
);

  localparam logic [4:0] Last = 5'd18;

  logic [4:0] count_q;
  contract_t  contract_q;
  tick_t      deadline_q;
  tolerance_t tolerance;
  logic [7:0] to_meet_q;
  logic       frozen_q;

  assign tolerance = contract_q.tolerance;
  assign loading_o = count_q != Last;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= Last;
    else if (load_i) count_q <= '0;
    else if (loading_o) count_q <= count_q + 5'd1;
  end

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      contract_q <= contract_i;
      deadline_q <= deadline_i;
    end
    to_meet_q <= tolerance.denominator - tolerance.numerator;
    frozen_q  <= contract_q.infinite | tolerance.fixed | (tolerance.denominator == '0);
  end

  // ---- Logarithms, and by how much they exceed those of the numbers before, of y - x, y - x - 1, ... and then of x, x - 1, ...: addresses go out in
  // cycles 1 to 8, logarithms come one later, steps two

  logic [7:0]      address;
  log_t            logarithm;
  log_step_t       log_step;
  log_step_t [1:0] steps_unused;

  assign address = (count_q <= 5'd4 ? to_meet_q : tolerance.numerator) - 8'(2'(count_q - 5'd1));

  log_table u_log (.clk_i, .number_i(address), .log_o(logarithm));

  log_step_table u_steps (
    .clk_i, .enable_i(1'b1), .number_i(address + 8'd2), .second_o(log_step), .third_o(steps_unused[0]), .fourth_o(steps_unused[1])
  );

  log_t [1:0] numerator_log_q, to_meet_log_q;
  logic [1:0] to_meet_zero_q;
  logic       address_zero_q;

  always_ff @(posedge clk_i) begin
    address_zero_q <= address == 8'd0;
    // The first two of each stay.
    if ((count_q == 5'd2) | (count_q == 5'd3)) begin
      to_meet_log_q  <= {logarithm, to_meet_log_q[1]};
      to_meet_zero_q <= {address_zero_q, to_meet_zero_q[1]};
    end
    if ((count_q == 5'd6) | (count_q == 5'd7)) numerator_log_q <= {logarithm, numerator_log_q[1]};
  end

  // ---- Worths: one subtraction serves all three, each for two cycles; its operands are chosen a cycle before

  logic       x_zero_q, x_one_q, m_zero_q, m_one_q, met_ends_q, missed_ends_q, is_met, is_missed, steps_x, steps_m, is_zero_q;
  logic [7:0] after_numerator_q, after_to_meet_q;
  fraction_t  minuend_q, subtrahend_q;
  worth_t     worth_q;

  assign is_met    = (count_q == 5'd11) | (count_q == 5'd12);
  assign is_missed = (count_q == 5'd13) | (count_q == 5'd14);
  assign steps_x   = (is_missed & ~missed_ends_q) | (is_met & m_zero_q & ~met_ends_q);
  assign steps_m   = is_met & ~m_zero_q & ~met_ends_q;

  always_ff @(posedge clk_i) begin
    x_zero_q <= tolerance.numerator == 8'd0;
    x_one_q  <= tolerance.numerator == 8'd1;
    m_zero_q <= to_meet_q == 8'd0;
    m_one_q  <= to_meet_q == 8'd1;
    // The first service in time ends the window, the first miss does. Then the worth after that is the first one.
    met_ends_q    <= frozen_q | (m_zero_q ? x_one_q : x_zero_q & m_one_q);
    missed_ends_q <= frozen_q | (x_one_q & m_zero_q);

    minuend_q         <= minuend(numerator_log_q[steps_x]);
    subtrahend_q      <= subtrahend(to_meet_zero_q[steps_m], to_meet_log_q[steps_m]);
    is_zero_q         <= x_zero_q | (is_missed & x_one_q & ~missed_ends_q);
    after_numerator_q <= tolerance.numerator - 8'(steps_x);
    after_to_meet_q   <= is_missed & x_zero_q & ~missed_ends_q ? raised(to_meet_q, tolerance.penalty) : to_meet_q - 8'(steps_m);

    worth_q <= is_zero_q ? zero_worth(after_to_meet_q) : '{fraction: minuend_q - subtrahend_q, numerator: after_numerator_q};
  end

  // ---- Words

  assign first_o = count_q == 5'd0;
  assign next_o  = ~first_o & (count_q <= 5'd16) & (count_q != 5'd7);

  always_comb begin
    if (count_q == 5'd0) word_o = word_t'(deadline_q);
    else if (count_q == 5'd1) word_o = word_t'({frozen_q, contract_q.infinite, contract_q.droppable, contract_q.period});
    else if (count_q == 5'd2) word_o = word_t'({to_meet_q, 9'(tolerance.penalty) - 9'd1});
    else if (count_q <= 5'd10) word_o = word_t'(log_step);
    else if (count_q[0]) word_o = worth_q.fraction;
    else if (count_q == 5'd16) word_o = word_t'({tolerance.penalty, met_ends_q, missed_ends_q, worth_q.numerator});
    else word_o = word_t'({few(tolerance.numerator), few(to_meet_q), worth_q.numerator});
  end

  logic unused;
  assign unused = ^steps_unused;

endmodule
