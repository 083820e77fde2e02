// Vertical tiling: N * Rounds streams on a network for N. The words of a tile are read, take their step and are written back while the tile
// before is in the network, so that saving and restoring costs no cycle.
//
// Stream round * N + lane is word `round` of lane `lane`. A pass takes every tile once: its streams take the step of the decision before, and
// compete; the winner of the tile meets the best of the tiles so far, the leader. Tiles circulate: whichever of the two tiles loses has no
// part in the decision any more, whatever comes, so it takes the next step at once, in the pass of the next decision, while this one is still
// being made; only the leader's tile waits for the end. So passes overlap, and nothing is computed that is not needed: no guess is made, and
// every stream may miss its deadline in every pass.
//
// Law: the decisions of `sharestreams` and of Scan with Rules { missed: Complete, early: Clamp }, and its states and counters. A stream sees
// an arrival in the pass of the decision after next at the latest: its tile takes it from the lane's letter box when it comes by, if the
// stream's queue is not full, and looks for it in the queue from the next pass on. observed_o tells which streams took a packet in a pass.
// Numbers break ties: lanes within a tile by the tree, rounds by the leader's comparison.
//
// Source: Krishnamurthy et al., "ShareStreams", sections 4 and 5 (vertical scaling); the circulation is ours. Twin: dwcs::Scan, and
// dwcs::device::Device for up to 32 streams.
//
// Latency: with k = log2 N and C = 1, or 2 if words lie in block RAM:
//   Pipelined: a tile may enter in every cycle; from its entry until it is known whether it leads C + 8 + M cycles, with M = 3 k for matches of
//     two in three steps, if Rounds >= C + 10 + 3 k, and otherwise M = 2 * ceil(k / 2) for matches of four in two.
//     A decision takes max(Rounds, C + 10 + M) cycles.
//   otherwise, with the paper's recirculating network: a tile may enter every k cycles; from its entry to the comparison C + 5 + k.
//     A decision takes max(Rounds * k, C + 7 + k) cycles. The winner is known Rounds * k + 1 cycles after the first SCHEDULE cycle began.
//
//   cycle        0   1   2   3  ..  L  L+1  L+2  L+3  L+4 ..      (4 tiles, L from entry to comparison)
//   enters       a   b   c   d              a'                    the primed ones with the next decision's step
//   compared                        a   b    c    d               a leads until c precedes it: a loses, enters L+2..
//   enters                              b'?  ..                   whoever loses enters in the cycle after
//
// What is asked for is told once the decision is made: records of drops, then the record of the decision after them.

module tiled
  import dwcs_pkg::*;
  import tiled_pkg::*;
