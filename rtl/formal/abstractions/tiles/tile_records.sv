// Stands in for the records of the tiled engine where what they tell does not matter: nothing drives the outputs, so the solver chooses them, anew in
// every cycle, more freely than any queue would.

module tile_records
  import dwcs_pkg::*;
  import tiled_pkg::*;
#(
  /// As in the design.
  parameter int unsigned N      = 32,
  parameter int unsigned Rounds = 32,
  localparam int unsigned RoundWidth  = $clog2(Rounds),
  localparam int unsigned IdWidth     = RoundWidth + $clog2(N),
  localparam int unsigned DropWidth   = RoundWidth + N,
  localparam int unsigned RecordWidth = 1 + (DropWidth > IdWidth + 16 ? DropWidth : IdWidth + 16)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   enter_i,
  input  logic                   begins_i,
  /// Anything.
  output logic                   drop_space_o,
  output logic                   decision_space_o,
  input  logic                   valid_i,
  input  logic [RoundWidth-1:0]  round_i,
  input  pass_t                  pass_i,
  input  logic [N-1:0]           dropped_i,
  input  logic                   done_i,
  input  logic                   served_i,
  input  logic [IdWidth-1:0]     winner_i,
  input  tick_t                  stamp_i,
  /// Anything.
  output logic                   record_valid_o,
  input  logic                   record_ready_i,
  output logic [RecordWidth-1:0] record_o
);

  logic unused;
  assign unused = ^{clk_i, rst_ni, enter_i, begins_i, valid_i, round_i, pass_i, dropped_i, done_i, served_i, winner_i, stamp_i, record_ready_i};

endmodule
