// Proves of the tiled engine that its tiles circulate. Between two LOADs none is lost, none is under way twice, every pass takes each of them once, and a
// tile comes again as late as its lane needs (tile_context). Tiles and passes report as tile_reports assumes, and an arrival that has to wait
// stays offered.
//
// Sizes: 4 lanes, two rounds. Lanes (abstractions/tiles), the winner of a tile and the room for records are arbitrary.
// How: bounded, from a reset; the host is arbitrary.

module tile_circulation
  import dwcs_pkg::*;
  import tiled_pkg::*;
#(
  parameter int unsigned N      = 4,
  parameter int unsigned Rounds = 2,
  localparam int unsigned RoundWidth  = $clog2(Rounds),
  localparam int unsigned IdWidth     = RoundWidth + $clog2(N),
  localparam int unsigned RecordWidth = 1 + (RoundWidth + N > IdWidth + 16 ? RoundWidth + N : IdWidth + 16)
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               enable_i,
  input logic               outside_i,
  input tick_t              time_i,
  input logic               load_valid_i,
  input logic [IdWidth-1:0] load_id_i,
  input tick_t              load_deadline_i,
  input contract_t          load_contract_i,
  input logic               arrival_valid_i,
  input logic [IdWidth-1:0] arrival_id_i,
  input tick_t              arrival_i,
  input logic               record_ready_i,
  input logic               query_valid_i,
  input logic [IdWidth-1:0] query_id_i
);

  typedef logic [RoundWidth-1:0] round_t;

  logic                   load_ready, arrival_ready, record_valid, query_ready, status_valid, update, served;
  logic [RecordWidth-1:0] record;
  status_t                status;
  tick_t                  now, finish;
  round_t                 update_round;
  logic [IdWidth-1:0]     winner;
  step_t [N-1:0]          observed;

  tiled #(
    .N(N), .Rounds(Rounds)
  ) u_engine (
    .clk_i,
    .rst_ni,
    .enable_i,
    .outside_i,
    .time_i,
    .load_valid_i,
    .load_ready_o(load_ready),
    .load_id_i,
    .load_deadline_i,
    .load_contract_i,
    .arrival_valid_i,
    .arrival_ready_o(arrival_ready),
    .arrival_id_i,
    .arrival_i,
    .record_valid_o(record_valid),
    .record_ready_i,
    .record_o(record),
    .query_valid_i,
    .query_ready_o(query_ready),
    .query_id_i,
    .status_valid_o(status_valid),
    .status_o(status),
    .now_o(now),
    .update_o(update),
    .update_round_o(update_round),
    .served_o(served),
    .winner_o(winner),
    .finish_o(finish),
    .observed_o(observed)
  );

  logic seeds, runs, loads, enters, returns;
  round_t entering, returning;
  assign seeds     = u_engine.phase_q == 2'd2;
  assign runs      = u_engine.phase_q == 2'd3;
  assign loads     = u_engine.phase_q == 2'd1;
  assign enters    = u_engine.enter;
  assign entering  = u_engine.head.round;
  assign returns   = runs & u_engine.push;
  assign returning = u_engine.pushed.round;

  // Tiles that wait, tiles that this pass has taken, cycles since each of them entered; passes begun and done, tiles that have not reported drops yet.
  logic                   started_q = 1'b0;
  logic [Rounds-1:0]      waits_q, taken_q;
  logic [Rounds-1:0][2:0] since_q;
  pass_t                  passes_q, done_q, ahead;
  logic [4:0]             tiles_q;
  logic                   tells;
  // What had to wait in the cycle before.
  logic                   arrival_waits_q, ran_q;
  logic [IdWidth-1:0]     arrival_id_q;
  tick_t                  arrival_q;

  assign tells = u_engine.valid[3] & ~u_engine.entries[3].query;
  assign ahead = u_engine.entries[3].pass - done_q - pass_t'(u_engine.done_q);

  always_ff @(posedge clk_i) begin
    started_q       <= 1'b1;
    ran_q           <= runs;
    arrival_waits_q <= started_q & rst_ni & u_engine.arrival_valid_q & ~u_engine.arrival_taken;
    arrival_id_q    <= u_engine.arrival_id_q;
    arrival_q       <= u_engine.arrival_q;
    for (int unsigned r = 0; r < Rounds; r++) begin
      if (since_q[r] != 3'd7) since_q[r] <= since_q[r] + 3'd1;
    end
    if (!started_q) begin
      waits_q  <= '0;
      taken_q  <= '0;
      since_q  <= '1;
      passes_q <= '0;
      done_q   <= '0;
      tiles_q  <= '0;
    end else if (loads) begin
      waits_q <= '0;
      taken_q <= '0;
    end else begin
      done_q  <= done_q + pass_t'(u_engine.done_q);
      tiles_q <= tiles_q + 5'(enters) - 5'(tells);
      if (seeds & u_engine.push) waits_q[returning] <= 1'b1;
      if (returns) waits_q[returning] <= 1'b1;
      if (enters) begin
        // A tile may enter in the cycle in which it comes back.
        waits_q[entering] <= 1'b0;
        taken_q           <= (u_engine.first ? '0 : taken_q) | (Rounds'(1) << entering);
        since_q[entering] <= 3'd1;
        if (u_engine.first) passes_q <= passes_q + pass_t'(1);
      end
    end
  end

  always_comb begin
    // Every run begins with a reset.
    reset_first: assume (rst_ni == started_q);
    if (started_q) begin
      if (returns) one_place: assert (~waits_q[returning]);
      if (enters) begin
        waits: assert (waits_q[entering] | (u_engine.push & (returning == entering)));
        apart: assert (since_q[entering] == 3'd7);
        if (u_engine.first) pass_is_full: assert ((passes_q == '0) | (taken_q == '0) | (&taken_q));
        else once_a_pass: assert (~taken_q[entering]);
        if (u_engine.last) last_of_pass: assert (&(taken_q | (Rounds'(1) << entering)));
      end
      room_for_tiles: assert (~u_engine.store | u_engine.space);
      if (u_engine.done_q) all_back: assert (runs & (~u_engine.x_valid | u_engine.x_first));
      if (ran_q & loads) none_lost: assert (&waits_q);
      // Also while a contract is still on its way to the lanes.
      load_finds_none: assert (~(u_engine.load_q | (|u_engine.load_here_q))
                               | ((loads | seeds | u_engine.clears) & (u_engine.valid[7:0] == '0)));
      if (tells) tells_once: assert ((tiles_q != '0) & ((ahead == pass_t'(1)) | (ahead == pass_t'(2))));
      if (u_engine.done_q) ends_once: assert (passes_q != done_q);
      if (arrival_waits_q) begin
        arrival_stays: assert (u_engine.arrival_valid_q & (u_engine.arrival_id_q == arrival_id_q) & (u_engine.arrival_q == arrival_q));
      end
      decides_again: cover (u_engine.done_q & u_engine.lead_valid & u_engine.done_decides_q & (done_q == pass_t'(1)));
      stops: cover (ran_q & loads);
      other_leads: cover (u_engine.x_valid & u_engine.x_wins & ~u_engine.x_first);
    end
  end

  logic unused;
  assign unused = ^{record_valid, record, load_ready, arrival_ready, query_ready, status_valid, status, now, update, update_round, served, winner, finish, observed};

endmodule
