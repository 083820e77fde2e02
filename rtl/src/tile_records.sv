// The records of the tiled engine: which heads were dropped, then who is served.
//
// A word is set aside for every tile that enters, in case it drops something, and for every pass, so that nothing under way ever waits.
//
// Law: records of the drops of a pass, in the order of its tiles, then that of its decision, if somebody is served; then the next pass, whose
// first tiles drop before this decision is made. A record that is offered stays until it is taken.
//
// Source: Krishnamurthy et al., "ShareStreams", section 3: winners and times to the host. Twin: none.
// Latency: one cycle from done_i, two from valid_i to record_valid_o.

module tile_records
  import dwcs_pkg::*;
  import tiled_pkg::*;
#(
  /// Lanes.
  parameter int unsigned N      = 32,
  /// Tiles.
  parameter int unsigned Rounds = 32,
  localparam int unsigned RoundWidth  = $clog2(Rounds),
  localparam int unsigned IdWidth     = RoundWidth + $clog2(N),
  localparam int unsigned DropWidth   = RoundWidth + N,
  localparam int unsigned RecordWidth = 1 + (DropWidth > IdWidth + 16 ? DropWidth : IdWidth + 16)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  /// A tile enters, with it a pass.
  input  logic                   enter_i,
  input  logic                   begins_i,
  /// There is room for what they may tell.
  output logic                   drop_space_o,
  output logic                   decision_space_o,
  /// A tile has taken its step: its round and pass, and whose heads it drops.
  input  logic                   valid_i,
  input  logic [RoundWidth-1:0]  round_i,
  input  pass_t                  pass_i,
  input  logic [N-1:0]           dropped_i,
  /// A pass is over: somebody is served, who, and the clock.
  input  logic                   done_i,
  input  logic                   served_i,
  input  logic [IdWidth-1:0]     winner_i,
  input  tick_t                  stamp_i,
  /// To the host: with the top bit set {round, lanes} of drops, otherwise {timestamp, winner}.
  output logic                   record_valid_o,
  input  logic                   record_ready_i,
  output logic [RecordWidth-1:0] record_o
);

  // Records of drops: a word is set aside for every tile that enters.
  localparam int unsigned DropRecords = 32;

  logic [N-1:0]  mask_q;
  logic          mask_valid_q, drop_push, drop_back_q, drop_ready, drop_valid, drop_pop;
  pass_t         mask_pass_q, drop_pass;
  logic [RoundWidth-1:0] mask_round_q, drop_round;
  logic [N-1:0]  drop_mask;
  logic [$clog2(DropRecords):0] drop_free_q, unused_drops;

  assign drop_push  = mask_valid_q & (|mask_q);
  assign drop_space_o = drop_free_q != '0;

  always_ff @(posedge clk_i) begin
    mask_q       <= dropped_i;
    mask_round_q <= round_i;
    mask_pass_q  <= pass_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mask_valid_q <= 1'b0;
      drop_back_q  <= 1'b0;
      drop_free_q  <= ($clog2(DropRecords) + 1)'(DropRecords);
    end else begin
      mask_valid_q <= valid_i;
      drop_back_q  <= mask_valid_q & ~(|mask_q);
      drop_free_q  <= drop_free_q - ($clog2(DropRecords) + 1)'(enter_i) + ($clog2(DropRecords) + 1)'(drop_back_q)
                      + ($clog2(DropRecords) + 1)'(drop_pop);
    end
  end

  fifo #(
    .Depth(DropRecords), .Width($bits(pass_t) + RoundWidth + N)
  ) u_drops (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_valid_i(drop_push),
    .push_ready_o(drop_ready),
    .push_data_i({mask_pass_q, mask_round_q, mask_q}),
    .pop_valid_o(drop_valid),
    .pop_ready_i(drop_pop),
    .pop_data_o({drop_pass, drop_round, drop_mask}),
    .level_o(unused_drops)
  );

  // Records of decisions: a word is set aside for every pass.
  logic               decision_ready, decision_valid, decision_pop, decision_served;
  logic [IdWidth-1:0] decision_id;
  tick_t              decision_stamp;
  logic [$clog2(DecisionRecords):0] decision_free_q, unused_decisions;

  assign decision_space_o = decision_free_q != '0;

  fifo #(
    .Depth(DecisionRecords), .Width(1 + IdWidth + 16)
  ) u_decisions (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_valid_i(done_i),
    .push_ready_o(decision_ready),
    .push_data_i({served_i, winner_i, stamp_i}),
    .pop_valid_o(decision_valid),
    .pop_ready_i(decision_pop),
    .pop_data_o({decision_served, decision_id, decision_stamp}),
    .level_o(unused_decisions)
  );

  // Drops of the same pass go before its decision.
  pass_t turn_q;
  logic  drop_first;

  assign drop_first     = drop_valid & (drop_pass == turn_q);
  assign record_valid_o = drop_first | (decision_valid & decision_served);
  assign record_o       = drop_first ? {1'b1, (RecordWidth - 1)'({drop_round, drop_mask})}
                                     : {1'b0, (RecordWidth - 1)'({decision_stamp, decision_id})};
  assign drop_pop       = drop_first & record_ready_i;
  assign decision_pop   = ~drop_first & decision_valid & (record_ready_i | ~decision_served);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      turn_q          <= pass_t'(1);
      decision_free_q <= ($clog2(DecisionRecords) + 1)'(DecisionRecords);
    end else begin
      turn_q          <= turn_q + pass_t'(decision_pop);
      decision_free_q <= decision_free_q - ($clog2(DecisionRecords) + 1)'(begins_i)
                         + ($clog2(DecisionRecords) + 1)'(decision_pop);
    end
  end

  logic unused;
  assign unused = ^{drop_ready, decision_ready, unused_drops, unused_decisions};

endmodule
