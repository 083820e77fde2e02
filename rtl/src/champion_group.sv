// The first of a group of streams, for both outcomes of the decision under way.
//
// Only the group's champion can be named. So the group goes into the next decision with one of two: the first of all streams as losers, or
// the first of the champion as winner and the others as losers.
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

  key_t         key_q, champion_won, lost, won;
  logic [G-1:0] first_q, lost_first, won_first, winner_precedes;
  logic [G-1:0][G-1:0] precedes;
  logic         wins_again;

  assign key_o   = key_q;
  assign first_o = first_q;

  // ---- The champion, if it wins

  always_comb begin
    champion_won = '0;
    for (int unsigned i = 0; i < G; i++) champion_won |= first_q[i] ? won_i[i] : '0;
  end

  // ---- All comparisons of losers, and of the champion as winner with each loser; equals go to the one in front

  for (genvar i = 0; i < G; i++) begin : gen_row
    logic behind;

    assign precedes[i][i] = 1'b1;
    for (genvar j = i + 1; j < G; j++) begin : gen_column
      key_block u_lost (.first_i(lost_i[i]), .second_i(lost_i[j]), .first_wins_o(precedes[i][j]));
      assign precedes[j][i] = ~precedes[i][j];
    end

    if (i == 0) begin : gen_front
      assign behind = 1'b1;
    end else begin : gen_rest
      assign behind = ~(|first_q[i-1:0]);
    end
    assign winner_precedes[i] = {champion_won, behind} < {lost_i[i], 1'b1};
  end

  // ---- Who is first

  assign wins_again = &(winner_precedes | first_q);

  for (genvar i = 0; i < G; i++) begin : gen_first
    assign lost_first[i] = &precedes[i];
    assign won_first[i]  = first_q[i] ? wins_again : ~winner_precedes[i] & (&(precedes[i] | first_q));
  end

  always_comb begin
    lost = '0;
    won  = wins_again ? champion_won : '0;
    for (int unsigned i = 0; i < G; i++) begin
      lost |= lost_first[i] ? lost_i[i] : '0;
      won  |= won_first[i] & ~first_q[i] ? lost_i[i] : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      key_q   <= named_i ? won : lost;
      first_q <= named_i ? won_first : lost_first;
    end
  end

endmodule
