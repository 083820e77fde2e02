// A match of two or four streams: all pairs are compared in one cycle, or in two, and the winner is picked in the next.
//
// Law: the first in the order of keys; of equal ones that at the lower port.
//
// Source: none, a decision block of ShareStreams in two steps and with up to four ports. Twin: dwcs::device::Attributes::wins.
// Latency: Steps cycles; a match may begin in every cycle.

module tile_match
  import tiled_pkg::*;
#(
  /// Ports: 2 or 4.
  parameter int unsigned Ways = 4,
  /// Cycles: 2, or 3 for a faster clock.
  parameter int unsigned Steps = 2,
  /// Bits that say which stream of a port's it is.
  parameter int unsigned LaneWidth = 1,
  localparam int unsigned WayWidth = $clog2(Ways)
) (
  input  logic                          clk_i,
  /// The streams, and which of a port's each is.
  input  key_t [Ways-1:0]               keys_i,
  input  logic [Ways-1:0][LaneWidth-1:0] lanes_i,
  /// The winner.
  output key_t                          key_o,
  output logic [LaneWidth+WayWidth-1:0] lane_o
);

  // before[j][i]: j, the higher port, precedes i.
  logic [Ways-1:0][Ways-1:0] before_q;

  key_t [Ways-1:0]                 keys_q;
  logic [Ways-1:0][LaneWidth-1:0]  lanes_q;
  logic [WayWidth-1:0]             way;

  for (genvar j = 0; j < Ways; j++) begin : gen_row
    for (genvar i = 0; i < Ways; i++) begin : gen_pair
      if (i >= j) begin : gen_rest
        assign before_q[j][i] = 1'b0;
      end else if (Steps == 2) begin : gen_one
        always_ff @(posedge clk_i) before_q[j][i] <= served_before(compare(keys_i[j], keys_i[i]), 1'b0);
      end else begin : gen_two
        parts_t parts_q;
        always_ff @(posedge clk_i) begin
          parts_q        <= compare(keys_i[j], keys_i[i]);
          before_q[j][i] <= served_before(parts_q, 1'b0);
        end
      end
    end
  end

  if (Steps == 2) begin : gen_short
    always_ff @(posedge clk_i) begin
      keys_q  <= keys_i;
      lanes_q <= lanes_i;
    end
  end else begin : gen_long
    key_t [Ways-1:0]                keys1_q;
    logic [Ways-1:0][LaneWidth-1:0] lanes1_q;
    always_ff @(posedge clk_i) begin
      keys1_q  <= keys_i;
      lanes1_q <= lanes_i;
      keys_q   <= keys1_q;
      lanes_q  <= lanes1_q;
    end
  end

  always_comb begin
    way = '0;
    for (int unsigned j = 1; j < Ways; j++) begin
      logic wins;
      wins = 1'b1;
      for (int unsigned i = 0; i < Ways; i++) begin
        if (i < j) wins &= before_q[j][i];
        else if (i > j) wins &= ~before_q[i][j];
      end
      if (wins) way |= WayWidth'(j);
    end
  end

  always_ff @(posedge clk_i) begin
    key_o   <= keys_q[way];
    lane_o  <= {way, lanes_q[way]};
  end

endmodule
