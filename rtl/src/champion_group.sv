// The first of a group of streams, for both outcomes of the decision under way.
//
// Only the group's champion can be named. So the group goes into the next decision with one of two: the first of all streams as losers, or
// the first of the champion as winner and the others as losers. Who that is, is known when the decision is; his key is fetched in the cycle after it, while
// blocks take their next step.
//
// Law: key_o is the key of the stream that precedes the others after all decisions so far.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: none, its effect is that of dwcs::device::Network.
// Latency: one cycle.

module champion_group
  import rank_pkg::*;
#(
  /// Streams.
  parameter int unsigned G = 4
) (
  input  logic         clk_i,
  /// A cycle goes by.
  input  logic         enable_i,
  /// The champion is named in this decision: known late.
  input  logic         named_i,
  /// The keys of the streams after the decision under way, if they lose and if they win it.
  input  key_t [G-1:0] lost_i,
  input  key_t [G-1:0] won_i,
  /// The champion of the decision under way, and which stream it is.
  output key_t         key_o,
  output logic [G-1:0] first_o
);

  // The keys that streams have in the decision under way.
  key_t [G-1:0] key_q;
  logic [G-1:0] first_q, lost_first, won_first;
  // Stream i precedes stream j if both have lost, and if the first of them has won.
  logic [G-1:0][G-1:0] lost_precedes, won_precedes;

  always_comb begin
    key_o = '0;
    for (int unsigned i = 0; i < G; i++) key_o |= first_q[i] ? key_q[i] : '0;
  end

  assign first_o = first_q;

  // ---- All comparisons of losers, and of each as winner with the others as losers; equals go to the one in front

  for (genvar i = 0; i < G; i++) begin : gen_row
    assign lost_precedes[i][i] = 1'b1;
    assign won_precedes[i][i]  = 1'b1;
    for (genvar j = i + 1; j < G; j++) begin : gen_column
      logic lost_behind_won;

      key_block u_lost (.first_i(lost_i[i]), .second_i(lost_i[j]), .first_wins_o(lost_precedes[i][j]));
      key_block u_first_won (.first_i(won_i[i]), .second_i(lost_i[j]), .first_wins_o(won_precedes[i][j]));
      key_block u_second_won (.first_i(lost_i[i]), .second_i(won_i[j]), .first_wins_o(lost_behind_won));
      assign lost_precedes[j][i] = ~lost_precedes[i][j];
      assign won_precedes[j][i]  = ~lost_behind_won;
    end
  end

  // ---- Who is first

  always_comb begin
    won_first = '0;
    for (int unsigned i = 0; i < G; i++) begin
      lost_first[i] = &lost_precedes[i];
      for (int unsigned winner = 0; winner < G; winner++) begin
        if (i == winner) won_first[i] |= first_q[winner] & (&won_precedes[i]);
        else won_first[i] |= first_q[winner] & (&(lost_precedes[i] | (G'(1) << winner))) & ~won_precedes[winner][i];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      first_q <= named_i ? won_first : lost_first;
      for (int unsigned i = 0; i < G; i++) key_q[i] <= named_i & first_q[i] ? won_i[i] : lost_i[i];
    end
  end

endmodule
