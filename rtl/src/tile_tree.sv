// The pipelined network of the tiled engine: a tournament that takes a tile in every cycle, and the leader of a pass.
//
// Law: after the last tile of a pass the leader is the first of all its streams, in the order of keys, then of rounds, then of lanes.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, winner-only routing; the leader takes the place of the tree of tiles. Twin:
// dwcs::device::Network.
// Latency: Steps * Matches + 2 cycles from valid_i to compared_o.

module tile_tree
  import tiled_pkg::*;
#(
  /// Lanes, a power of two, at least 4.
  parameter int unsigned N       = 32,
  /// Tiles.
  parameter int unsigned Rounds  = 32,
  /// Ports of a match, 2 or 4.
  parameter int unsigned Ways    = 4,
  /// Cycles of a match, 2 or 3.
  parameter int unsigned Steps   = 2,
  localparam int unsigned RoundWidth = $clog2(Rounds),
  localparam int unsigned LaneWidth  = $clog2(N),
  localparam int unsigned Depths     = Steps * ((LaneWidth + $clog2(Ways) - 1) / $clog2(Ways))
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// A tile comes in: its round, whether it is the first or the last of its pass, and whether that ends in a decision.
  input  logic                  valid_i,
  input  logic [RoundWidth-1:0] round_i,
  input  logic                  first_i,
  input  logic                  last_i,
  input  logic                  decides_i,
  /// What its streams compete with.
  input  key_t [N-1:0]          keys_i,
  /// A tile has been compared: its winner, and that it leads from the next cycle on.
  output logic                  compared_o,
  output logic [RoundWidth-1:0] compared_round_o,
  output logic [LaneWidth-1:0]  compared_lane_o,
  output logic                  compared_first_o,
  output logic                  compared_last_o,
  output logic                  compared_decides_o,
  output logic                  leads_o,
  /// The leader, before that.
  output logic                  lead_valid_o,
  output logic [RoundWidth-1:0] lead_round_o,
  output logic [LaneWidth-1:0]  lead_lane_o
);

  typedef logic [RoundWidth-1:0] round_t;
  typedef logic [LaneWidth-1:0]  lane_t;

  typedef struct packed {
    logic   valid;
    round_t round;
    logic   first;
    logic   last;
    logic   decides;
  } exit_t;

  exit_t [Depths:0] exits;
  assign exits[0] = '{valid: valid_i, round: round_i, first: first_i, last: last_i, decides: decides_i};
  for (genvar d = 1; d <= Depths; d++) begin : gen_delay
    exit_t exit_q;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) exit_q <= '0;
      else exit_q <= exits[d-1];
    end
    assign exits[d] = exit_q;
  end

  key_t  key;
  lane_t lane;

  tile_tournament #(
    .N(N), .Ways(Ways), .Steps(Steps)
  ) u_tournament (
    .clk_i, .keys_i, .key_o(key), .lane_o(lane)
  );

  // A tile's winner is compared, y, and a cycle later it is known whether it leads, x. When the comparison begins, the two tiles before it
  // may still come to lead: it is compared with both of them and with the leader before them, and one of the three counts.
  exit_t  y_q, x_q;
  key_t   y_key_q, x_key_q, lead_key_q;
  lane_t  y_lane_q, x_lane_q, lead_lane_q;
  round_t lead_round_q;
  parts_t to_y_q, to_x_q, to_lead_q;
  logic   below_y_q, below_x_q, below_lead_q, x_wins_q, took, took_q;

  assign took = x_q.valid & x_wins_q;

  always_ff @(posedge clk_i) begin
    y_key_q      <= key;
    y_lane_q     <= lane;
    to_y_q       <= compare(key, y_key_q);
    to_x_q       <= compare(key, x_key_q);
    to_lead_q    <= compare(key, lead_key_q);
    below_y_q    <= exits[Depths].round < y_q.round;
    below_x_q    <= exits[Depths].round < x_q.round;
    below_lead_q <= exits[Depths].round < lead_round_q;
    x_key_q      <= y_key_q;
    x_lane_q     <= y_lane_q;
    x_wins_q     <= y_q.first | (took ? served_before(to_y_q, below_y_q)
                                      : took_q ? served_before(to_x_q, below_x_q) : served_before(to_lead_q, below_lead_q));
    if (took) begin
      lead_key_q   <= x_key_q;
      lead_lane_q  <= x_lane_q;
      lead_round_q <= x_q.round;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      y_q    <= '0;
      x_q    <= '0;
      took_q <= 1'b0;
    end else begin
      y_q    <= exits[Depths];
      x_q    <= y_q;
      took_q <= took;
    end
  end

  assign compared_o         = x_q.valid;
  assign compared_round_o   = x_q.round;
  assign compared_lane_o    = x_lane_q;
  assign compared_first_o   = x_q.first;
  assign compared_last_o    = x_q.last;
  assign compared_decides_o = x_q.decides;
  assign leads_o            = x_wins_q;
  assign lead_valid_o       = ~lead_key_q.missing;
  assign lead_round_o       = lead_round_q;
  assign lead_lane_o        = lead_lane_q;

endmodule
