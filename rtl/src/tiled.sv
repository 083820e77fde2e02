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
// Latency, k = log2 N, C = 1, or 2 if words lie in block RAM:
//   Pipelined: a tile may enter in every cycle; from its entry until it is known whether it leads C + 8 + M cycles, with M = 3 k for matches of
//     two in three steps, if Rounds >= C + 10 + 3 k, and otherwise M = 2 * ceil(k / 2) for matches of four in two.
//     A decision takes max(Rounds, C + 10 + M) cycles.
//   otherwise, with the paper's recirculating network: a tile may enter every k cycles; from its entry to the comparison C + 4 + k.
//     A decision takes max(Rounds * k, C + 6 + k) cycles. The winner is known Rounds * k + 1 cycles after the first SCHEDULE cycle began.
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
  localparam int unsigned Matches = Ways == 2 ? LaneWidth : (LaneWidth + 1) / 2;

  // More passes than can wait for the host.
  localparam int unsigned DropRecords = 32;
  localparam int unsigned DecisionRecords = 8;
  typedef logic [$clog2(DecisionRecords):0] pass_t;

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
  assign query_ready_o = (phase_q == Load) & ~asked_q & ~load_valid_i;

  // LOAD; after the reset every stream gets the contract of nobody.
  logic                   clears, load_q;
  logic [IdWidth-1:0]     load_id_q, clear_q;
  tick_t                  load_deadline_q;
  contract_t              load_contract_q;
  assign clears = phase_q == Clear;

  always_ff @(posedge clk_i) begin
    load_id_q       <= clears ? clear_q : load_id_i;
    load_deadline_q <= load_deadline_i;
    load_contract_q <= load_contract_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) load_q <= 1'b0;
    else load_q <= clears | (load_valid_i & load_ready_o);
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
      .load_i(load_q & (load_id_q[LaneWidth-1:0] == lane_t'(l))),
      .load_round_i(load_id_q[IdWidth-1:LaneWidth]),
      .load_contract_i(load_contract_q),
      .load_deadline_i(load_deadline_q),
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

  if (Pipelined) begin : gen_tree
    localparam int unsigned Depths = Steps * Matches;
    localparam int unsigned T = C + 6;

    typedef struct packed {
      logic   valid;
      round_t round;
      logic   first;
      logic   last;
      logic   decides;
    } exit_t;

    exit_t [Depths:0] exits;
    assign exits[0] = '{
      valid:   valid[T] & ~entries[T].query,
      round:   entries[T].tile.round,
      first:   entries[T].first,
      last:    entries[T].last,
      decides: entries[T].decides
    };
    for (genvar d = 1; d <= Depths; d++) begin : gen_delay
      exit_t exit_q;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) exit_q <= '0;
        else exit_q <= exits[d-1];
      end
      assign exits[d] = exit_q;
    end

    key_t  key;
    lane_t lane;

    tile_tournament #(
      .N(N), .Ways(Ways), .Steps(Steps)
    ) u_tournament (
      .clk_i, .keys_i(keys), .key_o(key), .lane_o(lane)
    );

    // A tile's winner is compared, y, and a cycle later it is known whether it leads, x. When the comparison begins, the two tiles before it
    // may still come to lead: it is compared with both of them and with the leader before them, and one of the three counts.
    exit_t  y_q, x_q;
    key_t   y_key_q, x_key_q, lead_key_q;
    lane_t  y_lane_q, x_lane_q, lead_lane_q;
    round_t lead_round_q;
    parts_t to_y_q, to_x_q, to_lead_q;
    logic   below_y_q, below_x_q, below_lead_q, x_wins_q, took, took_q;

    assign took = x_q.valid & x_wins_q;

    always_ff @(posedge clk_i) begin
      y_key_q      <= key;
      y_lane_q     <= lane;
      to_y_q       <= compare(key, y_key_q);
      to_x_q       <= compare(key, x_key_q);
      to_lead_q    <= compare(key, lead_key_q);
      below_y_q    <= exits[Depths].round < y_q.round;
      below_x_q    <= exits[Depths].round < x_q.round;
      below_lead_q <= exits[Depths].round < lead_round_q;
      x_key_q      <= y_key_q;
      x_lane_q     <= y_lane_q;
      x_wins_q     <= y_q.first | (took ? served_before(to_y_q, below_y_q)
                                        : took_q ? served_before(to_x_q, below_x_q) : served_before(to_lead_q, below_lead_q));
      if (took) begin
        lead_key_q   <= x_key_q;
        lead_lane_q  <= x_lane_q;
        lead_round_q <= x_q.round;
      end
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        y_q    <= '0;
        x_q    <= '0;
        took_q <= 1'b0;
      end else begin
        y_q    <= exits[Depths];
        x_q    <= y_q;
        took_q <= took;
      end
    end

    assign x_valid    = x_q.valid;
    assign x_first    = x_q.first;
    assign x_last     = x_q.last;
    assign x_decides  = x_q.decides;
    assign x_wins     = x_wins_q;
    assign x_tile     = '{round: x_q.round, won: 1'b0, lane: x_lane_q};
    assign lead_tile  = '{round: lead_round_q, won: ~lead_key_q.missing, lane: lead_lane_q};
    assign lead_valid = ~lead_key_q.missing;
    assign pace       = 1'b1;

    logic unused;
    assign unused = ^attributes;
  end else begin : gen_recirculating
    localparam int unsigned T = C + 4;
    localparam logic [2:0] Last = 3'(LaneWidth - 1);

    // A tile enters every k cycles.
    logic [2:0] pace_q, dimension_q;
    assign pace = pace_q == '0;

    // The tile in the network, and the one that leaves it, which may find the next one entering.
    typedef struct packed {
      round_t round;
      logic   first;
      logic   last;
      logic   decides;
    } exit_t;
    exit_t in_q, x_q;
    logic  busy_q, out_q, starts_now;
    assign starts_now = valid[T] & ~entries[T].query;

    attributes_t [N-1:0] ports, home;
    logic                unused_valid;
    id_t                 unused_winner;
    for (genvar l = 0; l < N; l++) begin : gen_port
      always_comb begin
        ports[l]    = attributes[l];
        ports[l].id = id_t'(l);
      end
    end

    shuffle_exchange #(
      .N(N), .Routing(Winner)
    ) u_network (
      .clk_i,
      .first_i(starts_now),
      .pass_i(3'd1),
      .dimension_i(dimension_q),
      .enable_i(1'b1),
      .ports_i(ports),
      .winner_valid_o(unused_valid),
      .winner_o(unused_winner),
      .home_o(home)
    );

    always_ff @(posedge clk_i) begin
      if (starts_now) begin
        in_q <= '{
          round:   entries[T].tile.round,
          first:   entries[T].first,
          last:    entries[T].last,
          decides: entries[T].decides
        };
      end
      x_q <= in_q;
    end

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        pace_q      <= '0;
        dimension_q <= '0;
        busy_q      <= 1'b0;
        out_q       <= 1'b0;
      end else begin
        pace_q      <= enter ? Last : pace_q - 3'(pace_q != '0);
        dimension_q <= starts_now ? 3'd1 : dimension_q + 3'd1;
        busy_q      <= starts_now | (busy_q & (dimension_q != Last));
        out_q       <= busy_q & (dimension_q == Last);
      end
    end

    // The tile's winner and the leader: whoever has the smaller round has the smaller number.
    attributes_t x, lead, lead_q;
    lane_t       lead_lane_q;
    round_t      lead_round_q;
    logic        wins;
    always_comb begin
      x       = home[0];
      lead    = lead_q;
      x.id    = id_t'(x_q.round > lead_round_q);
      lead.id = id_t'(x_q.round <= lead_round_q);
    end

    decision_block u_leader (.first_i(x), .second_i(lead), .first_wins_o(wins));

    always_ff @(posedge clk_i) begin
      if (x_valid & x_wins) begin
        lead_q       <= home[0];
        lead_lane_q  <= lane_t'(home[0].id);
        lead_round_q <= x_q.round;
      end
    end

    assign x_valid    = out_q;
    assign x_first    = x_q.first;
    assign x_last     = x_q.last;
    assign x_decides  = x_q.decides;
    assign x_wins     = x_first | wins;
    assign x_tile     = '{round: x_q.round, won: 1'b0, lane: lane_t'(home[0].id)};
    assign lead_tile  = '{round: lead_round_q, won: lead_q.valid, lane: lead_lane_q};
    assign lead_valid = lead_q.valid;

    logic unused;
    assign unused = ^{unused_valid, unused_winner, keys, home};
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

  // Records of drops: a word is set aside for every tile that enters.
  logic [N-1:0]  mask_q;
  logic          mask_valid_q, drop_push, drop_back_q, drop_ready, drop_valid, drop_pop;
  pass_t         mask_pass_q, drop_pass;
  round_t        mask_round_q, drop_round;
  logic [N-1:0]  drop_mask;
  logic [$clog2(DropRecords):0] drop_free_q, unused_drops;

  assign drop_push  = mask_valid_q & (|mask_q);
  assign drop_space = drop_free_q != '0;

  always_ff @(posedge clk_i) begin
    mask_q        <= dropped;
    mask_round_q  <= entries[C+2].tile.round;
    mask_pass_q   <= entries[C+2].pass;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mask_valid_q <= 1'b0;
      drop_back_q  <= 1'b0;
      drop_free_q  <= ($clog2(DropRecords) + 1)'(DropRecords);
    end else begin
      mask_valid_q <= valid[C+2] & ~entries[C+2].query;
      drop_back_q  <= mask_valid_q & ~(|mask_q);
      drop_free_q  <= drop_free_q - ($clog2(DropRecords) + 1)'(enter) + ($clog2(DropRecords) + 1)'(drop_back_q)
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

  assign decision_space = decision_free_q != '0;

  fifo #(
    .Depth(DecisionRecords), .Width(1 + IdWidth + 16)
  ) u_decisions (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_valid_i(done_q),
    .push_ready_o(decision_ready),
    .push_data_i({lead_valid & done_decides_q, lead_tile.round, lead_tile.lane, stamp_q}),
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
      decision_free_q <= decision_free_q - ($clog2(DecisionRecords) + 1)'(enter & first)
                         + ($clog2(DecisionRecords) + 1)'(decision_pop);
    end
  end

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
  logic               answer_q;
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
    if (!rst_ni) {status_valid_o, answer_q} <= '0;
    else {status_valid_o, answer_q} <= {answer_q, valid[C+4] & entries[C+4].query};
  end

  logic unused;
  assign unused = ^{asked.popped, lane5_q, space, drop_ready, decision_ready, unused_level, unused_drops, unused_decisions};

endmodule
