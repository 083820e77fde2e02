// The decision among few streams: each is compared with every other one before it is known who wins the decision under way.
//
// A comparison depends on that winner only if he is one of the two. So three comparisons of every pair are at hand, and a decision chooses
// among bits.
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
  /// A decision is made.
  input  logic         run_i,
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
  logic [N-1:0][N-1:0] precedes_other;

  for (genvar i = 0; i < N; i++) begin : gen_row
    logic lost_idle_q, won_idle_q, can_win;

    assign precedes_other[i][i] = 1'b1;
    for (genvar j = i + 1; j < N; j++) begin : gen_column
      key_pair u_key_pair (
        .clk_i,
        .enable_i,
        .first_lost_i(lost_i[i]),
        .first_won_i(won_i[i]),
        .second_lost_i(lost_i[j]),
        .second_won_i(won_i[j]),
        .first_named_i(named_q[i]),
        .second_named_i(named_q[j]),
        .first_wins_o(precedes_other[i][j])
      );
      assign precedes_other[j][i] = ~precedes_other[i][j];
    end

    always_ff @(posedge clk_i) begin
      if (enable_i) begin
        lost_idle_q <= lost_i[i].idle;
        won_idle_q  <= won_i[i].idle;
      end
    end

    assign can_win = run_i & ~(named_q[i] ? won_idle_q : lost_idle_q);
    assign won[i]  = can_win & (&precedes_other[i]);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) named_q <= '0;
    else if (enable_i) named_q <= won;
  end

  assign won_o   = won;
  assign named_o = named_q;

endmodule
