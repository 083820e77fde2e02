// The decision among few streams: each is compared with every other one before it is known who wins the decision under way.
//
// A comparison depends on that winner only if he is one of the two. So three comparisons of every pair tell who is the next one after any winner, and
// a decision chooses among bits.
//
// Law: the winner precedes all others after all decisions so far, if he has a packet.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: dwcs::device::Network, of which it is the first port.
// Latency: one cycle from the keys to the winner.
//
//   clk_i         t                                           t + 1
//   lost_i        after decision t, if it is lost             after decision t + 1
//   won_o         the winner of decision t                    the winner of decision t + 1: registered bits, chosen by the winner of t

module direct_choice
  import rank_pkg::*;
#(
  /// Streams.
  parameter int unsigned N = 4
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// A cycle goes by.
  input  logic         enable_i,
  /// A decision is made in the next cycle.
  input  logic         next_run_i,
  /// The keys with which the streams go into the next decision, if they lose and if they win this one.
  input  key_t [N-1:0] lost_i,
  input  key_t [N-1:0] won_i,
  /// The winner of this decision, if there is one: late in the cycle, and a cycle later.
  output logic [N-1:0] won_o,
  output logic [N-1:0] named_o
);

  // What arrives last stays a wire of its own in synthesis.
  (* keep *) logic [N-1:0] won;
  logic [N-1:0] named_q;
  logic         nobody_q;
  // Has a packet when the next decision is made, if the stream loses and if it wins: early, so that one table takes it with all comparisons.
  (* keep *) logic [N-1:0] lost_there, won_there;
  // Who wins after each of them has won, and after nobody has.
  logic [N:0][N-1:0] first, first_q;

  // ---- Comparisons: stream i precedes stream j if both have lost, and if the first of them has won

  logic [N-1:0][N-1:0] lost_precedes, won_precedes;

  for (genvar i = 0; i < N; i++) begin : gen_row
    assign lost_precedes[i][i] = 1'b1;
    assign won_precedes[i][i]  = 1'b1;
    for (genvar j = i + 1; j < N; j++) begin : gen_column
      logic lost_behind_won;

      key_block u_lost (.first_i(lost_i[i]), .second_i(lost_i[j]), .first_wins_o(lost_precedes[i][j]));
      key_block u_first_won (.first_i(won_i[i]), .second_i(lost_i[j]), .first_wins_o(won_precedes[i][j]));
      key_block u_second_won (.first_i(lost_i[i]), .second_i(won_i[j]), .first_wins_o(lost_behind_won));
      assign lost_precedes[j][i] = ~lost_precedes[i][j];
      assign won_precedes[j][i]  = ~lost_behind_won;
    end
  end

  always_comb begin
    for (int unsigned i = 0; i < N; i++) begin
      // Nobody wins unless a decision is made.
      lost_there[i] = next_run_i & ~is_idle(lost_i[i]);
      won_there[i]  = next_run_i & ~is_idle(won_i[i]);
      first[N][i]   = lost_there[i] & (&lost_precedes[i]);
      for (int unsigned winner = 0; winner < N; winner++) begin
        if (i == winner) first[winner][i] = won_there[i] & (&won_precedes[i]);
        else first[winner][i] = lost_there[i] & (&(lost_precedes[i] | (N'(1) << winner))) & ~won_precedes[winner][i];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (enable_i) first_q <= first;
  end

  // ---- The choice

  always_comb begin
    won = nobody_q ? first_q[N] : '0;
    for (int unsigned winner = 0; winner < N; winner++) won |= named_q[winner] ? first_q[winner] : '0;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      named_q  <= '0;
      nobody_q <= 1'b1;
    end else if (enable_i) begin
      named_q  <= won;
      nobody_q <= ~(|won);
    end
  end

  assign won_o   = won;
  assign named_o = named_q;

endmodule
