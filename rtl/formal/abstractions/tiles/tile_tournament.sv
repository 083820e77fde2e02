// Stands in for the tournament of a tile where its winner does not matter: nothing drives the outputs, so the solver chooses them, anew in every cycle.

module tile_tournament
  import tiled_pkg::*;
#(
  /// Of these only the first counts.
  parameter int unsigned N     = 32,
  parameter int unsigned Ways  = 4,
  parameter int unsigned Steps = 2,
  localparam int unsigned K = $clog2(N)
) (
  input  logic         clk_i,
  input  key_t [N-1:0] keys_i,
  /// Anything.
  output key_t         key_o,
  output logic [K-1:0] lane_o
);

  logic unused;
  assign unused = ^{clk_i, keys_i, Ways[0], Steps[0]};

endmodule
