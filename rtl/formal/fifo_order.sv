// Proves that the queue keeps its words in order, loses none and duplicates none, and neither overflows nor underflows. Any word that goes in
// with n words before it comes out unchanged after n others; level_o counts the words inside.
//
// Sizes: Depth = 2, 4, 16, Width = 16; the words are arbitrary.
// How: induction over cycles, for any one word marked as it goes in.

module fifo_order #(
  parameter int unsigned Depth = 4,
  parameter int unsigned Width = 16,
  localparam int unsigned AddressWidth = $clog2(Depth)
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             clear_i,
  input logic             push_valid_i,
  input logic [Width-1:0] push_data_i,
  input logic             pop_ready_i,
  /// Marks the word that goes in.
  input logic             mark_i
);

  logic                  push_ready, pop_valid;
  logic [Width-1:0]      pop_data;
  logic [AddressWidth:0] level;

  fifo #(
    .Depth(Depth), .Width(Width)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .clear_i,
    .push_valid_i,
    .push_ready_o(push_ready),
    .push_data_i,
    .pop_valid_o(pop_valid),
    .pop_ready_i,
    .pop_data_o(pop_data),
    .level_o(level)
  );

  logic push, pop;
  assign push = push_valid_i & push_ready;
  assign pop  = pop_valid & pop_ready_i;

  // The words that are in the queue, and those before the marked one.
  logic                  started_q = 1'b0;
  logic                  marked_q;
  logic [AddressWidth:0] count_q, before_q;
  logic [Width-1:0]      word_q;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!rst_ni || clear_i || !started_q) begin
      marked_q <= 1'b0;
      count_q  <= '0;
    end else begin
      count_q <= count_q + (AddressWidth + 1)'(push) - (AddressWidth + 1)'(pop);
      if (!marked_q && mark_i && push) begin
        marked_q <= 1'b1;
        before_q <= count_q - (AddressWidth + 1)'(pop);
        word_q   <= push_data_i;
      end else if (marked_q && pop) begin
        marked_q <= before_q != '0;
        before_q <= before_q - 1'b1;
      end
    end
  end

  // The word that the cycle before offered and that was not taken.
  logic             offered_q = 1'b0;
  logic [Width-1:0] offer_q;
  always_ff @(posedge clk_i) begin
    offered_q <= rst_ni & ~clear_i & pop_valid & ~pop_ready_i;
    offer_q   <= pop_data;
  end

  // Where the marked word has to be.
  logic [AddressWidth-1:0] place;
  assign place = AddressWidth'(u_fifo.read_q + before_q);

  always_comb begin
    // Every run begins with a reset.
    reset_first: assume (started_q | ~rst_ni);
    if (started_q & rst_ni) begin
      counted: assert (level == count_q);
      within_depth: assert (32'(count_q) <= Depth);
      takes_if_room: assert (push_ready == (32'(count_q) < Depth));
      gives_if_any: assert (pop_valid == (count_q != '0));
      if (marked_q) begin
        still_inside: assert (before_q < count_q);
        at_its_place: assert (u_fifo.words_q[place] == word_q);
        in_its_turn: assert ((before_q != '0) | (pop_valid & (pop_data == word_q)));
      end
      if (offered_q) stays: assert (pop_valid & (pop_data == offer_q));
      marked_leaves: cover (marked_q & pop & (before_q == '0) & (32'(count_q) == Depth));
      full_and_pushed: cover (push_valid_i & ~push_ready);
    end
  end

endmodule
