// Replaces a lane where its words do not matter: nothing drives the outputs, so the solver chooses them in every cycle.

module tile_lane
  import dwcs_pkg::*;
  import tiled_pkg::*;
#(
  /// Of these only the first counts.
  parameter int unsigned Rounds     = 16,
  parameter int unsigned Depth      = 16,
  parameter bit          Block      = 1'b1,
  parameter bit          BlockTable = 1'b1,
  localparam int unsigned RoundWidth = $clog2(Rounds)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  load_i,
  input  logic [RoundWidth-1:0] load_round_i,
  input  contract_t             load_contract_i,
  input  tick_t                 load_deadline_i,
  input  logic                  arrival_valid_i,
  output logic                  arrival_ready_o,
  input  logic [RoundWidth-1:0] arrival_round_i,
  input  tick_t                 arrival_i,
  input  logic                  enter_i,
  input  logic [RoundWidth-1:0] round_i,
  input  logic                  step_i,
  input  logic                  won_i,
  input  tick_t                 finish_i,
  /// Anything.
  output logic                  dropped_o,
  output logic                  late_o,
  output step_t                 step_o,
  output attributes_t           attributes_o,
  output key_t                  key_o
);

  logic unused;
  assign unused = ^{clk_i, rst_ni, load_i, load_round_i, load_contract_i, load_deadline_i, arrival_valid_i, arrival_round_i, arrival_i, enter_i,
                    round_i, step_i, won_i, finish_i, Depth[0], Block, BlockTable};

endmodule
