// The tiled engine between AXI4-Streams, as a host or a DMA engine sees it.
//
//   s_axis_load     80 bits   [41:0] a contract_t, [57:42] the first deadline, [73:58] the stream; taken while enable_i is low
//   s_axis_arrival  32 bits   [15:0] arrival time, [31:16] the stream: one packet has come
//   m_axis_record  RecordBytes  the top bit of the lowest RecordWidth bits tells: 1, [N-1:0] lanes and above them the round whose heads were
//                             dropped; 0, a decision: the stream, and above it 16 bits of the clock
//   s_axis_query    16 bits   a stream; taken while enable_i is low
//   m_axis_status  128 bits   its counters, window, deadline and whether it has a packet
//
// Law: of every stream, arrivals taken = served + dropped + queued. A word that is offered stays until it is taken.
//
// Source: Krishnamurthy et al., "ShareStreams", section 3, Figure 3. Twin: none beyond that of `tiled`.
// Latency: that of `tiled`.

module tiled_axis
  import dwcs_pkg::*;
  import tiled_pkg::*;
#(
  /// Lanes.
  parameter int unsigned N          = 32,
  /// Tiles.
  parameter int unsigned Rounds     = 32,
  /// A tournament; otherwise the paper's network.
  parameter bit          Pipelined  = 1'b1,
  /// Arrival times that a stream can have waiting, a power of two.
  parameter int unsigned Depth      = 16,
  /// The words of the lanes lie in block RAM.
  parameter bit          Block      = Rounds > 32,
  /// The tables of reciprocals lie in block RAM.
  parameter bit          BlockTable = 1'b1,
  localparam int unsigned IdWidth     = $clog2(Rounds) + $clog2(N),
  localparam int unsigned DropWidth   = $clog2(Rounds) + N,
  localparam int unsigned RecordWidth = 1 + (DropWidth > IdWidth + 16 ? DropWidth : IdWidth + 16),
  localparam int unsigned RecordBytes = (RecordWidth + 7) / 8
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  /// Decides.
  input  logic                     enable_i,
  /// The clock is time_i; otherwise it counts winners.
  input  logic                     outside_i,
  /// The time in ticks.
  input  tick_t                    time_i,

  /// AXI4-Stream: contracts.
  input  logic                     s_axis_load_tvalid_i,
  output logic                     s_axis_load_tready_o,
  input  logic [79:0]              s_axis_load_tdata_i,

  /// AXI4-Stream: arrivals.
  input  logic                     s_axis_arrival_tvalid_i,
  output logic                     s_axis_arrival_tready_o,
  input  logic [31:0]              s_axis_arrival_tdata_i,

  /// AXI4-Stream: drops and decisions.
  output logic                     m_axis_record_tvalid_o,
  input  logic                     m_axis_record_tready_i,
  output logic [8*RecordBytes-1:0] m_axis_record_tdata_o,

  /// AXI4-Stream: questions.
  input  logic                     s_axis_query_tvalid_i,
  output logic                     s_axis_query_tready_o,
  input  logic [15:0]              s_axis_query_tdata_i,

  /// AXI4-Stream: answers.
  output logic                     m_axis_status_tvalid_o,
  input  logic                     m_axis_status_tready_i,
  output logic [127:0]             m_axis_status_tdata_o
);

  logic                       query_ready, status_valid, waits_q;
  status_t                    status;
  logic [RecordWidth-1:0]     record;
  tick_t                      now, finish;
  logic                       update, served;
  logic [$clog2(Rounds)-1:0]  update_round;
  logic [IdWidth-1:0]         winner;
  step_t [N-1:0]              observed;

  tiled #(
    .N(N), .Rounds(Rounds), .Pipelined(Pipelined), .Depth(Depth), .Block(Block), .BlockTable(BlockTable)
  ) u_tiled (
    .clk_i,
    .rst_ni,
    .enable_i,
    .outside_i,
    .time_i,
    .load_valid_i(s_axis_load_tvalid_i),
    .load_ready_o(s_axis_load_tready_o),
    .load_id_i(s_axis_load_tdata_i[58+:IdWidth]),
    .load_deadline_i(s_axis_load_tdata_i[57:42]),
    .load_contract_i(contract_t'(s_axis_load_tdata_i[41:0])),
    .arrival_valid_i(s_axis_arrival_tvalid_i),
    .arrival_ready_o(s_axis_arrival_tready_o),
    .arrival_id_i(s_axis_arrival_tdata_i[16+:IdWidth]),
    .arrival_i(s_axis_arrival_tdata_i[15:0]),
    .record_valid_o(m_axis_record_tvalid_o),
    .record_ready_i(m_axis_record_tready_i),
    .record_o(record),
    .query_valid_i(s_axis_query_tvalid_i & ~waits_q),
    .query_ready_o(query_ready),
    .query_id_i(s_axis_query_tdata_i[IdWidth-1:0]),
    .status_valid_o(status_valid),
    .status_o(status),
    .now_o(now),
    .update_o(update),
    .update_round_o(update_round),
    .served_o(served),
    .winner_o(winner),
    .finish_o(finish),
    .observed_o(observed)
  );

  assign m_axis_record_tdata_o = (8 * RecordBytes)'(record);

  // One question at a time; its answer stays until it is taken.
  logic         answer_valid_q;
  logic [127:0] answer_q;

  assign s_axis_query_tready_o  = query_ready & ~waits_q;
  assign m_axis_status_tvalid_o = answer_valid_q;
  assign m_axis_status_tdata_o  = answer_q;

  always_ff @(posedge clk_i) begin
    if (status_valid) answer_q <= {14'd0, status.state.valid, status.state.deadline, status.state.window, status.counters};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waits_q        <= 1'b0;
      answer_valid_q <= 1'b0;
    end else begin
      if (s_axis_query_tvalid_i && s_axis_query_tready_o) waits_q <= 1'b1;
      else if (answer_valid_q && m_axis_status_tready_i) waits_q <= 1'b0;
      if (status_valid) answer_valid_q <= 1'b1;
      else if (m_axis_status_tready_i) answer_valid_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{now, finish, update, served, update_round, winner, observed, status.state.arrival,
                    s_axis_load_tdata_i, s_axis_arrival_tdata_i, s_axis_query_tdata_i};

endmodule
