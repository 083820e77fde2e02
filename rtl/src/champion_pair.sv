// The first of two streams, for both outcomes of the decision under way.
//
// Only the pair's champion can be named. So the pair goes into the next decision with one of two: the first of both streams as losers, or the first of
// the champion as winner and the other as loser.
//
// Law: key_o is the key of the stream that precedes the other after all decisions so far.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: none, its effect is that of dwcs::device::Network.
// Latency: one cycle.

module champion_pair
  import rank_pkg::*;
(
  input  logic clk_i,
  /// A cycle goes by.
  input  logic enable_i,
  /// The champion was named in the last decision.
  input  logic named_i,
  /// The keys of both streams after the decision under way, if they lose and if they win it.
  input  key_t first_lost_i,
  input  key_t first_won_i,
  input  key_t second_lost_i,
  input  key_t second_won_i,
  /// The champion of the decision under way, and whether it is the second stream.
  output key_t key_o,
  output logic second_o
);

  key_t lost_q, won_q;
  logic lost_second_q, won_second_q;

  assign key_o    = named_i ? won_q : lost_q;
  assign second_o = named_i ? won_second_q : lost_second_q;

  logic lost_first, first_won_first, second_won_first, won_first;

  key_block u_lost (.first_i(first_lost_i), .second_i(second_lost_i), .first_wins_o(lost_first));
  key_block u_first_won (.first_i(first_won_i), .second_i(second_lost_i), .first_wins_o(first_won_first));
  key_block u_second_won (.first_i(first_lost_i), .second_i(second_won_i), .first_wins_o(second_won_first));

  assign won_first = second_o ? second_won_first : first_won_first;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      lost_q        <= lost_first ? first_lost_i : second_lost_i;
      lost_second_q <= ~lost_first;
      won_q         <= won_first ? (second_o ? first_lost_i : first_won_i) : (second_o ? second_won_i : second_lost_i);
      won_second_q  <= ~won_first;
    end
  end

endmodule
