// Proves that the tournament over tiles delivers a stream that precedes all others. From the cycle after a tile has been compared until the next pass
// begins, no stream of that tile precedes the leader, by key, then by round, then by lane. Outputs that come with a tile are about that tile.
//
// Sizes: N = 4 with matches of two in three steps and of four in two, N = 8 with matches of four and two; four rounds; few bits of each key,
// or (deep) all.
// Assumed: all arrivals lie within 2^15 ticks, the limit of 16-bit time.
// How: bounded, from a reset, for any one stream of a tile, marked as the tile comes in; tiles come at any time, each once a pass, in any order.

module tile_order
  import dwcs_pkg::*;
  import tiled_pkg::*;
#(
  parameter int unsigned N      = 4,
  parameter int unsigned Rounds = 4,
  parameter int unsigned Ways   = 4,
  parameter int unsigned Steps  = 2,
  /// Bits of a time, a fraction and x' that count; the others are 0.
  parameter int unsigned Bits   = 2,
  localparam int unsigned RoundWidth = $clog2(Rounds),
  localparam int unsigned LaneWidth  = $clog2(N),
  localparam int unsigned Latency    = Steps * ((LaneWidth + $clog2(Ways) - 1) / $clog2(Ways)) + 2
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  valid_i,
  input logic [RoundWidth-1:0] round_i,
  input logic                  first_i,
  input logic                  last_i,
  input logic                  decides_i,
  input key_t [N-1:0]          keys_i,
  /// The earliest arrival.
  input tick_t                 since_i,
  /// Marks a stream of the tile that comes in.
  input logic                  mark_i,
  input logic [LaneWidth-1:0]  lane_i
);

  logic                  compared, compared_first, compared_last, compared_decides, leads, lead_valid;
  logic [RoundWidth-1:0] compared_round, lead_round;
  logic [LaneWidth-1:0]  compared_lane, lead_lane;

  tile_tree #(
    .N(N), .Rounds(Rounds), .Ways(Ways), .Steps(Steps)
  ) u_tree (
    .clk_i,
    .rst_ni,
    .valid_i,
    .round_i,
    .first_i,
    .last_i,
    .decides_i,
    .keys_i,
    .compared_o(compared),
    .compared_round_o(compared_round),
    .compared_lane_o(compared_lane),
    .compared_first_o(compared_first),
    .compared_last_o(compared_last),
    .compared_decides_o(compared_decides),
    .leads_o(leads),
    .lead_valid_o(lead_valid),
    .lead_round_o(lead_round),
    .lead_lane_o(lead_lane)
  );

  // The marked stream: on its way, and compared in the pass that goes on.
  logic                  started_q = 1'b0;
  tick_t                 since_q;
  logic                  marked_q, first_q, last_q, decides_q, counts_q;
  logic [Latency-1:0]    way_q;
  // Rounds of the pass that comes in.
  logic [Rounds-1:0]     rounds_q;
  key_t                  key_q;
  logic [RoundWidth-1:0] round_q;
  logic [LaneWidth-1:0]  lane_q;

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    since_q   <= since_i;
    if (!started_q) begin
      rounds_q <= '0;
      marked_q <= 1'b0;
      way_q    <= '0;
      counts_q <= 1'b0;
    end else begin
      if (valid_i) rounds_q <= (first_i ? '0 : rounds_q) | (Rounds'(1) << round_i);
      way_q <= {way_q[Latency-2:0], mark_i & valid_i & ~marked_q};
      if (mark_i & valid_i & ~marked_q) begin
        marked_q  <= 1'b1;
        key_q     <= keys_i[lane_i];
        round_q   <= round_i;
        lane_q    <= lane_i;
        first_q   <= first_i;
        last_q    <= last_i;
        decides_q <= decides_i;
      end
      counts_q <= way_q[Latency-1] | (counts_q & ~(compared & compared_first));
    end
  end

  // Of the leader against it.
  logic is_it, is_first, near, few;
  assign is_it    = {lead_round, lead_lane} == {round_q, lane_q};
  assign is_first = served_before(compare(u_tree.lead_key_q, key_q), {lead_round, lead_lane} < {round_q, lane_q});

  // Of arrivals the top bits count, with which time wraps.
  function automatic logic has_few(key_t stream);
    return (stream.ahead >> Bits == '0) & (stream.fraction >> Bits == '0) & (stream.tie >> Bits == '0) & (stream.arrival << (Bits + 1) == '0);
  endfunction

  always_comb begin
    near  = 1'b1;
    few   = 1'b1;
    for (int unsigned i = 0; i < N; i++) few &= has_few(keys_i[i]);
    for (int unsigned i = 0; i < N; i++) near &= 16'(keys_i[i].arrival - since_i) < 16'h8000;
  end

  always_comb begin
    // Every run begins with a reset.
    reset_first: assume (rst_ni == started_q);
    once_a_pass: assume (~started_q | ~valid_i | first_i | ((rounds_q != '0) & ~rounds_q[round_i]));
    few_bits: assume (few);
    arrivals_near: assume (near & (~started_q | (since_i == since_q)));
    if (started_q) begin
      if (way_q[Latency-1]) begin
        in_time: assert (compared & (compared_round == round_q) & (compared_first == first_q) & (compared_last == last_q)
                         & (compared_decides == decides_q));
      end
      if (counts_q) begin
        leader_first: assert (is_it | is_first);
        leader_has_packet: assert (lead_valid | key_q.missing);
      end
      loses: cover (counts_q & ~is_it & lead_valid & (lead_round != round_q) & ~compared);
      follows: cover (compared & leads & ~compared_first & ~compared_last & (compared_lane == '1));
    end
  end

endmodule
