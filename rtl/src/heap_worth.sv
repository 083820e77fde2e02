// What the windows are worth that a stream may have next: after service in time and after a miss; of a stream without packets, as its window is
// and as it begins anew.
//
// Law: fractions of rank_pkg, of the windows that rule A and rule B make.
// Source: West and Poellabauer, RTSS 2000, the rules; rank_pkg. Twin: tidegate_core::dwcs::Tolerance.
// Latency: five cycles from start_i; a start at the earliest two cycles after another.

module heap_worth
  import heap_pkg::*;
  import rank_pkg::log_t;
  import rank_pkg::fraction_t;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  /// A stream, with a packet or without, its contract and its window.
  input  logic      start_i,
  input  logic      valid_i,
  input  terms_t    terms_i,
  input  slack_t    slack_i,
  /// Five cycles later: after service in time or as it is, after a miss or anew.
  output fraction_t first_o,
  output fraction_t second_o
);

  slack_t first_q, second_q, asked, asked_q, asked2_q;
  logic   begun_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      first_q  <= valid_i ? met(terms_i, slack_i) : slack_i;
      second_q <= valid_i ? missed(terms_i, slack_i) : terms_i.whole;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begun_q <= 1'b0;
    else begun_q <= start_i;
  end

  // One after the other.
  assign asked = begun_q ? first_q : second_q;

  log_t log_x, log_m, log_x_q, log_m_q;

  log_table u_numerator (
    .clk_i,
    .number_i(asked.numerator),
    .log_o(log_x)
  );

  log_table u_to_meet (
    .clk_i,
    .number_i(asked.to_meet),
    .log_o(log_m)
  );

  always_ff @(posedge clk_i) begin
    asked_q  <= asked;
    asked2_q <= asked_q;
    log_x_q  <= log_x;
    log_m_q  <= log_m;
    second_o <= asked2_q.numerator == '0 ? rank_pkg::zero_fraction(asked2_q.to_meet)
                                         : rank_pkg::minuend(log_x_q) - rank_pkg::subtrahend(asked2_q.to_meet == '0, log_m_q);
    first_o  <= second_o;
  end

  logic unused;
  assign unused = asked2_q.violation;

endmodule
