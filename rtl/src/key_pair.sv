// Which of two streams comes first in the next decision, known as soon as the winner of the decision under way is.
//
// All that this winner changes is compared beforehand: neither of the two has won, the first one has, the second one has.
//
// Law: first_wins_o tells which stream precedes the other after all decisions so far.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: none, its effect is that of dwcs::device::Network.
// Latency: one cycle.

module key_pair
  import rank_pkg::*;
(
  input  logic clk_i,
  /// A cycle goes by.
  input  logic enable_i,
  /// The keys of both streams after the decision under way, if they lose and if they win it.
  input  key_t first_lost_i,
  input  key_t first_won_i,
  input  key_t second_lost_i,
  input  key_t second_won_i,
  /// Who was named in the last decision.
  input  logic first_named_i,
  input  logic second_named_i,
  /// The first one precedes in the decision under way.
  output logic first_wins_o
);

  logic lost, first_won, second_won, lost_q, first_won_q, second_won_q;

  key_block u_lost (.first_i(first_lost_i), .second_i(second_lost_i), .first_wins_o(lost));
  key_block u_first_won (.first_i(first_won_i), .second_i(second_lost_i), .first_wins_o(first_won));
  key_block u_second_won (.first_i(first_lost_i), .second_i(second_won_i), .first_wins_o(second_won));

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      lost_q       <= lost;
      first_won_q  <= first_won;
      second_won_q <= second_won;
    end
  end

  assign first_wins_o = first_named_i ? first_won_q : (second_named_i ? second_won_q : lost_q);

endmodule
