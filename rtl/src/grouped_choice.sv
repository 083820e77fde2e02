// The decision among many streams: the champions of groups are compared with each other.
//
// Law: the winner precedes all others after all decisions so far, if he has a packet.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: dwcs::device::Network, of which it is the first port.
// Latency: one cycle from the keys to the winner.
//
//   clk_i         t                                           t + 1
//   lost_i        after decision t, if it is lost             after decision t + 1
//   in groups     champions of decision t + 1 are chosen      of decision t + 2, while keys are fetched of those of t + 1
//   won_o         the winner of decision t among champions    of decision t + 1

module grouped_choice
  import rank_pkg::*;
#(
  /// Streams, and streams of a group, which divides them.
  parameter int unsigned N = 32,
  parameter int unsigned G = 4
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

  localparam int unsigned Groups = N / G;

  // What arrives last stays a wire of its own in synthesis.
  (* keep *) logic [N-1:0]       won;
  (* keep *) logic [Groups-1:0]  named;
  logic [N-1:0]                  named_q;
  logic [Groups-1:0][G-1:0]      first;
  key_t [Groups-1:0]             champion;
  logic [Groups-1:0][Groups-1:0] precedes_other;

  for (genvar g = 0; g < Groups; g++) begin : gen_group
    champion_group #(
      .G(G)
    ) u_champion_group (
      .clk_i,
      .enable_i,
      .named_i(named[g]),
      .lost_i(lost_i[g*G+:G]),
      .won_i(won_i[g*G+:G]),
      .key_o(champion[g]),
      .first_o(first[g])
    );

    assign precedes_other[g][g] = 1'b1;
    for (genvar h = g + 1; h < Groups; h++) begin : gen_column
      key_block u_key_block (.first_i(champion[g]), .second_i(champion[h]), .first_wins_o(precedes_other[g][h]));
      assign precedes_other[h][g] = ~precedes_other[g][h];
    end

    // All but the comparisons is known early.
    assign named[g] = run_i & ~is_idle(champion[g]) & (&precedes_other[g]);
    for (genvar i = 0; i < G; i++) begin : gen_stream
      assign won[g*G+i] = run_i & ~is_idle(champion[g]) & first[g][i] & (&precedes_other[g]);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) named_q <= '0;
    else if (enable_i) named_q <= won;
  end

  assign won_o   = won;
  assign named_o = named_q;

endmodule
