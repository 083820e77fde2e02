// ShareStreams with a decision in every clock cycle.
//
// Blocks are ready for either outcome of the decision under way, so that nothing but a choice lies between two decisions. One wide number
// stands for the rules of precedence. Four streams are all compared with each other before it is known who wins (direct_choice); of
// more streams champions of groups are chosen then, and compared with each other in the decision itself (grouped_choice). Decisions,
// deadlines, windows and counters are those of `sharestreams`, given the same clock.
//
// The clock moves by one tick per decision, whether a stream is served or not, or follows time_i, three decisions late. A packet is seen two cycles
// after it was the first of its queue, and comes to a stream that a decision has left without packets in the decision after the next at the earliest. While
// streams can be loaded no packets are taken. Decisions wait in a queue for the host; when it fills up, everything stops.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: dwcs::device::Device.
// Latency: one decision per cycle; its effect shows two cycles later, its record four cycles later.
//
//   clk_i         0       1       2       3
//   run           step 0  step 1  step 2  step 3      the winner is chosen
//   update_o              0       1       2           served_o, winner_o, finish_o, take_o of that step
//   status_o                      0       1           after that step
//
//   Streams A and B, of which A is named in decisions 0 and 1 and B in decision 2; A+ is A after it has won, A- after it has lost:
//   clk_i         0                    1                      2
//   blocks        A       B            A+      B-             A++      B--
//   named         A                    A                      B
//   compared      A-:B-  A+:B-  A-:B+  A+-:B--  A++:B--  ...  A++-:B---  ...
//   chosen        A+:B-                A++:B--                A++-:B--+

module speculative
  import dwcs_pkg::*;
  import rank_pkg::*;
  import speculative_pkg::*;
