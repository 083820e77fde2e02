// Questions of a host about one stream of the speculative engine.
//
// A block says one word at a time, and nothing, zeros, unless it is asked. So words come together by ORs, and few wires run across the engine.
//
// Law: one answer for every question, which is the state of the stream that it names.
//
// Source: beyond Krishnamurthy et al., "ShareStreams". Twin: tidegate_core::dwcs::Standing.
// Latency: 13 cycles from the question to the answer; the next question is taken after it.

module speculative_query
  import dwcs_pkg::*;
  import speculative_pkg::*;
#(
  /// Streams, a multiple of four.
  parameter int unsigned N = 4
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  /// Questions.
  input  logic                valid_i,
  input  logic                ready_i,
  input  id_t                 id_i,
  /// An answer is on its way: nothing is decided or loaded then.
  output logic                asking_o,
  /// Which block is asked for which word of aspects_t, from the top.
  output logic [N-1:0]        ask_o,
  output logic [2:0]          aspect_o,
  /// The words of the blocks, two cycles later.
  input  logic [N-1:0] [15:0] aspect_i,
  /// The clock of the last decision.
  input  tick_t               now_i,
  /// The answer, which is there for one cycle.
  output logic                valid_o,
  output status_t             answer_o
);

  // Eight words, four cycles after each is asked for.
  localparam logic [3:0]  Last     = 4'd12;
  localparam int unsigned Quarters = N / 4;

  logic [3:0]   count_q;
  logic [N-1:0] ask_q;

  assign asking_o = count_q != Last;
  assign ask_o    = count_q < 4'd8 ? ask_q : '0;
  assign aspect_o = count_q[2:0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= Last;
      valid_o <= 1'b0;
    end else begin
      if (valid_i & ready_i) count_q <= '0;
      else if (asking_o) count_q <= count_q + 4'd1;
      valid_o <= count_q == Last - 4'd1;
    end
  end

  // ---- Words of four blocks, then of all

  logic [Quarters-1:0] [15:0] quarter, quarter_q;
  logic [15:0]                word, word_q;
  aspects_t                   aspects_q;

  always_comb begin
    quarter = '0;
    word    = '0;
    for (int unsigned i = 0; i < N; i++) quarter[i/4] |= aspect_i[i];
    for (int unsigned i = 0; i < Quarters; i++) word |= quarter_q[i];
  end

  always_ff @(posedge clk_i) begin
    if (valid_i & ready_i) begin
      for (int unsigned i = 0; i < N; i++) ask_q[i] <= id_i == id_t'(i);
    end
    quarter_q <= quarter;
    word_q    <= word;
    if (asking_o) aspects_q <= aspects_t'({aspects_q, word_q});
  end

  assign answer_o = '{
    state: '{
      valid:    aspects_q.flags.valid,
      arrival:  aspects_q.arrival,
      deadline: aspects_q.flags.lapsed ? now_i : aspects_q.deadline,
      window:   '{
        violation:   aspects_q.flags.violation,
        numerator:   aspects_q.numerator,
        denominator: aspects_q.numerator + aspects_q.to_meet
      }
    },
    counters: counters(aspects_q.tally, aspects_q.flags.droppable)
  };

endmodule
