// The first of a group of streams, for both outcomes of the decision under way.
//
// Only the group's champion can be named. So the group goes into the next decision with one of two: the first of all streams as losers, or
// the first of the champion as winner and the others as losers. Both are there, with their keys, when it is known whether he is named.
//
// Law: key_o is the key of the stream that precedes the others after all decisions so far.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: none, its effect is that of dwcs::device::Network.
// Latency: one cycle.

module champion_group
  import rank_pkg::*;
#(
  /// Streams.
  parameter int unsigned G = 4,
  /// Wires that name a champion together.
  parameter int unsigned Late = 2
) (
  input  logic         clk_i,
  /// A cycle goes by.
  input  logic         enable_i,
  /// The champion may be named in this decision, and is, if all wires are set: known late.
  input  logic         champion_i,
  input  logic [Late-1:0] named_i,
  /// The keys of the streams after the decision under way, if they lose and if they win it.
  input  key_t [G-1:0] lost_i,
  input  key_t [G-1:0] won_i,
  /// The champion of the decision under way, and which stream it is.
  output key_t         key_o,
  output logic [G-1:0] first_o
);

  key_t         key_q, lost_key, won_key;
  logic [G-1:0] first_q, lost_first, won_first;
  // Stream i precedes stream j if all have lost, and if the champion has won.
  logic [G-1:0][G-1:0] lost_precedes, won_precedes;

  assign key_o   = key_q;
  assign first_o = first_q;

  // ---- All comparisons of losers, and of the champion as winner with the others as losers; equals go to the one in front

  key_t [G-1:0] stepped;

  for (genvar i = 0; i < G; i++) begin : gen_row
    assign stepped[i]          = first_q[i] ? won_i[i] : lost_i[i];
    assign lost_precedes[i][i] = 1'b1;
    assign won_precedes[i][i]  = 1'b1;
    for (genvar j = i + 1; j < G; j++) begin : gen_column
      key_block u_lost (.first_i(lost_i[i]), .second_i(lost_i[j]), .first_wins_o(lost_precedes[i][j]));
      key_block u_won (.first_i(stepped[i]), .second_i(stepped[j]), .first_wins_o(won_precedes[i][j]));
      assign lost_precedes[j][i] = ~lost_precedes[i][j];
      assign won_precedes[j][i]  = ~won_precedes[i][j];
    end
  end

  // ---- Who is first, and his key

  always_comb begin
    lost_key = '0;
    won_key  = '0;
    for (int unsigned i = 0; i < G; i++) begin
      lost_first[i] = &lost_precedes[i];
      won_first[i]  = &won_precedes[i];
      lost_key |= lost_first[i] ? lost_i[i] : '0;
      won_key  |= won_first[i] ? stepped[i] : '0;
    end
  end

  // What is known early stays apart from that in synthesis.
  (* keep *) key_t         named_key, other_key;
  (* keep *) logic [G-1:0] named_first, other_first;

  assign other_key   = lost_key;
  assign other_first = lost_first;
  assign named_key   = champion_i ? won_key : lost_key;
  assign named_first = champion_i ? won_first : lost_first;

  always_ff @(posedge clk_i) begin
    if (enable_i) begin
      first_q <= (&named_i) ? named_first : other_first;
      key_q   <= (&named_i) ? named_key : other_key;
    end
  end

endmodule
