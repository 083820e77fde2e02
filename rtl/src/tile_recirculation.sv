// The paper's network for the tiled engine: a tile at a time through a recirculating shuffle-exchange, winners only, and the leader of a pass.
//
// Law: after the last tile of a pass the leader is the first of all its streams, in the order of decision blocks; rounds and lanes break ties.
//
// Source: Krishnamurthy et al., "ShareStreams", sections 4 and 5; the leader takes the place of the tree of tiles. Twin:
// dwcs::device::Network.
// Latency: log2 N + 1 cycles from valid_i to compared_o; a tile may come in every log2 N cycles.

module tile_recirculation
  import dwcs_pkg::*;
#(
  /// Lanes: 4, 8, 16 or 32.
  parameter int unsigned N       = 8,
  /// Tiles.
  parameter int unsigned Rounds  = 2,
  localparam int unsigned RoundWidth = $clog2(Rounds),
  localparam int unsigned LaneWidth  = $clog2(N),
  localparam logic [2:0]  Last       = 3'(LaneWidth - 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// A tile comes in: its round, whether it is the first or the last of its pass, and whether that ends in a decision.
  input  logic                  valid_i,
  input  logic [RoundWidth-1:0] round_i,
  input  logic                  first_i,
  input  logic                  last_i,
  input  logic                  decides_i,
  /// Its streams; numbers do not count.
  input  attributes_t [N-1:0]   attributes_i,
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

  // The tile in the network, and the one that leaves it, which may find the next one entering.
  typedef struct packed {
    round_t round;
    logic   first;
    logic   last;
    logic   decides;
  } exit_t;
  exit_t in_q, x_q;
  logic  busy_q, out_q, starts_now, wins, x_wins;
  logic [2:0] dimension_q;
  assign starts_now = valid_i;

  attributes_t [N-1:0] ports, delivered, unused_ports;
  attributes_t         winner_q;
  logic                unused_valid;
  id_t                 unused_winner;
  logic [N-1:0]        unused_won;
  for (genvar l = 0; l < N; l++) begin : gen_port
    always_comb begin
      ports[l]    = attributes_i[l];
      ports[l].id = id_t'(l);
    end
  end

  shuffle_exchange #(
    .N(N), .Routing(Winner)
  ) u_network (
    .clk_i,
    .load_i(starts_now),
    .ports_i(ports),
    .pass_i(3'd1),
    .dimension_i(dimension_q),
    .enable_i(1'b1),
    .winner_valid_o(unused_valid),
    .winner_o(unused_winner),
    .won_o(unused_won),
    .delivered_o(delivered),
    .ports_o(unused_ports)
  );

  always_ff @(posedge clk_i) begin
    if (starts_now) begin
      in_q <= '{round: round_i, first: first_i, last: last_i, decides: decides_i};
    end
    x_q      <= in_q;
    winner_q <= delivered[0];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      dimension_q <= '0;
      busy_q      <= 1'b0;
      out_q       <= 1'b0;
    end else begin
      dimension_q <= starts_now ? '0 : dimension_q + 3'd1;
      busy_q      <= starts_now | (busy_q & (dimension_q != Last));
      out_q       <= busy_q & (dimension_q == Last);
    end
  end

  // The tile's winner and the leader: whoever has the smaller round has the smaller number.
  attributes_t x, lead, lead_q;
  lane_t       lead_lane_q;
  round_t      lead_round_q;
  always_comb begin
    x       = winner_q;
    lead    = lead_q;
    x.id    = id_t'(x_q.round > lead_round_q);
    lead.id = id_t'(x_q.round <= lead_round_q);
  end

  decision_block u_leader (.first_i(x), .second_i(lead), .first_wins_o(wins));

  always_ff @(posedge clk_i) begin
    if (out_q & x_wins) begin
      lead_q       <= winner_q;
      lead_lane_q  <= lane_t'(winner_q.id);
      lead_round_q <= x_q.round;
    end
  end

  assign x_wins             = x_q.first | wins;
  assign compared_o         = out_q;
  assign compared_round_o   = x_q.round;
  assign compared_lane_o    = lane_t'(winner_q.id);
  assign compared_first_o   = x_q.first;
  assign compared_last_o    = x_q.last;
  assign compared_decides_o = x_q.decides;
  assign leads_o            = x_wins;
  assign lead_valid_o       = lead_q.valid;
  assign lead_round_o       = lead_round_q;
  assign lead_lane_o        = lead_lane_q;

  logic unused;
  assign unused = ^{unused_valid, unused_winner, unused_won, unused_ports, delivered};

endmodule
