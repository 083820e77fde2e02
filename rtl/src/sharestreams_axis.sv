// ShareStreams between AXI4-Streams: the scheduler with its streaming unit, as a host or a DMA engine sees it.
//
//   s_axis_load     64 bits   a load_t: what a stream asks for; taken while enable_i is low
//   s_axis_arrival  32 bits   [15:0] arrival time, [20:16] stream: one packet has come
//   m_axis_pull     32 bits   [15:0] so many arrival times are wanted, [20:16] of this stream
//   m_axis_winner   64 bits   a decision_t: who is served, when, and whose heads were dropped before
//   s_axis_query     8 bits   [4:0] a stream
//   m_axis_status  128 bits   its counters, window, deadline and backlog at that moment
//
// Law: of every stream, arrivals taken = served + dropped + queued. A word that is offered stays until it is taken.
//
// Source: Krishnamurthy et al., "ShareStreams", section 3, Figure 3. Twin: dwcs::device::Device behind tidegate-endsystem.
// Latency: two cycles from an arrival to a register block that decides next, one from a decision to m_axis_winner.

module sharestreams_axis
  import dwcs_pkg::*;
#(
  /// Streams: 4, 8, 16 or 32.
  parameter int unsigned N         = 4,
  /// What is wired.
  parameter routing_e    Routing   = Lattice,
  /// Register blocks compute ahead.
  parameter bit          Ahead     = 1'b0,
  /// Arrival times that a stream can have waiting, a power of two.
  parameter int unsigned Depth     = 16,
  /// Decisions that can wait for the host, a power of two.
  parameter int unsigned Decisions = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// Decides.
  input  logic         enable_i,
  /// The clock is time_i; otherwise it counts winners.
  input  logic         outside_i,
  /// The time in ticks.
  input  tick_t        time_i,

  /// AXI4-Stream: contracts.
  input  logic         s_axis_load_tvalid_i,
  output logic         s_axis_load_tready_o,
  input  logic [63:0]  s_axis_load_tdata_i,

  /// AXI4-Stream: arrivals.
  input  logic         s_axis_arrival_tvalid_i,
  output logic         s_axis_arrival_tready_o,
  input  logic [31:0]  s_axis_arrival_tdata_i,

  /// AXI4-Stream: requests for arrivals.
  output logic         m_axis_pull_tvalid_o,
  input  logic         m_axis_pull_tready_i,
  output logic [31:0]  m_axis_pull_tdata_o,

  /// AXI4-Stream: decisions.
  output logic         m_axis_winner_tvalid_o,
  input  logic         m_axis_winner_tready_i,
  output logic [63:0]  m_axis_winner_tdata_o,

  /// AXI4-Stream: questions.
  input  logic         s_axis_query_tvalid_i,
  output logic         s_axis_query_tready_o,
  input  logic [7:0]   s_axis_query_tdata_i,

  /// AXI4-Stream: answers.
  output logic         m_axis_status_tvalid_o,
  input  logic         m_axis_status_tready_i,
  output logic [127:0] m_axis_status_tdata_o
);

  localparam int unsigned LevelWidth = $clog2(Depth) + 1;

  load_t                 load;
  id_t                   pull_id;
  logic [LevelWidth-1:0] pull_words;
  logic  [N-1:0]         next_valid, pop;
  tick_t [N-1:0]         next_arrival;
  logic                  decision_valid, decision_ready;
  decision_t             decision, winner;
  status_t [N-1:0]       status;

  assign load                  = load_t'(s_axis_load_tdata_i[$bits(load_t)-1:0]);
  assign m_axis_pull_tdata_o   = {11'd0, pull_id, 16'(pull_words)};
  assign m_axis_winner_tdata_o = winner;

  streaming_unit #(
    .N(N), .Depth(Depth), .Decisions(Decisions)
  ) u_streaming_unit (
    .clk_i,
    .rst_ni,
    .clear_i(s_axis_load_tvalid_i & s_axis_load_tready_o),
    .clear_id_i(load.id),
    .s_arrival_valid_i(s_axis_arrival_tvalid_i),
    .s_arrival_ready_o(s_axis_arrival_tready_o),
    .s_arrival_id_i(s_axis_arrival_tdata_i[20:16]),
    .s_arrival_i(s_axis_arrival_tdata_i[15:0]),
    .m_pull_valid_o(m_axis_pull_tvalid_o),
    .m_pull_ready_i(m_axis_pull_tready_i),
    .m_pull_id_o(pull_id),
    .m_pull_words_o(pull_words),
    .m_winner_valid_o(m_axis_winner_tvalid_o),
    .m_winner_ready_i(m_axis_winner_tready_i),
    .m_winner_o(winner),
    .next_valid_o(next_valid),
    .next_arrival_o(next_arrival),
    .pop_i(pop),
    .decision_valid_i(decision_valid),
    .decision_ready_o(decision_ready),
    .decision_i(decision)
  );

  logic                update, served;
  id_t                 served_id;
  tick_t               finish, now;
  attributes_t [N-1:0] home;

  sharestreams #(
    .N(N), .Routing(Routing), .Ahead(Ahead)
  ) u_sharestreams (
    .clk_i,
    .rst_ni,
    .enable_i,
    .outside_i,
    .time_i,
    .load_valid_i(s_axis_load_tvalid_i),
    .load_ready_o(s_axis_load_tready_o),
    .load_i(load),
    .next_valid_i(next_valid),
    .next_arrival_i(next_arrival),
    .pop_o(pop),
    .decision_valid_o(decision_valid),
    .decision_ready_i(decision_ready),
    .decision_o(decision),
    .update_o(update),
    .served_o(served),
    .winner_o(served_id),
    .finish_o(finish),
    .now_o(now),
    .home_o(home),
    .status_o(status)
  );

  // A question is answered from one moment: all fields of the answer belong together.
  status_t      asked;
  logic         status_valid_q;
  logic [127:0] status_q;

  assign asked                  = status[s_axis_query_tdata_i[$clog2(N)-1:0]];
  assign s_axis_query_tready_o  = ~status_valid_q | m_axis_status_tready_i;
  assign m_axis_status_tvalid_o = status_valid_q;
  assign m_axis_status_tdata_o  = status_q;

  always_ff @(posedge clk_i) begin
    if (s_axis_query_tvalid_i && s_axis_query_tready_o) begin
      status_q <= {14'd0, asked.state.valid, asked.state.deadline, asked.state.window, asked.counters};
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) status_valid_q <= 1'b0;
    else if (s_axis_query_tready_o) status_valid_q <= s_axis_query_tvalid_i;
  end

  // For a test bench inside; a host reads the streams.
  logic unused;
  assign unused = ^{update, served, served_id, finish, now, home, asked.state.arrival, s_axis_load_tdata_i[63],
                    s_axis_arrival_tdata_i[31:21], s_axis_query_tdata_i};

endmodule
