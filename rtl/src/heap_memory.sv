// A memory in block RAM with one port to write and one to read.
//
// Law: what is read is what was last written before the cycle of the address.
//
// Source: none. Twin: none.
// Latency: Delay cycles from an address to its word, 2 or 3.

module heap_memory #(
  /// Words, a power of two.
  parameter int unsigned Words = 16,
  /// Bits of a word.
  parameter int unsigned Width = 16,
  /// Cycles to a word; with 3 another register spares the long way from many block RAMs.
  parameter int unsigned Delay = 2,
  localparam int unsigned AddressWidth = $clog2(Words)
) (
  input  logic                    clk_i,
  /// What is read.
  input  logic [AddressWidth-1:0] read_i,
  output logic [Width-1:0]        data_o,
  /// What is written.
  input  logic                    write_i,
  input  logic [AddressWidth-1:0] write_address_i,
  input  logic [Width-1:0]        data_i
);

  (* ram_style = "block" *) logic [Width-1:0] words_q[Words];
  logic [Delay-1:0][Width-1:0] read_q;

  always_ff @(posedge clk_i) begin
    if (write_i) words_q[write_address_i] <= data_i;
    read_q[0] <= words_q[read_i];
    for (int unsigned d = 1; d < Delay; d++) read_q[d] <= read_q[d-1];
  end

  assign data_o = read_q[Delay-1];

endmodule
