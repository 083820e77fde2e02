// The decision among many streams: the champions of groups are compared with each other.
//
// Law: the winner precedes all others after all decisions so far, if he has a packet.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: dwcs::device::Network, of which it is the first port.
// Latency: one cycle from the keys to the winner.
//
//   clk_i         t                                           t + 1
//   lost_i        after decision t, if it is lost             after decision t + 1
//   in groups     champions of decision t + 1 are chosen      of decision t + 2
//   named_o       the winner of decision t among champions    of decision t + 1

module grouped_choice
  import rank_pkg::*;
#(
  /// Streams, and streams of a group, which divides them.
  parameter int unsigned N = 32,
  parameter int unsigned G = 4,
  /// Wires that name a champion together.
  parameter int unsigned Late = 2
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
  /// The champions of the groups, those who have a packet: early in the cycle. One of them wins this decision, and all wires of his group are set
  /// then: late.
  output logic [N-1:0]           champion_o,
  output logic [N-1:0][Late-1:0] named_o,
  /// The winner, a cycle later.
  output logic [N-1:0]      won_o
);

  localparam int unsigned Groups = N / G;

  localparam int unsigned Part   = (Groups + Late - 1) / Late;

  // What arrives last stays a wire of its own in synthesis: whether a champion precedes each part of the others.
  (* keep *) logic [Groups-1:0][Late-1:0] named;
  (* keep *) logic [N-1:0]       champions;
  logic [N-1:0]                  won_q;
  logic [Groups-1:0][G-1:0]      first;
  key_t [Groups-1:0]             champion;
  logic [Groups-1:0][Groups-1:0] precedes_other;

  for (genvar g = 0; g < Groups; g++) begin : gen_group
    champion_group #(
      .G(G), .Late(Late)
    ) u_champion_group (
      .clk_i,
      .enable_i,
      .champion_i(run_i & ~is_idle(champion[g])),
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

    for (genvar l = 0; l < Late; l++) begin : gen_part
      assign named[g][l] = &precedes_other[g][l*Part+:Part];
    end
    for (genvar i = 0; i < G; i++) begin : gen_stream
      assign champions[g*G+i] = run_i & ~is_idle(champion[g]) & first[g][i];
      assign named_o[g*G+i]   = named[g];
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) won_q[g*G+i] <= 1'b0;
        else if (enable_i) won_q[g*G+i] <= champions[g*G+i] & (&named[g]);
      end
    end
  end

  assign champion_o = champions;
  assign won_o      = won_q;

endmodule
