// The engine on a heap between AXI4-Streams, as a host or a DMA engine sees it.
//
//   s_axis_load     80 bits   [41:0] a contract_t, [57:42] the first deadline, [73:58] the stream; taken while the stream has no packet
//   s_axis_arrival  32 bits   [15:0] arrival time, [31:16] the stream: one packet has come
//   m_axis_record   32 bits   [31] set: the head of stream [13:0] was dropped; otherwise a decision: the stream, and [29:14] the clock
//   s_axis_query    16 bits   a stream
//   m_axis_status  128 bits   its counters, window, deadline and whether it has a packet
//
// Law: of every stream, arrivals taken = served + dropped + queued. A word that is offered stays until it is taken.
//
// Source: Krishnamurthy et al., "ShareStreams", section 3, Figure 3. Twin: none beyond that of `heap`.
// Latency: that of `heap`.

module heap_axis
  import dwcs_pkg::*;
#(
  /// Streams, a power of two from 4 to 16,384.
  parameter int unsigned Streams = 1024,
  /// Arrival times that a stream can have waiting behind the next one, a power of two from 2 on.
  parameter int unsigned Depth   = 16,
  /// Large levels of the heap lie in block RAM; otherwise in distributed RAM.
  parameter bit          Block   = Streams > 256,
  localparam int unsigned IdWidth = $clog2(Streams)
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
  input  logic [79:0]  s_axis_load_tdata_i,

  /// AXI4-Stream: arrivals.
  input  logic         s_axis_arrival_tvalid_i,
  output logic         s_axis_arrival_tready_o,
  input  logic [31:0]  s_axis_arrival_tdata_i,

  /// AXI4-Stream: drops and decisions.
  output logic         m_axis_record_tvalid_o,
  input  logic         m_axis_record_tready_i,
  output logic [31:0]  m_axis_record_tdata_o,

  /// AXI4-Stream: questions.
  input  logic         s_axis_query_tvalid_i,
  output logic         s_axis_query_tready_o,
  input  logic [15:0]  s_axis_query_tdata_i,

  /// AXI4-Stream: answers.
  output logic         m_axis_status_tvalid_o,
  input  logic         m_axis_status_tready_i,
  output logic [127:0] m_axis_status_tdata_o
);

  logic                query_ready, status_valid, waits_q, update, popped, queued;
  logic [1:0]          kind;
  status_t             status, observed;
  logic [IdWidth+16:0] record;
  tick_t               now, finish;
  logic [IdWidth-1:0]  update_id, queued_id;

  heap #(
    .Streams(Streams), .Depth(Depth), .Block(Block)
  ) u_heap (
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
    .update_kind_o(kind),
    .update_id_o(update_id),
    .update_popped_o(popped),
    .finish_o(finish),
    .observed_o(observed),
    .queued_o(queued),
    .queued_id_o(queued_id)
  );

  assign m_axis_record_tdata_o = {record[IdWidth+16], 1'b0, record[IdWidth+:16], 14'(record[IdWidth-1:0])};

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
  assign unused = ^{now, finish, update, kind, update_id, popped, observed, queued, queued_id, status.state.arrival,
                    s_axis_load_tdata_i, s_axis_arrival_tdata_i, s_axis_query_tdata_i};

endmodule
