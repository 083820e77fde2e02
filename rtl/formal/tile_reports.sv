// Proves of the records of the tiled engine that none is lost however slow the host is, and that one that is offered stays unchanged until it is taken.
// Drops of a pass come before its decision, in their order.
//
// Sizes: 4 lanes, two rounds, queues as they are.
// Assumed: tiles and passes begin only if there is room and report once, drops of a pass before its decision (tile_circulation).
// How: induction over cycles.

module tile_reports
  import dwcs_pkg::*;
  import tiled_pkg::*;
#(
  parameter int unsigned N      = 4,
  parameter int unsigned Rounds = 2,
  localparam int unsigned RoundWidth  = $clog2(Rounds),
  localparam int unsigned IdWidth     = RoundWidth + $clog2(N),
  localparam int unsigned RecordWidth = 1 + (RoundWidth + N > IdWidth + 16 ? RoundWidth + N : IdWidth + 16)
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  enter_i,
  input logic                  begins_i,
  input logic                  valid_i,
  input logic [RoundWidth-1:0] round_i,
  input pass_t                 pass_i,
  input logic [N-1:0]          dropped_i,
  input logic                  done_i,
  input logic                  served_i,
  input logic [IdWidth-1:0]    winner_i,
  input tick_t                 stamp_i,
  input logic                  record_ready_i
);

  logic                   drop_space, decision_space, record_valid;
  logic [RecordWidth-1:0] record;

  tile_records #(
    .N(N), .Rounds(Rounds)
  ) u_records (
    .clk_i,
    .rst_ni,
    .enter_i,
    .begins_i,
    .drop_space_o(drop_space),
    .decision_space_o(decision_space),
    .valid_i,
    .round_i,
    .pass_i,
    .dropped_i,
    .done_i,
    .served_i,
    .winner_i,
    .stamp_i,
    .record_valid_o(record_valid),
    .record_ready_i,
    .record_o(record)
  );

  // Tiles and passes under way, passes done.
  logic                   started_q = 1'b0;
  logic [5:0]             tiles_q;
  logic [3:0]             passes_q;
  pass_t                  done_q;
  logic                   waited_q = 1'b0;
  logic [RecordWidth-1:0] record_q;

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    waited_q  <= started_q & rst_ni & record_valid & ~record_ready_i;
    record_q  <= record;
    if (!rst_ni || !started_q) begin
      tiles_q  <= '0;
      passes_q <= '0;
      done_q   <= '0;
    end else begin
      tiles_q  <= tiles_q + 6'(enter_i) - 6'(valid_i);
      passes_q <= passes_q + 4'(begins_i) - 4'(done_i);
      done_q   <= done_q + pass_t'(done_i);
    end
  end

  // How far the pass of a tile, of a word on its way to the queue, and of the oldest word lie behind the last one that is done.
  pass_t ahead, mask_ahead, drop_ahead, turn_behind;
  assign ahead       = pass_i - done_q - pass_t'(done_i);
  assign mask_ahead  = u_records.mask_pass_q - done_q;
  assign turn_behind = done_q - (u_records.turn_q - pass_t'(1));

  always_comb begin
    // Every run begins with a reset.
    reset_first: assume (started_q | ~rst_ni);
    enters_with_room: assume (~enter_i | drop_space);
    begins_with_room: assume (~begins_i | decision_space);
    tells_once: assume ((~valid_i | (tiles_q != '0)) & (~done_i | (passes_q != '0)));
    drops_first: assume (~valid_i | (ahead == pass_t'(1)) | (ahead == pass_t'(2)));
    if (started_q & rst_ni) begin
      tiles_counted: assert (8'(u_records.drop_free_q) + 8'(u_records.unused_drops) + 8'(tiles_q) + 8'(u_records.mask_valid_q)
                             + 8'(u_records.drop_back_q) == 8'd32);
      passes_counted: assert (6'(u_records.decision_free_q) + 6'(u_records.unused_decisions) + 6'(passes_q) == 6'd8);
      turn_counted: assert (4'(turn_behind) == 4'(u_records.unused_decisions));
      if (u_records.mask_valid_q) mask_later: assert ((mask_ahead == pass_t'(1)) | (mask_ahead == pass_t'(2)));
      no_drop_lost: assert (~u_records.drop_push | u_records.drop_ready);
      no_decision_lost: assert (~done_i | u_records.decision_ready);
      if (waited_q) stays: assert (record_valid & (record == record_q));
      drop_waits: cover (record_valid & ~record_ready_i & record[RecordWidth-1] & (u_records.unused_drops == 6'd3) & (done_q == pass_t'(2)));
      decision_waits: cover (waited_q & ~record[RecordWidth-1] & u_records.drop_valid);
    end
  end

endmodule
