// The tournament of one tile: a pipelined tree of matches that takes a tile in every cycle.
//
// Law: its winner is the first of the streams in the order of keys, of equal ones that in the lower lane.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, winner-only routing, unrolled. Twin: dwcs::device::Network.
// Latency: Steps cycles per match, of which there are log2 N with two ports, ceil(log4 N) with four.

module tile_tournament
  import tiled_pkg::*;
#(
  /// Lanes, a power of two, at least 4.
  parameter int unsigned N    = 32,
  /// Ports of a match: 2 or 4.
  parameter int unsigned Ways = 4,
  /// Cycles of a match: 2 or 3.
  parameter int unsigned Steps = 2,
  localparam int unsigned K = $clog2(N)
) (
  input  logic         clk_i,
  /// The streams of a tile.
  input  key_t [N-1:0] keys_i,
  /// The winner.
  output key_t         key_o,
  output logic [K-1:0] lane_o
);

  // From the root down; what is left over is the first match, of two ports then.
  localparam int unsigned Step   = $clog2(Ways);
  localparam int unsigned Levels = (K + Step - 1) / Step;

  for (genvar level = 0; level < Levels; level++) begin : gen_level
    localparam int unsigned Above   = Step * (Levels - 1 - level);
    localparam int unsigned Matches = 1 << Above;
    localparam int unsigned Here    = level == 0 ? K - Above : Step;
    localparam int unsigned Ports   = 1 << Here;
    localparam int unsigned InWidth = K - Here - Above;
    localparam int unsigned Width = InWidth == 0 ? 1 : InWidth;

    key_t [Matches-1:0]                                keys;
    logic [Matches-1:0][InWidth+Here-1:0]      lanes;

    for (genvar m = 0; m < Matches; m++) begin : gen_match
      key_t [Ports-1:0]             ports;
      logic [Ports-1:0][Width-1:0]  below;
      logic [Width+Here-1:0] lane;

      for (genvar w = 0; w < Ports; w++) begin : gen_port
        if (level == 0) begin : gen_first
          assign ports[w] = keys_i[m*Ports+w];
          assign below[w] = '0;
        end else begin : gen_next
          assign ports[w] = gen_level[level-1].keys[m*Ports+w];
          assign below[w] = gen_level[level-1].lanes[m*Ports+w];
        end
      end

      tile_match #(
        .Ways(Ports), .Steps(Steps), .LaneWidth(Width)
      ) u_match (
        .clk_i, .keys_i(ports), .lanes_i(below), .key_o(keys[m]), .lane_o(lane)
      );

      if (level == 0) begin : gen_lane
        assign lanes[m] = lane[Width+:Here];
        logic unused;
        assign unused = lane[0];
      end else begin : gen_lanes
        assign lanes[m] = lane;
      end
    end
  end

  assign key_o  = gen_level[Levels-1].keys[0];
  assign lane_o = gen_level[Levels-1].lanes[0];

endmodule
