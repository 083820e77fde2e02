// A lane: the register base block of one stream per round, whose registers are words of a RAM, and whose step is a pipeline.
//
// A tile that enters is read, takes the one step that priority_update takes, and is written back; its key leaves for the tournament. An arrival
// waits in the lane's letter box until the tile of its stream comes by with room in the stream's queue; it can be taken from the queue from
// the next pass on.
//
// Law: with step_i the words change as those of a register block whose next_valid_i says that the stream's queue is not empty when the tile
// is read; without it only the letter box is emptied.
// Source: Krishnamurthy et al., "ShareStreams", section 4, Figure 7; its vertical tiling. Twin: dwcs::device, `Block`.
//
// Latency: in cycles from enter_i (C = 1, with words in block RAM 2)
//   enter_i, round_i | step_i, won_i, finish_i | dropped_o | step_o    | key_o
//   0                | C                       | C + 2     | C + 4     | C + 6
// A tile may enter in every cycle, the same one 7 cycles later.

module tile_lane
  import dwcs_pkg::*;
  import tiled_pkg::*;
#(
  /// Streams of the lane, at least 2.
  parameter int unsigned Rounds = 16,
  /// Arrival times that a stream can have waiting, a power of two.
  parameter int unsigned Depth  = 16,
  /// Words lie in block RAM; otherwise in distributed RAM.
  parameter bit          Block  = 1'b1,
  /// The table of reciprocals lies in block RAM; otherwise in logic.
  parameter bit          BlockTable = 1'b1,
  localparam int unsigned RoundWidth   = $clog2(Rounds),
  localparam int unsigned PointerWidth = $clog2(Depth) + 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// LOAD: takes the contract and the first deadline of a stream, forgets its packets and its counters. Not while a tile is under way.
  input  logic                  load_i,
  input  logic [RoundWidth-1:0] load_round_i,
  input  contract_t             load_contract_i,
  input  tick_t                 load_deadline_i,
  /// An arrival for the letter box, if it is empty.
  input  logic                  arrival_valid_i,
  output logic                  arrival_ready_o,
  input  logic [RoundWidth-1:0] arrival_round_i,
  input  tick_t                 arrival_i,
  /// A tile enters.
  input  logic                  enter_i,
  input  logic [RoundWidth-1:0] round_i,
  /// C cycles later: it takes its step, and this lane's stream is being served until the end of the service.
  input  logic                  step_i,
  input  logic                  won_i,
  input  tick_t                 finish_i,
  /// The stream's head is dropped, and was served late.
  output logic                  dropped_o,
  output logic                  late_o,
  /// What is written back.
  output step_t                 step_o,
  /// The same for the network: number 0, valid with step_o.
  output attributes_t           attributes_o,
  /// What the stream competes with.
  output key_t                  key_o
);

  // What a step changes.
  typedef struct packed {
    state_t                  state;
    logic [PointerWidth-1:0] write;
    logic [PointerWidth-1:0] read;
  } varying_t;

  typedef struct packed {
    contract_t contract;
    varying_t  varying;
  } context_t;

  typedef logic [RoundWidth-1:0] round_t;

  // Of stage s, counted from the word: word, updated, written.
  context_t word_q;
  logic     word_valid_q, valid1_q, valid2_q, valid3_q, valid4_q;
  round_t   word_round_q, round1_q, round2_q, round3_q, round4_q;
  contract_t contract3_q;

  // The words.
  logic     write;
  round_t   write_round;
  varying_t write_word;

  if (Block) begin : gen_block
    // One word holds both, because a block RAM is wide.
    (* ram_style = "block" *) context_t words_q[Rounds];
    context_t  read_q;
    contract_t contract4_q;
    logic      valid_q;
    round_t    round_q;
    always_ff @(posedge clk_i) begin
      contract4_q <= contract3_q;
      if (write) words_q[write_round] <= '{contract: load_i ? load_contract_i : contract4_q, varying: write_word};
      read_q  <= words_q[round_i];
      word_q    <= read_q;
      round_q    <= round_i;
      word_round_q <= round_q;
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        valid_q      <= 1'b0;
        word_valid_q <= 1'b0;
      end else begin
        valid_q      <= enter_i;
        word_valid_q <= valid_q;
      end
    end
  end else begin : gen_distributed
    (* ram_style = "distributed" *) contract_t contracts_q[Rounds];
    (* ram_style = "distributed" *) varying_t  words_q[Rounds];
    always_ff @(posedge clk_i) begin
      if (load_i) contracts_q[load_round_i] <= load_contract_i;
      if (write) words_q[write_round] <= write_word;
      word_q       <= '{contract: contracts_q[round_i], varying: words_q[round_i]};
      word_round_q <= round_i;
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) word_valid_q <= 1'b0;
      else word_valid_q <= enter_i;
    end
  end

  // The letter box.
  logic   box_valid_q, deposit;
  round_t box_round_q;
  tick_t  box_q;
  logic [PointerWidth-1:0] level;
  logic   next_valid;

  assign arrival_ready_o = ~box_valid_q;
  assign level           = word_q.varying.write - word_q.varying.read;
  assign next_valid      = level != '0;
  assign deposit         = word_valid_q & box_valid_q & (box_round_q == word_round_q) & ~level[PointerWidth-1];

  always_ff @(posedge clk_i) begin
    if (arrival_valid_i & ~box_valid_q) begin
      box_round_q <= arrival_round_i;
      box_q       <= arrival_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) box_valid_q <= 1'b0;
    else if (~box_valid_q) box_valid_q <= arrival_valid_i;
    else if (deposit | (load_i & (load_round_i == box_round_q))) box_valid_q <= 1'b0;
  end

  // The queues.
  (* ram_style = "block" *) tick_t queue_q[Rounds*Depth];
  tick_t next_raw_q, next2_q;

  always_ff @(posedge clk_i) begin
    if (deposit) queue_q[{word_round_q, word_q.varying.write[PointerWidth-2:0]}] <= box_q;
    next_raw_q <= queue_q[{word_round_q, word_q.varying.read[PointerWidth-2:0]}];
    next2_q    <= next_raw_q;
  end

  // Stage 1: how far the deadline lies ahead, and what a window can become.
  contract_t contract1_q;
  varying_t  varying1_q;
  tick_t     ahead1_q, finish1_q;
  logic      equal1_q, next_valid1_q, step1_q, won1_q, zero1_q, last1_q, full1_q;
  logic [7:0] fewer1_q, tolerated_fewer1_q, raised1_q;
  logic [8:0] raised;

  assign raised = 9'(word_q.varying.state.window.denominator) + 9'(word_q.contract.tolerance.penalty);

  always_ff @(posedge clk_i) begin
    round1_q           <= word_round_q;
    contract1_q        <= word_q.contract;
    varying1_q         <= word_q.varying;
    varying1_q.write   <= word_q.varying.write + PointerWidth'(deposit);
    next_valid1_q      <= next_valid;
    ahead1_q           <= word_q.varying.state.deadline - finish_i;
    equal1_q           <= word_q.varying.state.deadline == finish_i;
    finish1_q          <= finish_i;
    step1_q            <= step_i;
    won1_q             <= won_i;
    zero1_q            <= word_q.varying.state.window.numerator == '0;
    last1_q            <= word_q.varying.state.window.denominator[7:1] == '0;
    full1_q            <= word_q.varying.state.window.denominator == word_q.varying.state.window.numerator;
    fewer1_q           <= word_q.varying.state.window.denominator - 8'd1;
    tolerated_fewer1_q <= word_q.varying.state.window.numerator - 8'd1;
    raised1_q          <= raised[8] ? 8'hff : raised[7:0];
  end

  // Stage 2: what happens, and the window, by the rules of window_rules.
  window_t window1;
  logic    has1, past, come, won_late, meets, misses, misses_one, dropped, takes, pop, violates, rules, fresh, raise, down, tolerated_down;

  assign window1        = varying1_q.state.window;
  assign has1           = varying1_q.state.valid;
  assign past           = ahead1_q[15];
  assign come           = ~contract1_q.infinite & (past | equal1_q);
  assign won_late       = won1_q & past & ~contract1_q.infinite;
  assign misses         = step1_q & has1 & ~won1_q & come;
  assign misses_one     = misses | won_late;
  assign meets          = won1_q & ~won_late;
  assign dropped        = misses & contract1_q.droppable;
  assign takes          = step1_q & (won1_q | dropped | ~has1);
  assign pop            = takes & next_valid1_q;
  assign rules          = ~contract1_q.tolerance.fixed & ~contract1_q.infinite;
  assign violates       = zero1_q & (contract1_q.tolerance.denominator != '0) & ~contract1_q.tolerance.fixed;
  assign raise          = misses_one & violates;
  assign fresh          = (rules & (meets ? last1_q | window1.violation : misses_one & ~zero1_q & last1_q))
                        | (pop & come & ~won1_q & ~misses);
  assign down           = rules & (meets | (misses_one & ~zero1_q));
  assign tolerated_down = rules & ~zero1_q & (meets ? full1_q : misses_one);

  contract_t          contract2_q;
  varying_t           varying2_q;
  logic signed [16:0] advanced2_q;
  tick_t              ahead2_q, finish2_q;
  logic               steps2_q, come2_q, pop2_q, dropped2_q, late2_q, missed2_q, violation2_q;

  always_ff @(posedge clk_i) begin
    round2_q         <= round1_q;
    contract2_q      <= contract1_q;
    varying2_q       <= varying1_q;
    varying2_q.read  <= varying1_q.read + PointerWidth'(pop);
    if (takes) varying2_q.state.valid <= next_valid1_q;
    varying2_q.state.window <= '{
      violation:   ~fresh & (raise | (window1.violation & ~(rules & meets))),
      numerator:   fresh ? contract1_q.tolerance.numerator : tolerated_down ? tolerated_fewer1_q : window1.numerator,
      denominator: fresh ? contract1_q.tolerance.denominator : down ? fewer1_q : raise ? raised1_q : window1.denominator
    };
    advanced2_q  <= 17'($signed(ahead1_q)) + $signed({2'b00, contract1_q.period});
    ahead2_q     <= ahead1_q;
    finish2_q    <= finish1_q;
    steps2_q     <= (step1_q & won1_q) | misses;
    come2_q      <= step1_q & come;
    pop2_q       <= pop;
    dropped2_q   <= dropped;
    late2_q      <= won_late;
    missed2_q    <= misses_one;
    violation2_q <= raise;
  end

  assign dropped_o = dropped2_q;
  assign late_o    = late2_q;

  // Stage 3: the deadline from the clock, and the head's arrival.
  tick_t ahead;

  always_comb begin
    ahead = ahead2_q;
    if (~contract2_q.infinite) begin
      if (steps2_q) begin
        if (advanced2_q < 0) ahead = '0;
        else if (advanced2_q > $signed({1'b0, Latest})) ahead = Latest;
        else ahead = advanced2_q[15:0];
      end else if (come2_q) begin
        ahead = pop2_q ? 16'(contract2_q.period) : '0;
      end
    end
  end

  varying_t varying3_q;
  tick_t    ahead3_q, finish3_q;
  logic     pop3_q, missed3_q, violation3_q;

  always_ff @(posedge clk_i) begin
    round3_q     <= round2_q;
    contract3_q  <= contract2_q;
    varying3_q   <= varying2_q;
    if (pop2_q) varying3_q.state.arrival <= next2_q;
    ahead3_q     <= ahead;
    finish3_q    <= finish2_q;
    pop3_q       <= pop2_q;
    missed3_q    <= missed2_q;
    violation3_q <= violation2_q;
  end

  // The counters: read beside stage 2, added to in stage 4.
  (* ram_style = "block" *) misses_t counters_q[Rounds];
  misses_t counters_raw_q, counters3_q, counters4_q;

  // Stage 4: the deadline; then everything is written.
  varying_t varying4_q;
  tick_t    ahead4_q;
  logic     pop4_q, infinite4_q, droppable4_q;

  always_ff @(posedge clk_i) begin
    counters_raw_q <= counters_q[round1_q];
    counters3_q    <= counters_raw_q;
    round4_q       <= round3_q;
    varying4_q     <= varying3_q;
    varying4_q.state.deadline <= finish3_q + ahead3_q;
    counters4_q.missed        <= counters3_q.missed + 16'(missed3_q);
    counters4_q.violations    <= counters3_q.violations + 16'(violation3_q);
    ahead4_q       <= ahead3_q;
    pop4_q         <= pop3_q;
    infinite4_q    <= contract3_q.infinite;
    droppable4_q   <= contract3_q.droppable;
    if (write) counters_q[write_round] <= load_i ? '0 : counters4_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid1_q <= 1'b0;
      valid2_q <= 1'b0;
      valid3_q <= 1'b0;
      valid4_q <= 1'b0;
    end else begin
      valid1_q <= word_valid_q;
      valid2_q <= valid1_q;
      valid3_q <= valid2_q;
      valid4_q <= valid3_q;
    end
  end

  assign write       = valid4_q | load_i;
  assign write_round = load_i ? load_round_i : round4_q;

  always_comb begin
    write_word = varying4_q;
    if (load_i) begin
      write_word = '{
        state: '{
          valid:    1'b0,
          arrival:  varying4_q.state.arrival,
          deadline: load_deadline_i,
          window:   whole(load_contract_i.tolerance.numerator, load_contract_i.tolerance.denominator)
        },
        write: '0,
        read:  '0
      };
    end
  end

  assign step_o = '{popped: pop4_q, droppable: droppable4_q, state: varying4_q.state, misses: counters4_q};

  assign attributes_o = '{
    valid:       varying4_q.state.valid,
    infinite:    infinite4_q,
    deadline:    varying4_q.state.deadline,
    numerator:   varying4_q.state.window.numerator,
    denominator: varying4_q.state.window.denominator,
    arrival:     varying4_q.state.arrival,
    id:          '0
  };

  // Only one kind of RAM writes it back.
  logic unused;
  assign unused = ^contract3_q;

  // Stages 3 to 6: the key.
  key_t key5_q, key6_q;
  logic [16:0] fraction;
  logic [7:0]  tie;

  window_rank #(
    .Block(BlockTable)
  ) u_window_rank (
    .clk_i,
    .numerator_i(varying2_q.state.window.numerator),
    .denominator_i(varying2_q.state.window.denominator),
    .fraction_o(fraction),
    .tie_o(tie)
  );

  always_ff @(posedge clk_i) begin
    key5_q <= '{
      missing:  ~varying4_q.state.valid,
      infinite: infinite4_q,
      ahead:    infinite4_q ? '0 : {~ahead4_q[15], ahead4_q[14:0]},
      fraction: '0,
      tie:      '0,
      arrival:  varying4_q.state.arrival
    };
    key6_q <= key5_q;
  end

  always_comb begin
    key_o          = key6_q;
    key_o.fraction = fraction;
    key_o.tie      = tie;
  end

endmodule
