// The decision among many streams: the champions of groups are compared with each other.
//
// Half of a device's width is a long way. So each of a few places keeps the keys of all champions, and compares those of its own groups with all others:
// what a decision says is needed where it is found, and only the keys of the next champions travel.
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
  parameter int unsigned Late = 2,
  /// Places that keep all keys, a divisor of the number of groups.
  parameter int unsigned Places = 1
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// A cycle goes by. The same for every place, but from registers of their own: synthesis would take all places for one.
  input  logic [Places-1:0] enable_i,
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
  key_t [Groups-1:0]             next_champion;
  key_t [Places-1:0][Groups-1:0] champion_q;
  // Of the groups of a place against all others.
  logic [Groups-1:0][Groups-1:0] precedes_other;

  for (genvar p = 0; p < Places; p++) begin : gen_place
    always_ff @(posedge clk_i) begin
      if (enable_i[p]) champion_q[p] <= next_champion;
    end
  end

  for (genvar g = 0; g < Groups; g++) begin : gen_group
    localparam int unsigned Place = g * Places / Groups;
    logic there;
    assign there = run_i & ~is_idle(champion_q[Place][g]);

    champion_group #(
      .G(G), .Late(Late)
    ) u_champion_group (
      .clk_i,
      .enable_i(enable_i[Place]),
      .champion_i(there),
      .named_i(named[g]),
      .lost_i(lost_i[g*G+:G]),
      .won_i(won_i[g*G+:G]),
      .first_o(first[g]),
      .next_key_o(next_champion[g])
    );

    assign precedes_other[g][g] = 1'b1;
    for (genvar h = 0; h < Groups; h++) begin : gen_column
      if (h > g) begin : gen_first
        key_block u_key_block (
          .first_i(champion_q[Place][g]), .second_i(champion_q[Place][h]), .first_wins_o(precedes_other[g][h])
        );
      end else if (h < g && h * Places / Groups == Place) begin : gen_known
        assign precedes_other[g][h] = ~precedes_other[h][g];
      end else if (h < g) begin : gen_second
        logic other_first;
        key_block u_key_block (.first_i(champion_q[Place][h]), .second_i(champion_q[Place][g]), .first_wins_o(other_first));
        assign precedes_other[g][h] = ~other_first;
      end
    end

    for (genvar l = 0; l < Late; l++) begin : gen_part
      assign named[g][l] = &precedes_other[g][l*Part+:Part];
    end
    for (genvar i = 0; i < G; i++) begin : gen_stream
      assign champions[g*G+i] = there & first[g][i];
      assign named_o[g*G+i]   = named[g];
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) won_q[g*G+i] <= 1'b0;
        else if (enable_i[Place]) won_q[g*G+i] <= champions[g*G+i] & (&named[g]);
      end
    end
  end

  assign champion_o = champions;
  assign won_o      = won_q;

endmodule
