// The tournament of one tile: a pipelined tree of matches that takes a tile in every cycle.
//
// Law: its winner is the first of the streams in the order of keys, of equal ones that in the lower lane.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, winner-only routing, unrolled. Twin: dwcs::device::Network.
// Latency: two cycles per match, 2 * ceil(log4 N).

module tile_tournament
  import tiled_pkg::*;
#(
  /// Lanes, a power of two, at least 4.
  parameter int unsigned N = 32,
  localparam int unsigned K = $clog2(N)
) (
  input  logic         clk_i,
  input  key_t [N-1:0] keys_i,
  output key_t         key_o,
  output logic [K-1:0] lane_o
);

  // Four ways at a time from the root down; if a factor of two is left it is the first match.
  localparam int unsigned Levels = (K + 1) / 2;

  for (genvar level = 0; level < Levels; level++) begin : gen_level
    localparam int unsigned Ways  = (level == 0 && K % 2 == 1) ? 2 : 4;
    localparam int unsigned Matches = 1 << (2 * (Levels - 1 - level));
    localparam int unsigned InWidth = K - $clog2(Ways) - 2 * (Levels - 1 - level);
    localparam int unsigned Width = InWidth == 0 ? 1 : InWidth;

    key_t [Matches-1:0]                                keys;
    logic [Matches-1:0][InWidth+$clog2(Ways)-1:0]      lanes;

    for (genvar m = 0; m < Matches; m++) begin : gen_match
      key_t [Ways-1:0]             ports;
      logic [Ways-1:0][Width-1:0]  below;
      logic [Width+$clog2(Ways)-1:0] lane;

      for (genvar w = 0; w < Ways; w++) begin : gen_port
        if (level == 0) begin : gen_first
          assign ports[w] = keys_i[m*Ways+w];
          assign below[w] = '0;
        end else begin : gen_next
          assign ports[w] = gen_level[level-1].keys[m*Ways+w];
          assign below[w] = gen_level[level-1].lanes[m*Ways+w];
        end
      end

      tile_match #(
        .Ways(Ways), .LaneWidth(Width)
      ) u_match (
        .clk_i, .keys_i(ports), .lanes_i(below), .key_o(keys[m]), .lane_o(lane)
      );

      if (level == 0) begin : gen_lane
        assign lanes[m] = lane[Width+:$clog2(Ways)];
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
