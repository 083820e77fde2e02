// The streaming unit: queues of arrival times towards the scheduler, a queue of decisions towards the host.
//
// Arrival times are pushed by the host whenever it likes (a word for an urgent packet at once), or pulled: as soon as the queue of a stream has
// sunk to LowMark, the unit asks for as many words as there is room for. A word for a full queue waits, so nothing is ever lost; a host that
// sends no more than it was asked for never waits.
//
// Law: of every stream, words sent = words in its queue + words taken; asked for but not sent + in the queue <= Depth, unless more is pushed than
// was asked for. A word for a stream that there is not is forgotten.
//
// Source: Krishnamurthy et al., "ShareStreams", section 3, Figure 3. Twin: the Streaming Unit of tidegate-endsystem.
// Latency: one cycle from a word to next_valid_o, one from a decision to m_winner_valid_o; a request at most N cycles after the queue has sunk.

module streaming_unit
  import dwcs_pkg::*;
#(
  /// Streams.
  parameter int unsigned N         = 4,
  /// Arrival times of a stream, a power of two.
  parameter int unsigned Depth     = 16,
  /// Decisions, a power of two.
  parameter int unsigned Decisions = 16,
  /// A queue that has at most so many words, awaited ones included, asks for more; less than Depth.
  parameter int unsigned LowMark   = Depth / 2,
  localparam int unsigned LevelWidth = $clog2(Depth) + 1
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  /// Empties the queue of a stream: its contract is being loaded.
  input  logic            clear_i,
  input  id_t             clear_id_i,
  /// Arrival times from the host.
  input  logic            s_arrival_valid_i,
  output logic            s_arrival_ready_o,
  input  id_t             s_arrival_id_i,
  input  tick_t           s_arrival_i,
  /// Requests for arrival times: how many of which stream.
  output logic            m_pull_valid_o,
  input  logic            m_pull_ready_i,
  output id_t             m_pull_id_o,
  output logic [LevelWidth-1:0] m_pull_words_o,
  /// Decisions to the host.
  output logic            m_winner_valid_o,
  input  logic            m_winner_ready_i,
  output decision_t       m_winner_o,
  /// To and from the scheduler.
  output logic  [N-1:0]   next_valid_o,
  output tick_t [N-1:0]   next_arrival_o,
  input  logic  [N-1:0]   pop_i,
  input  logic            decision_valid_i,
  output logic            decision_ready_o,
  input  decision_t       decision_i
);

  localparam int unsigned IdWidth = $clog2(N);

  logic [N-1:0]                 push_ready, low;
  logic [N-1:0][LevelWidth-1:0] level, awaited_q, room;

  // The stream that is looked at for a request, one per cycle.
  logic [IdWidth-1:0] turn_q;
  logic               ask;

  assign s_arrival_ready_o = push_ready[s_arrival_id_i[IdWidth-1:0]];

  for (genvar i = 0; i < N; i++) begin : gen_stream
    logic push, clear, asked;
    // Unless the host pushes what it was not asked for, at most Depth.
    logic [LevelWidth:0] spoken_for;

    assign push  = s_arrival_valid_i & (s_arrival_id_i == id_t'(i));
    assign clear = clear_i & (clear_id_i == id_t'(i));
    assign asked = ask & (turn_q == IdWidth'(i));

    fifo #(
      .Depth(Depth), .Width($bits(tick_t))
    ) u_arrivals (
      .clk_i,
      .rst_ni,
      .clear_i(clear),
      .push_valid_i(push),
      .push_ready_o(push_ready[i]),
      .push_data_i(s_arrival_i),
      .pop_valid_o(next_valid_o[i]),
      .pop_ready_i(pop_i[i]),
      .pop_data_o(next_arrival_o[i]),
      .level_o(level[i])
    );

    assign spoken_for = (LevelWidth + 1)'(level[i]) + (LevelWidth + 1)'(awaited_q[i]);
    assign room[i]    = LevelWidth'(Depth) - level[i] - awaited_q[i];
    assign low[i]     = spoken_for <= (LevelWidth + 1)'(LowMark);

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) awaited_q[i] <= '0;
      else if (clear) awaited_q[i] <= '0;
      else if (asked) awaited_q[i] <= awaited_q[i] + room[i] - LevelWidth'(push & push_ready[i]);
      else if (push & push_ready[i] & (awaited_q[i] != '0)) awaited_q[i] <= awaited_q[i] - 1'b1;
    end
  end

  // The request register: filled from the stream whose turn it is.
  logic                  pull_valid_q;
  logic [IdWidth-1:0]    pull_id_q;
  logic [LevelWidth-1:0] pull_words_q;

  assign ask            = low[turn_q] & (~pull_valid_q | m_pull_ready_i) & ~(clear_i & (clear_id_i == id_t'(turn_q)));
  assign m_pull_valid_o = pull_valid_q;
  assign m_pull_id_o    = id_t'(pull_id_q);
  assign m_pull_words_o = pull_words_q;

  always_ff @(posedge clk_i) begin
    if (ask) begin
      pull_id_q    <= turn_q;
      pull_words_q <= room[turn_q];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      turn_q       <= '0;
      pull_valid_q <= 1'b0;
    end else begin
      if (ask | ~low[turn_q]) turn_q <= turn_q + 1'b1;
      if (ask) pull_valid_q <= 1'b1;
      else if (m_pull_ready_i) pull_valid_q <= 1'b0;
    end
  end

  logic [$clog2(Decisions):0] decisions;

  fifo #(
    .Depth(Decisions), .Width($bits(decision_t))
  ) u_decisions (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_valid_i(decision_valid_i),
    .push_ready_o(decision_ready_o),
    .push_data_i(decision_i),
    .pop_valid_o(m_winner_valid_o),
    .pop_ready_i(m_winner_ready_i),
    .pop_data_o(m_winner_o),
    .level_o(decisions)
  );

  logic unused;
  assign unused = ^{decisions, s_arrival_id_i};

endmodule
