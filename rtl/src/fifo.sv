// A first-word fall-through queue in distributed RAM.
//
// Law: words leave in the order in which they came, each once. Nothing is taken while it is full, nothing is given while it is empty, and a word
// that is offered stays until it is taken.
//
// Source: none, a ring with one more bit in its pointers than addresses need. Twin: none; formal/fifo_order.sv proves the law.
// Latency: one cycle from a push into the empty queue to pop_valid_o.

module fifo #(
  /// Words, a power of two.
  parameter int unsigned Depth = 16,
  /// Bits of a word.
  parameter int unsigned Width = 16,
  localparam int unsigned AddressWidth = $clog2(Depth)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// Forgets all words.
  input  logic                  clear_i,
  /// A word comes in, if there is room.
  input  logic                  push_valid_i,
  output logic                  push_ready_o,
  input  logic [Width-1:0]      push_data_i,
  /// The oldest word, and its removal.
  output logic                  pop_valid_o,
  input  logic                  pop_ready_i,
  output logic [Width-1:0]      pop_data_o,
  /// Words in the queue.
  output logic [AddressWidth:0] level_o
);

  logic [Width-1:0]      words_q[Depth];
  logic [AddressWidth:0] write_q, read_q;

  assign level_o      = write_q - read_q;
  assign push_ready_o = ~level_o[AddressWidth];
  assign pop_valid_o  = write_q != read_q;
  assign pop_data_o   = words_q[read_q[AddressWidth-1:0]];

  always_ff @(posedge clk_i) begin
    if (push_valid_i && push_ready_o) words_q[write_q[AddressWidth-1:0]] <= push_data_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
    end else if (clear_i) begin
      write_q <= '0;
      read_q  <= '0;
    end else begin
      if (push_valid_i && push_ready_o) write_q <= write_q + 1'b1;
      if (pop_valid_o && pop_ready_i) read_q <= read_q + 1'b1;
    end
  end

endmodule
