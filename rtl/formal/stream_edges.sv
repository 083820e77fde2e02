// Proves the AXI4-Stream edges: words that are offered (requests for arrivals, decisions, answers) stay unchanged until they are taken. For
// every stream, arrivals since its LOAD = served + dropped + queued, the head in its register block included: no packet is lost or
// duplicated between a host's word and a decision.
//
// Sizes: N = 4, queues of 4 words (fifo_order proves other depths), base architecture and compute-ahead with winner-only routing. Counters
// of 8 bits, modulo 2^8. Decision blocks compare ranks (abstractions/by_rank).
// How: induction over cycles, for any one stream watched.

module stream_edges
  import dwcs_pkg::*;
#(
  parameter int unsigned N       = 4,
  parameter routing_e    Routing = Lattice,
  parameter bit          Ahead   = 1'b0,
  /// Words in every queue.
  parameter int unsigned Depth   = 4
) (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         enable_i,
  input logic         outside_i,
  input tick_t        time_i,
  input logic         load_valid_i,
  input logic [63:0]  load_i,
  input logic         arrival_valid_i,
  input logic [31:0]  arrival_i,
  input logic         pull_ready_i,
  input logic         winner_ready_i,
  input logic         query_valid_i,
  input logic [7:0]   query_i,
  input logic         status_ready_i,
  /// The stream that is watched: the one of the first cycle.
  input logic [$clog2(N)-1:0] watched_i
);

  // For decision blocks that compare ranks.
  ranks u_ranks (.clk_i);

  logic         load_ready, arrival_ready, pull_valid, winner_valid, query_ready, status_valid;
  logic [31:0]  pull;
  logic [63:0]  winner;
  logic [127:0] status;

  sharestreams_axis #(
    .N(N), .Routing(Routing), .Ahead(Ahead), .Depth(Depth), .Decisions(Depth)
  ) u_axis (
    .clk_i,
    .rst_ni,
    .enable_i,
    .outside_i,
    .time_i,
    .s_axis_load_tvalid_i(load_valid_i),
    .s_axis_load_tready_o(load_ready),
    .s_axis_load_tdata_i(load_i),
    .s_axis_arrival_tvalid_i(arrival_valid_i),
    .s_axis_arrival_tready_o(arrival_ready),
    .s_axis_arrival_tdata_i(arrival_i),
    .m_axis_pull_tvalid_o(pull_valid),
    .m_axis_pull_tready_i(pull_ready_i),
    .m_axis_pull_tdata_o(pull),
    .m_axis_winner_tvalid_o(winner_valid),
    .m_axis_winner_tready_i(winner_ready_i),
    .m_axis_winner_tdata_o(winner),
    .s_axis_query_tvalid_i(query_valid_i),
    .s_axis_query_tready_o(query_ready),
    .s_axis_query_tdata_i(query_i),
    .m_axis_status_tvalid_o(status_valid),
    .m_axis_status_tready_i(status_ready_i),
    .m_axis_status_tdata_o(status)
  );

  // Words that the cycle before offered and that were not taken.
  logic         started_q = 1'b0;
  logic         pull_q = 1'b0, winner_q = 1'b0, status_q = 1'b0;
  logic [31:0]  pull_word_q;
  logic [63:0]  winner_word_q;
  logic [127:0] status_word_q;
  always_ff @(posedge clk_i) begin
    started_q     <= 1'b1;
    pull_q        <= rst_ni & pull_valid & ~pull_ready_i;
    winner_q      <= rst_ni & winner_valid & ~winner_ready_i;
    status_q      <= rst_ni & status_valid & ~status_ready_i;
    pull_word_q   <= pull;
    winner_word_q <= winner;
    status_word_q <= status;
  end

  // The watched stream.
  logic [$clog2(N)-1:0] watched_q, watched;
  assign watched = started_q ? watched_q : watched_i;
  always_ff @(posedge clk_i) watched_q <= watched;

  logic taken, loaded, served, dropped, head;
  logic [$clog2(Depth):0] level;
  assign taken   = arrival_valid_i & arrival_ready & (arrival_i[20:16] == id_t'(watched));
  assign loaded  = load_valid_i & load_ready & (load_i[$bits(load_t)-1-:5] == id_t'(watched));
  // The bit of the winner; network_order proves that it belongs to the number in the record.
  assign served  = u_axis.update & u_axis.u_sharestreams.won[watched];
  assign dropped = u_axis.u_sharestreams.drop[watched];
  assign head    = u_axis.status[watched].state.valid;
  assign level   = u_axis.u_streaming_unit.level[watched];

  logic [7:0] taken_q, served_q, dropped_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !started_q || loaded) begin
      taken_q   <= '0;
      served_q  <= '0;
      dropped_q <= '0;
    end else begin
      taken_q   <= taken_q + 8'(taken);
      served_q  <= served_q + 8'(served);
      dropped_q <= dropped_q + 8'(dropped);
    end
  end

  always_comb begin
    // Every run begins with a reset.
    reset_first: assume (started_q | ~rst_ni);
    // The network names a winner that has a packet (network_order).
    winner_has_packet: assume (~served | head);

    if (started_q & rst_ni) begin
      if (pull_q) pull_stays: assert (pull_valid & (pull == pull_word_q));
      if (winner_q) decision_stays: assert (winner_valid & (winner == winner_word_q));
      if (status_q) answer_stays: assert (status_valid & (status == status_word_q));
      conserved: assert (taken_q == served_q + dropped_q + 8'(level) + 8'(head));
      one_pass: assert ((Routing == Exact) | (u_axis.u_sharestreams.pass == 3'd1));
      begins_with_first: assert (~Ahead | ~load_ready | ((u_axis.u_sharestreams.pass == 3'd1) & (u_axis.u_sharestreams.dimension == '0)));
      within_depth: assert (32'(level) <= Depth);
      served_twice: cover (served_q == 8'd2);
      full: cover (arrival_valid_i & ~arrival_ready);
    end
  end

endmodule