#(
  /// Streams: 4, 8, 16 or 32.
  parameter int unsigned N = 4,
  /// For a test bench: status_o shows where every stream stands after every decision.
  parameter bit          Observed = 1'b0
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  /// Decides; otherwise streams can be loaded whenever load_ready_o is set.
  input  logic                enable_i,
  /// The clock is time_i, and loading a stream sets it. Otherwise it counts decisions, from the last time_i that it saw with outside_i set. Unless
  /// all streams are loaded, it is set at most 2^14 ticks after the last decision.
  input  logic                outside_i,
  /// The time in ticks; at most 2^14 may pass between two decisions.
  input  tick_t               time_i,
  /// LOAD: what a stream asks for.
  input  logic                load_valid_i,
  output logic                load_ready_o,
  input  load_t               load_i,
  /// The first packets of the queues, and which of them are taken in this cycle; up to two wait inside for their turn.
  input  logic  [N-1:0]       next_valid_i,
  input  tick_t [N-1:0]       next_arrival_i,
  output logic  [N-1:0]       pop_o,
  /// Decisions.
  output logic                decision_valid_o,
  input  logic                decision_ready_i,
  output decision_t           decision_o,
  /// A decision takes effect: stream winner_o is served until finish_o, if served_o, and of the streams in take_o the next packet becomes the head.
  output logic                update_o,
  output logic                served_o,
  output id_t                 winner_o,
  output tick_t               finish_o,
  output logic  [N-1:0]       take_o,
  /// The clock.
  output tick_t               now_o,
  /// Questions about a stream, taken while streams can be loaded.
  input  logic                query_valid_i,
  output logic                query_ready_o,
  input  id_t                 query_id_i,
  /// The answer, which is there for one cycle. A stream without packets whose deadline has come may show the clock and a whole window, with which
  /// it comes back.
  output logic                answer_valid_o,
  output status_t             answer_o,
  /// Where every stream stands; nothing unless Observed.
  output status_t     [N-1:0] status_o
);

  // So many streams are compared with each other at once; of more of them so many make a group.
  localparam int unsigned MostDirect = 4;
  localparam int unsigned Group      = N > 16 ? 4 : 2;
  // Records that can wait, and at how many everything stops: four more may be under way.
  localparam int unsigned Records = 16;

  // ---- Phases: decisions are made in run, when all blocks have been ready for a while

  logic       enable_q, run_q, ran_q, fetch_q;
  logic [2:0] ready_q;
  logic       loads, loading, asking;

  assign load_ready_o = ~enable_i & ~(|ready_q) & ~run_q & ~ran_q & ~loading & ~asking;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ready_q <= '0;
      run_q   <= 1'b0;
      ran_q   <= 1'b0;
      fetch_q <= 1'b0;
    end else if (enable_q) begin
      ready_q <= {ready_q[1:0], enable_i & ~loading & ~asking};
      run_q   <= ready_q[2];
      ran_q   <= run_q;
      // Never while streams can be loaded: what were taken then would be lost.
      fetch_q <= (|ready_q) | run_q;
    end
  end

  // ---- The clock: of the last decision, of the one under way, and the ends of the services that follow. What blocks prepare is for the end of the
  // next service, so it has to be known in advance whether there will be a decision.

  tick_t before_q, now_q, finish_q, next_finish_q, later_finish_q, far_finish;
  logic  outside_q, ticks;

  // Counting begins a tick after the time that was set.
  assign ticks      = ready_q[1] | outside_q;
  assign far_finish = outside_i ? time_i : later_finish_q + 16'(ticks);

  always_ff @(posedge clk_i) begin
    if (enable_q) begin
      outside_q <= outside_i;
      if (run_q) before_q <= now_q;
      if (run_q) now_q <= finish_q;
      finish_q       <= next_finish_q;
      next_finish_q  <= later_finish_q;
      later_finish_q <= far_finish;
    end
    if (outside_i && loading) now_q <= time_i;
  end

  // ---- LOAD: what of a contract is computed once, and its words on their way to one block

  logic         first, next;
  word_t        word, word_q;
  logic [N-1:0] loaded_q, first_q, next_q;

  assign loads = load_valid_i & load_ready_o;

  always_ff @(posedge clk_i) begin
    if (loads) begin
      for (int unsigned i = 0; i < N; i++) loaded_q[i] <= load_i.id == id_t'(i);
    end
    word_q  <= word;
    first_q <= {N{first}} & loaded_q;
    next_q  <= {N{next}} & loaded_q;
  end

  speculative_load u_load (
    .clk_i,
    .rst_ni,
    .load_i(loads),
    .contract_i(load_i.contract),
    .deadline_i(load_i.deadline),
    .loading_o(loading),
    .first_o(first),
    .next_o(next),
    .word_o(word)
  );

  // ---- Blocks

  // Registers of four kinds, which synthesis does not take for one: none is far from the blocks that it enables.
  logic [$clog2(Records):0] records;
  logic         enable_plain_q, stop_q, stop_plain_q, room, goes;
  logic [N-1:0] enable;

  assign room = records < ($clog2(Records) + 1)'(Records / 2);
  // While nothing is under way nothing stops: streams that are loaded take their windows.
  assign goes = room | ~((|ready_q) | run_q | ran_q);

  always_ff @(posedge clk_i) begin
    enable_plain_q <= goes;
    stop_plain_q   <= ~goes;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) stop_q <= 1'b0;
    else stop_q <= ~goes;
  end

  for (genvar i = 0; i < N; i++) begin : gen_enable
    if (i % 4 == 0) begin : gen_first
      assign enable[i] = enable_q;
    end else if (i % 4 == 1) begin : gen_second
      assign enable[i] = ~stop_q;
    end else if (i % 4 == 2) begin : gen_third
      assign enable[i] = enable_plain_q;
    end else begin : gen_fourth
      assign enable[i] = ~stop_plain_q;
    end
  end

  localparam bit          Direct = N <= MostDirect;
  // A champion is compared with up to three others, or more.
  localparam int unsigned Late   = Direct | N / Group <= 4 ? 1 : 2;

  logic [N-1:0]           champion, won_q, drop;
  logic [N-1:0][Late-1:0] named;
  key_t [N-1:0]           lost, gained;
  logic [N-1:0]           ask;
  logic [2:0]             aspect;
  logic [N-1:0] [15:0]    aspects;

  for (genvar i = 0; i < N; i++) begin : gen_stream
    speculative_block #(
      .Late(Late), .Apart(~Direct), .Observed(Observed)
    ) u_block (
      .clk_i,
      .rst_ni,
      .load_i(first_q[i]),
      .load_next_i(next_q[i]),
      .word_i(word_q),
      .next_run_i(ready_q[2]),
      .ran_i(ran_q),
      .fetch_i(fetch_q),
      .enable_i(enable[i]),
      .champion_i(champion[i]),
      .named_i(named[i]),
      .now_i(now_q),
      .far_finish_i(far_finish),
      .next_valid_i(next_valid_i[i]),
      .next_arrival_i(next_arrival_i[i]),
      .pop_o(pop_o[i]),
      .lost_o(lost[i]),
      .won_o(gained[i]),
      .take_o(take_o[i]),
      .drop_o(drop[i]),
      .ask_i(ask[i]),
      .aspect_i(aspect),
      .aspect_o(aspects[i]),
      .status_o(status_o[i])
    );
  end

  // ---- The decision

  if (Direct) begin : gen_direct
    assign champion = '1;

    direct_choice #(
      .N(N)
    ) u_choice (
      .clk_i, .rst_ni, .enable_i(enable_q), .next_run_i(ready_q[2]), .lost_i(lost), .won_i(gained), .won_o(named), .named_o(won_q)
    );
  end else begin : gen_grouped
    grouped_choice #(
      .N(N), .G(Group), .Late(Late)
    ) u_choice (
      .clk_i,
      .rst_ni,
      .enable_i(enable_q),
      .run_i(run_q),
      .lost_i(lost),
      .won_i(gained),
      .champion_o(champion),
      .named_o(named),
      .won_o(won_q)
    );
  end

  // ---- What the host is told

  decision_t              record, record_q;
  logic                   record_valid_q;
  logic [N-1:0]           drops_q;
  logic                   records_ready;

  always_comb begin
    record           = '0;
    record.drops     = MostStreams'(drops_q);
    record.timestamp = before_q;
    record.served    = |won_q;
    for (int unsigned i = 0; i < N; i++) begin
      if (won_q[i]) record.winner |= id_t'(i);
    end
  end

  always_ff @(posedge clk_i) begin
    record_q <= record;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      record_valid_q <= 1'b0;
      drops_q        <= '0;
      enable_q       <= 1'b1;
    end else begin
      record_valid_q <= enable_q & ran_q & (record.served | (|drops_q));
      if (enable_q && ran_q) drops_q <= drop;
      enable_q <= goes;
    end
  end

  fifo #(
    .Depth(Records), .Width($bits(decision_t))
  ) u_records (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_valid_i(record_valid_q),
    .push_ready_o(records_ready),
    .push_data_i(record_q),
    .pop_valid_o(decision_valid_o),
    .pop_ready_i(decision_ready_i),
    .pop_data_o(decision_o),
    .level_o(records)
  );

  // ---- Questions

  assign query_ready_o = load_ready_o & ~load_valid_i;

  speculative_query #(
    .N(N)
  ) u_query (
    .clk_i,
    .rst_ni,
    .valid_i(query_valid_i),
    .ready_i(query_ready_o),
    .id_i(query_id_i),
    .asking_o(asking),
    .ask_o(ask),
    .aspect_o(aspect),
    .aspect_i(aspects),
    .now_i(now_q),
    .valid_o(answer_valid_o),
    .answer_o
  );

  assign update_o = enable_q & ran_q;
  assign served_o = record.served;
  assign winner_o = record.winner;
  assign finish_o = now_q;
  assign now_o    = now_q;

  logic unused;
  assign unused = records_ready;

endmodule
