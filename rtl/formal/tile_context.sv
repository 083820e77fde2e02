// Proves of a lane that saving and restoring loses nothing and duplicates nothing. A tile brings the context that was last written for its stream, by LOAD
// or by its last step; a tile without a step changes nothing. Arrivals become heads in the order in which they came, each once and unchanged; all are
// in the letter box, in the queue or gone.
//
// Sizes: two rounds, queues of two, words in distributed RAM and in block RAM; few bits of times and windows. The rank of a window is
// arbitrary.
// Assumed: a tile comes again after seven cycles at the earliest, and LOAD finds none under way (tile_circulation).
// How: bounded, from a reset with any contents of the memories; for any stream, and any one of its arrivals marked as it comes in.

module tile_context
  import dwcs_pkg::*;
  import tiled_pkg::*;
#(
  parameter bit Block = 1'b0,
  localparam int unsigned C = Block ? 2 : 1
) (
  input logic      clk_i,
  input logic      rst_ni,
  input logic      load_i,
  input logic      load_round_i,
  input contract_t load_contract_i,
  input tick_t     load_deadline_i,
  input logic      arrival_valid_i,
  input logic      arrival_round_i,
  input tick_t     arrival_i,
  input logic      enter_i,
  input logic      round_i,
  input logic      step_i,
  input logic      won_i,
  input tick_t     finish_i,
  /// The stream in question.
  input logic      which_i,
  /// Marks the arrival that comes in.
  input logic      mark_i
);

  localparam int unsigned Written = C + 4;

  logic        arrival_ready, dropped, late;
  step_t       step;
  attributes_t attributes;
  key_t        key;

  tile_lane #(
    .Rounds(2), .Depth(2), .Block(Block), .BlockTable(1'b0)
  ) u_lane (
    .clk_i,
    .rst_ni,
    .load_i,
    .load_round_i,
    .load_contract_i,
    .load_deadline_i,
    .arrival_valid_i,
    .arrival_ready_o(arrival_ready),
    .arrival_round_i,
    .arrival_i,
    .enter_i,
    .round_i,
    .step_i,
    .won_i,
    .finish_i,
    .dropped_o(dropped),
    .late_o(late),
    .step_o(step),
    .attributes_o(attributes),
    .key_o(key)
  );

  // Tiles under way: which stream, whether they take a step, by cycles since they entered.
  logic            started_q = 1'b0;
  logic            which_q;
  logic [6:0]      way_q, other_q;
  logic [6:0]      steps_q;
  // What was written last, and how many arrivals have not become heads.
  logic            loaded_q;
  contract_t       contract_q;
  state_t          state_q;
  misses_t         misses_q;
  logic [3:0]      waiting_q;
  // The marked arrival, and how many come before it.
  logic            marked_q;
  logic [3:0]      before_q;
  tick_t           arrival_q;

  logic here, accepted, written, popped, read;
  assign here     = which_i == which_q;
  assign accepted = arrival_valid_i & arrival_ready & (arrival_round_i == which_i);
  // way_q[0] is a tile that entered in the cycle before.
  assign read     = way_q[C-1];
  assign written  = way_q[Written-1];
  assign popped   = written & step.popped;

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    which_q   <= which_i;
    way_q     <= {way_q[5:0], enter_i & (round_i == which_i)};
    other_q   <= {other_q[5:0], enter_i & (round_i != which_i)};
    steps_q   <= {steps_q[5:0], step_i};
    if (!started_q) begin
      way_q     <= '0;
      other_q   <= '0;
      loaded_q  <= 1'b0;
      marked_q  <= 1'b0;
      waiting_q <= '0;
    end else begin
      if (load_i & (load_round_i == which_i)) begin
        loaded_q       <= 1'b1;
        contract_q     <= load_contract_i;
        state_q        <= '{valid: 1'b0, arrival: '0, deadline: load_deadline_i,
                            window: whole(load_contract_i.tolerance.numerator, load_contract_i.tolerance.denominator)};
        misses_q       <= '0;
        waiting_q      <= 4'(accepted);
        marked_q       <= accepted & mark_i;
        before_q       <= '0;
        arrival_q      <= arrival_i;
      end else begin
        if (written) begin
          state_q  <= step.state;
          misses_q <= step.misses;
        end
        waiting_q <= waiting_q + 4'(accepted) - 4'(popped);
        if (marked_q) begin
          if (popped) begin
            marked_q <= before_q != '0;
            before_q <= before_q - 4'd1;
          end
        end else if (accepted & mark_i) begin
          marked_q  <= 1'b1;
          before_q  <= waiting_q - 4'(popped);
          arrival_q <= arrival_i;
        end
      end
    end
  end

  state_t read_state;
  logic   same_state, unstepped;
  assign read_state = u_lane.word_q.varying.state;
  // Of a stream without packets the arrival does not count.
  assign same_state = (read_state.valid == state_q.valid) & (read_state.deadline == state_q.deadline) & (read_state.window == state_q.window)
                    & (~state_q.valid | (read_state.arrival == state_q.arrival));
  // The tile that is written took its step when it was read, four cycles ago.
  assign unstepped  = written & ~steps_q[3];

  always_comb begin
    // Every run begins with a reset.
    reset_first: assume (rst_ni == started_q);
    same_stream: assume (~started_q | here);
    apart: assume (~started_q | ~enter_i | ((round_i == which_i ? way_q[5:0] : other_q[5:0]) == '0));
    load_alone: assume (~load_i | ~(enter_i | (|way_q) | (|other_q)));
    few_bits: assume ((finish_i[15:2] == '0) & (arrival_i[15:2] == '0) & (load_deadline_i[15:2] == '0) & (load_contract_i.period[14:2] == '0)
                      & (load_contract_i.tolerance.numerator[7:2] == '0) & (load_contract_i.tolerance.denominator[7:2] == '0)
                      & (load_contract_i.tolerance.penalty[7:2] == '0));
    // A winner is named in a step.
    wins_in_step: assume (~won_i | step_i);
    if (started_q & loaded_q) begin
      if (read) begin
        read_as_written: assert (same_state & (u_lane.word_q.contract == contract_q));
        none_lost: assert (waiting_q == 4'(u_lane.level) + 4'(u_lane.box_valid_q & (u_lane.box_round_q == which_i)));
      end
      if (popped) begin
        popped_there: assert (waiting_q != '0);
        has_head: assert (step.state.valid);
        if (marked_q & (before_q == '0)) in_order: assert (step.state.arrival == arrival_q);
      end
      if (unstepped) begin
        unchanged: assert (~step.popped & (step.state.valid == state_q.valid) & (step.state.deadline == state_q.deadline)
                           & (step.state.window == state_q.window) & (step.misses == misses_q)
                           & (~state_q.valid | (step.state.arrival == state_q.arrival)));
      end
      marked_leaves: cover (marked_q & popped & (before_q == 4'd1));
      waits_in_vain: cover (arrival_valid_i & ~arrival_ready & (arrival_round_i == which_i) & (waiting_q == 4'd3));
    end
  end

  logic unused;
  assign unused = ^{dropped, late, attributes, key};

endmodule