#(
  /// Lanes, and ports of the network: 4 to 128, a power of two; without Pipelined at most 32.
  parameter int unsigned N         = 32,
  /// Tiles: streams of a lane, at least 2.
  parameter int unsigned Rounds    = 32,
  /// A tournament that takes one tile per cycle; otherwise the paper's network.
  parameter bit          Pipelined = 1'b1,
  /// Arrival times that a stream can have waiting, a power of two.
  parameter int unsigned Depth     = 16,
  /// The words of the lanes lie in block RAM; otherwise in distributed RAM.
  parameter bit          Block     = Rounds > 32,
  /// The tables of reciprocals lie in block RAM; otherwise in logic.
  parameter bit          BlockTable = 1'b1,
  localparam int unsigned RoundWidth = $clog2(Rounds),
  localparam int unsigned LaneWidth  = $clog2(N),
  localparam int unsigned IdWidth    = RoundWidth + LaneWidth,
  localparam int unsigned DropWidth  = RoundWidth + N,
  localparam int unsigned WinWidth   = IdWidth + 16,
  // A kind bit above the longer of the two.
  localparam int unsigned RecordWidth = 1 + (DropWidth > WinWidth ? DropWidth : WinWidth)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  /// Decides; otherwise streams can be loaded once load_ready_o is set.
  input  logic                   enable_i,
  /// The clock is time_i. Otherwise it counts winners, from the last time_i that it saw with outside_i set.
  input  logic                   outside_i,
  /// The time in ticks; at most 2^14 may pass between two passes.
  input  tick_t                  time_i,
  /// LOAD: what a stream asks for.
  input  logic                   load_valid_i,
  output logic                   load_ready_o,
  input  logic [IdWidth-1:0]     load_id_i,
  input  tick_t                  load_deadline_i,
  input  contract_t              load_contract_i,
  /// Arrivals.
  input  logic                   arrival_valid_i,
  output logic                   arrival_ready_o,
  input  logic [IdWidth-1:0]     arrival_id_i,
  input  tick_t                  arrival_i,
  /// Records. Top bit set: {round, lanes} whose heads were dropped before the next decision. Otherwise {timestamp, winner} of a decision.
  output logic                   record_valid_o,
  input  logic                   record_ready_i,
  output logic [RecordWidth-1:0] record_o,
  /// Questions, answered while streams can be loaded.
  input  logic                   query_valid_i,
  output logic                   query_ready_o,
  input  logic [IdWidth-1:0]     query_id_i,
  /// Where the stream stands.
  output logic                   status_valid_o,
  output status_t                status_o,
  /// The clock of the pass that is entering.
  output tick_t                  now_o,
  /// For a test bench: a tile is written back after a step until finish_o, in which stream winner_o was being served if served_o.
  output logic                   update_o,
  output logic [RoundWidth-1:0]  update_round_o,
  output logic                   served_o,
  output logic [IdWidth-1:0]     winner_o,
  output tick_t                  finish_o,
  output step_t [N-1:0]          observed_o
);

  typedef logic [RoundWidth-1:0] round_t;
  typedef logic [LaneWidth-1:0]  lane_t;

  localparam int unsigned C = Block ? 2 : 1;
  // Matches of two take fewer comparisons, those of three steps a faster clock; matches of four in two steps take less time, which counts if
  // a pass has few tiles.
  localparam int unsigned Ways    = Rounds >= C + 10 + 3 * LaneWidth ? 2 : 4;
  localparam int unsigned Steps   = Ways == 2 ? 3 : 2;

  // What goes with a tile.
  typedef struct packed {
    round_t round;
    // Stream `lane` of the tile is being served.
    logic   won;
    lane_t  lane;
  } tile_t;

  typedef struct packed {
    tile_t tile;
    logic  first;
    logic  last;
    // It takes a step; otherwise the decision is made with what is.
    logic  step;
    // Of the pass: it ends in a decision, and its number.
    logic  decides;
    pass_t pass;
    logic  query;
    tick_t finish;
  } entry_t;

  typedef enum logic [1:0] {
    Clear,
    Load,
    Seed,
    Run
  } phase_e;

  phase_e phase_q;
  round_t count_q;
  logic   last_count, asked_q;

  assign last_count    = count_q == round_t'(Rounds - 1);
  assign load_ready_o  = (phase_q == Load) & ~asked_q;
  // LOAD, of which lanes see what they need a cycle later; after the reset every stream gets the contract of nobody.
  logic                   clears, load_q;
  logic [IdWidth-1:0]     load_id_q, clear_q;
  logic [N-1:0]           load_here_q;
  round_t                 load_round_q;
  tick_t                  load_deadline_q, lane_deadline_q;
  contract_t              load_contract_q, lane_contract_q;
  assign clears = phase_q == Clear;
  // Not before the last contract is there.
  assign query_ready_o = (phase_q == Load) & ~asked_q & ~load_valid_i & ~load_q;

  always_ff @(posedge clk_i) begin
    load_id_q       <= clears ? clear_q : load_id_i;
    load_deadline_q <= load_deadline_i;
    load_contract_q <= load_contract_i;
    load_round_q    <= load_id_q[IdWidth-1:LaneWidth];
    lane_deadline_q <= load_deadline_q;
    lane_contract_q <= load_contract_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      load_q      <= 1'b0;
      load_here_q <= '0;
    end else begin
      load_q <= clears | (load_valid_i & load_ready_o);
      for (int unsigned l = 0; l < N; l++) load_here_q[l] <= load_q & (load_id_q[LaneWidth-1:0] == lane_t'(l));
    end
  end

  // Tiles that wait for their next step.
  logic  push, head_valid, enter, space, stored_valid, store, take;
  tile_t pushed, head, stored;
  logic [$clog2(Rounds):0] unused_level;

  assign head_valid = stored_valid | push;
  assign head       = stored_valid ? stored : pushed;
  assign take       = enter & stored_valid;
  assign store      = push & (stored_valid | ~enter);

  fifo #(
    .Depth(1 << RoundWidth), .Width($bits(tile_t))
  ) u_tiles (
    .clk_i,
    .rst_ni,
    .clear_i(phase_q == Load),
    .push_valid_i(store),
    .push_ready_o(space),
    .push_data_i(pushed),
    .pop_valid_o(stored_valid),
    .pop_ready_i(take),
    .pop_data_o(stored),
    .level_o(unused_level)
  );

  // Entry.
  logic   first, last, starts, stopped_q, stepped_q, pace, query;
  pass_t  pass_q;
  round_t entered_q;
  logic   settled_q, lead_valid, drop_space, decision_space;
  tick_t  now_q, now_d;
  entry_t entry_d, entry_q;
  logic   entry_valid_q;

  assign first  = entered_q == '0;
  assign last   = entered_q == round_t'(Rounds - 1);
  // Whether somebody is being served is known as soon as a stream with a packet leads.
  assign starts = ~stopped_q & decision_space & (outside_i | ~stepped_q | lead_valid | settled_q);
  assign enter  = (phase_q == Run) & head_valid & drop_space & pace & (~first | starts);
  assign now_d  = ~first | ~stepped_q ? now_q : outside_i ? time_i : now_q + 16'(lead_valid);
  assign query  = query_valid_i & query_ready_o;

  logic decides_q, decides;
  assign decides = first ? enable_i : decides_q;

  assign entry_d = '{
    tile:    query ? '{round: query_id_i[IdWidth-1:LaneWidth], won: 1'b0, lane: query_id_i[LaneWidth-1:0]} : head,
    first:   first,
    last:    last,
    step:    stepped_q & ~query,
    decides: decides,
    pass:    pass_q + pass_t'(first),
    query:   query,
    finish:  now_d
  };
  assign now_o = now_q;

  always_ff @(posedge clk_i) begin
    entry_q <= entry_d;
    if (enter) begin
      decides_q <= decides;
      now_q     <= now_d;
    end else if (phase_q == Load && outside_i) begin
      now_q <= time_i;
    end
  end

  logic all_out;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      phase_q       <= Clear;
      count_q       <= '0;
      clear_q       <= '0;
      asked_q       <= 1'b0;
      entered_q     <= '0;
      entry_valid_q <= 1'b0;
      stopped_q     <= 1'b0;
      stepped_q     <= 1'b0;
      pass_q        <= '0;
    end else begin
      entry_valid_q <= enter | query;
      if (query) asked_q <= 1'b1;
      else if (status_valid_o) asked_q <= 1'b0;
      if (enter) begin
        entered_q <= last ? '0 : entered_q + 1'b1;
        if (first) pass_q <= pass_q + 1'b1;
        if (last) begin
          stepped_q <= 1'b1;
          stopped_q <= ~decides;
        end
      end
      unique case (phase_q)
        Clear: begin
          clear_q <= clear_q + 1'b1;
          if (clear_q == '1) phase_q <= Load;
        end
        Load: begin
          stepped_q <= 1'b0;
          stopped_q <= 1'b0;
          if (enable_i & ~asked_q & ~load_valid_i & ~query_valid_i) phase_q <= Seed;
        end
        Seed: begin
          count_q <= last_count ? '0 : count_q + 1'b1;
          if (last_count) phase_q <= Run;
        end
        default: if (stopped_q & all_out) phase_q <= Load;
      endcase
    end
  end

  // The tile along the lanes.
  localparam int unsigned Stages = C + 7;
  logic   [Stages-1:0] valid;
  entry_t [Stages-1:0] entries;

  assign valid[0]   = entry_valid_q;
  assign entries[0] = entry_q;

  for (genvar s = 1; s < Stages; s++) begin : gen_stage
    logic   valid_q;
    entry_t stage_q;
    always_ff @(posedge clk_i) stage_q <= entries[s-1];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) valid_q <= 1'b0;
      else valid_q <= valid[s-1];
    end
    assign valid[s]   = valid_q;
    assign entries[s] = stage_q;
  end

  // Arrivals go to the letter boxes.
  logic                   arrival_valid_q, arrival_taken;
  logic [IdWidth-1:0]     arrival_id_q;
  tick_t                  arrival_q;
  logic [N-1:0]           box_ready, box_push;

  assign arrival_taken   = |(box_push & box_ready);
  assign arrival_ready_o = ~arrival_valid_q | arrival_taken;

  always_ff @(posedge clk_i) begin
    if (arrival_ready_o) begin
      arrival_id_q <= arrival_id_i;
      arrival_q    <= arrival_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) arrival_valid_q <= 1'b0;
    else if (arrival_ready_o) arrival_valid_q <= arrival_valid_i;
  end

  key_t        [N-1:0] keys;
  attributes_t [N-1:0] attributes;
  logic        [N-1:0] dropped, late;

  for (genvar l = 0; l < N; l++) begin : gen_lane
    logic won_q;
    // Decided a cycle ahead.
    always_ff @(posedge clk_i) won_q <= valid[C-1] & entries[C-1].step & entries[C-1].tile.won & (entries[C-1].tile.lane == lane_t'(l));

    assign box_push[l] = arrival_valid_q & (arrival_id_q[LaneWidth-1:0] == lane_t'(l));

    tile_lane #(
      .Rounds(Rounds), .Depth(Depth), .Block(Block), .BlockTable(BlockTable)
    ) u_lane (
      .clk_i,
      .rst_ni,
      .load_i(load_here_q[l]),
      .load_round_i(load_round_q),
      .load_contract_i(lane_contract_q),
      .load_deadline_i(lane_deadline_q),
      .arrival_valid_i(box_push[l]),
      .arrival_ready_o(box_ready[l]),
      .arrival_round_i(arrival_id_q[IdWidth-1:LaneWidth]),
      .arrival_i(arrival_q),
      .enter_i(valid[0]),
      .round_i(entries[0].tile.round),
      .step_i(valid[C] & entries[C].step),
      .won_i(won_q),
      .finish_i(entries[C].finish),
      .dropped_o(dropped[l]),
      .late_o(late[l]),
      .step_o(observed_o[l]),
      .attributes_o(attributes[l]),
      .key_o(keys[l])
    );
  end

  assign update_o       = valid[C+4] & entries[C+4].step;
  assign update_round_o = entries[C+4].tile.round;
  assign served_o       = entries[C+4].tile.won;
  assign winner_o       = {entries[C+4].tile.round, entries[C+4].tile.lane};
  assign finish_o       = entries[C+4].finish;

  // The network: the tile's winner, and the leader.
  logic  x_valid, x_first, x_last, x_decides, x_wins;
  tile_t x_tile, lead_tile;

  assign x_tile.won    = 1'b0;
  assign lead_tile.won = lead_valid;

  if (Pipelined) begin : gen_tree
    localparam int unsigned T = C + 6;

    tile_tree #(
      .N(N), .Rounds(Rounds), .Ways(Ways), .Steps(Steps)
    ) u_tree (
      .clk_i,
      .rst_ni,
      .valid_i(valid[T] & ~entries[T].query),
      .round_i(entries[T].tile.round),
      .first_i(entries[T].first),
      .last_i(entries[T].last),
      .decides_i(entries[T].decides),
      .keys_i(keys),
      .compared_o(x_valid),
      .compared_round_o(x_tile.round),
      .compared_lane_o(x_tile.lane),
      .compared_first_o(x_first),
      .compared_last_o(x_last),
      .compared_decides_o(x_decides),
      .leads_o(x_wins),
      .lead_valid_o(lead_valid),
      .lead_round_o(lead_tile.round),
      .lead_lane_o(lead_tile.lane)
    );

    assign pace = 1'b1;

    logic unused;
    assign unused = ^attributes;
  end else begin : gen_recirculating
    localparam int unsigned T = C + 4;

    tile_recirculation #(
      .N(N), .Rounds(Rounds)
    ) u_recirculation (
      .clk_i,
      .rst_ni,
      .valid_i(valid[T] & ~entries[T].query),
      .round_i(entries[T].tile.round),
      .first_i(entries[T].first),
      .last_i(entries[T].last),
      .decides_i(entries[T].decides),
      .attributes_i(attributes),
      .compared_o(x_valid),
      .compared_round_o(x_tile.round),
      .compared_lane_o(x_tile.lane),
      .compared_first_o(x_first),
      .compared_last_o(x_last),
      .compared_decides_o(x_decides),
      .leads_o(x_wins),
      .lead_valid_o(lead_valid),
      .lead_round_o(lead_tile.round),
      .lead_lane_o(lead_tile.lane)
    );

    // A tile enters every k cycles.
    logic [2:0] pace_q;
    assign pace = pace_q == '0;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) pace_q <= '0;
      else if (enter) pace_q <= 3'(LaneWidth - 1);
      else if (!pace) pace_q <= pace_q - 1'b1;
    end

    logic unused;
    assign unused = ^keys;
  end

  // Who loses goes back at once, the winner at the end of the pass.
  logic done_q, done_decides_q;
  tick_t stamp_q;

  always_ff @(posedge clk_i) begin
    done_decides_q <= x_decides;
    if (x_valid & x_first) stamp_q <= now_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      done_q    <= 1'b0;
      settled_q <= 1'b0;
    end else begin
      done_q <= x_valid & x_last;
      if (x_valid) settled_q <= x_last;
    end
  end

  assign all_out = done_q;

  always_comb begin
    push   = 1'b1;
    pushed = x_wins ? lead_tile : x_tile;
    pushed.won = 1'b0;
    if (phase_q == Seed) begin
      pushed = '{round: count_q, won: 1'b0, lane: '0};
    end else if (done_q) begin
      pushed = lead_tile;
    end else begin
      push = x_valid & ~x_first;
    end
  end

  tile_records #(
    .N(N), .Rounds(Rounds)
  ) u_records (
    .clk_i,
    .rst_ni,
    .enter_i(enter),
    .begins_i(enter & first),
    .drop_space_o(drop_space),
    .decision_space_o(decision_space),
    .valid_i(valid[C+2] & ~entries[C+2].query),
    .round_i(entries[C+2].tile.round),
    .pass_i(entries[C+2].pass),
    .dropped_i(dropped),
    .done_i(done_q),
    .served_i(lead_valid & done_decides_q),
    .winner_i({lead_tile.round, lead_tile.lane}),
    .stamp_i(stamp_q),
    .record_valid_o,
    .record_ready_i,
    .record_o
  );

  // What only a winner counts: one stream per decision. Stages C + 1 to C + 4.
  typedef struct packed {
    logic [15:0] met;
    logic [15:0] late;
  } services_t;

  (* ram_style = "block" *) services_t services_q[1 << IdWidth];
  services_t services_raw_q, services3_q, services4_q;
  logic      won2_q, won3_q, won4_q, late3_q;

  always_ff @(posedge clk_i) begin
    services_raw_q     <= services_q[{entries[C+1].tile.round, entries[C+1].tile.lane}];
    won2_q             <= valid[C+1] & entries[C+1].step & entries[C+1].tile.won;
    services3_q        <= services_raw_q;
    won3_q             <= won2_q;
    late3_q            <= |late;
    services4_q.met    <= services3_q.met + 16'(won3_q & !late3_q);
    services4_q.late   <= services3_q.late + 16'(won3_q & late3_q);
    won4_q             <= won3_q;
    if (won4_q | load_q) services_q[load_q ? load_id_q : winner_o] <= load_q ? '0 : services4_q;
  end

  // The answer: the lane out of its group, then the group.
  localparam int unsigned Group  = 4;
  localparam int unsigned Groups = N / Group;
  step_t [Groups-1:0] groups_q;
  step_t              asked;
  services_t          services5_q;
  logic               answer_q, status_q;
  assign status_valid_o = status_q;
  logic [LaneWidth-1:0] lane5_q;

  for (genvar g = 0; g < Groups; g++) begin : gen_group
    step_t [Group-1:0] members;
    assign members = observed_o[Group*g+:Group];
    always_ff @(posedge clk_i) groups_q[g] <= members[entries[C+4].tile.lane[1:0]];
  end

  if (Groups == 1) begin : gen_alone
    assign asked = groups_q[0];
  end else begin : gen_groups
    assign asked = groups_q[lane5_q[LaneWidth-1:2]];
  end

  always_ff @(posedge clk_i) begin
    services5_q <= services4_q;
    lane5_q     <= entries[C+4].tile.lane;
    status_o    <= '{
      state: asked.state,
      counters: '{
        met:        services5_q.met,
        late:       services5_q.late,
        missed:     asked.misses.missed,
        violations: asked.misses.violations,
        dropped:    asked.droppable ? asked.misses.missed - services5_q.late : '0
      }
    };
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      answer_q <= 1'b0;
      status_q <= 1'b0;
    end else begin
      answer_q <= valid[C+4] & entries[C+4].query;
      status_q <= answer_q;
    end
  end

  logic unused;
  assign unused = ^{asked.popped, lane5_q, space, unused_level};

endmodule
