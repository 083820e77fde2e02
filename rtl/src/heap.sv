// Decisions by events: streams with packets lie in a heap, and only those at its top are looked at: who is served, and whose deadlines have come.
//
// Everything happens in turns of Period cycles, 5, or with Block 6. In a turn the record of one stream is read, what becomes of the stream is
// computed, and the heap is put in order. The turn is that of the first stream of the heap, which misses a deadline if that has come and is
// served otherwise, or that of a stream that has been without packets and gets one; those take turns in turn. What the stream's window will be
// worth after its next event is computed behind the turn and kept with the stream: another turn of the same stream comes two turns later at
// the earliest. Beside its turns the engine looks up, once in every turn, the stream for which a packet has come or a question is asked.
//
// Law: the decisions of Scan with Rules { missed: Complete, early: Clamp }, its states and counters, y' up to 255. A decision takes 1 + m + i
// turns, of m deadlines that have come and i packets for streams without any; nothing is assumed about m, which may be the number of all streams.
// A packet is seen some turns after it was taken. Before a stream is served, all deadlines up to the clock have been accounted for. At most
// 2^14 ticks may pass between two decisions while there are packets, and in Streams * Period cycles: so often it is noticed that the
// deadline of a stream without packets has come. Heads' ages differ by less than 2^15 ticks.
//
// Source: West and Poellabauer, RTSS 2000, the rules; Bhagwan and Lin, INFOCOM 2000, the heap; the turns are ours. Twin: dwcs::Scan.
//
// Latency: Period cycles per turn, see the law: with packets waiting for every stream that is served, a decision in Period * (1 + m) cycles. R = 2,
// with Block 3, is the time from an address to a record:
//
//   cycle        0       ..   R          R + 1     ..   Period - 2   Period - 1   0
//   turn         address      event      reported       compare      choose       address of the next
//   lookup                    address (cycle 2)                      looked up    written
//   windows                              rules          ..                        ..      written in cycle 3

module heap
  import dwcs_pkg::*;
  import heap_pkg::*;
#(
  /// Streams, a power of two from 4 to 16,384.
  parameter int unsigned Streams = 1024,
  /// Arrival times that a stream can have waiting behind the next one, a power of two from 2 on.
  parameter int unsigned Depth   = 16,
  /// Large levels of the heap lie in block RAM; otherwise in distributed RAM.
  parameter bit          Block   = Streams > 256,
  localparam int unsigned IdWidth     = $clog2(Streams),
  localparam int unsigned RecordWidth = 1 + 16 + IdWidth
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  /// Decides; otherwise it accounts for deadlines that have come, and no more.
  input  logic                   enable_i,
  /// The clock is time_i. Otherwise it counts winners, from the last time_i that it saw with outside_i set.
  input  logic                   outside_i,
  /// The time in ticks. It is taken over when a stream is served, and while no stream has packets.
  input  tick_t                  time_i,
  /// LOAD: what a stream asks for that has no packet; the word waits while it has one.
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
  /// Records. Top bit set: stream [IdWidth-1:0] has missed a deadline, and its head was dropped. Otherwise {timestamp, winner} of a decision.
  output logic                   record_valid_o,
  input  logic                   record_ready_i,
  output logic [RecordWidth-1:0] record_o,
  /// Questions, at any time.
  input  logic                   query_valid_i,
  output logic                   query_ready_o,
  input  logic [IdWidth-1:0]     query_id_i,
  /// Where the stream stands, but for the arrival of its head, which is 0. A deadline that has come while it had no packet is the clock.
  output logic                   status_valid_o,
  output status_t                status_o,
  /// The clock.
  output tick_t                  now_o,
  /// For a test bench: something has happened to stream update_id_o, it went on to its next packet if update_popped_o, until finish_o.
  output logic                   update_o,
  output logic [1:0]             update_kind_o,
  output logic [IdWidth-1:0]     update_id_o,
  output logic                   update_popped_o,
  output tick_t                  finish_o,
  output status_t                observed_o,
  /// A packet went into the queue of stream queued_id_o.
  output logic                   queued_o,
  output logic [IdWidth-1:0]     queued_id_o
);

  localparam int unsigned Period = Block ? 6 : 5;
  localparam int unsigned R      = Block ? 3 : 2;
  // When a packet's stream is looked up, and known.
  localparam int unsigned Look   = 2;
  localparam int unsigned Known  = Look + R;
  // When a record is written back: four cycles of windows after the report.
  localparam int unsigned Write  = (R + 6) % Period;
  localparam int unsigned PointerWidth = $clog2(Depth);

  typedef logic [IdWidth-1:0] id_t;

  typedef struct packed {
    claim_t claim;
    id_t    id;
  } entry_t;

  // The packets of a stream behind its head.
  typedef struct packed {
    logic                    valid;
    tick_t                   next;
    logic [PointerWidth-1:0] read;
    logic [PointerWidth:0]   level;
  } waiting_t;

  typedef struct packed {
    standing_t standing;
    waiting_t    waiting;
  } stream_t;

  // The cycle of the turn.
  logic [Period-1:0] cycle_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) cycle_q <= Period'(1);
    else cycle_q <= {cycle_q[Period-2:0], cycle_q[Period-1]};
  end

  // After the reset every stream gets the contract of nobody.
  logic clears_q;
  id_t  clear_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      clears_q <= 1'b1;
      clear_q  <= '0;
    end else if (cycle_q[Period-1] && clears_q) begin
      clear_q  <= clear_q + 1'b1;
      clears_q <= clear_q != '1;
    end
  end

  // Whose turn it is: the first stream's, or that of another.
  entry_t first;
  logic   other_q, clear_turn_q, load_turn_q, comes_turn_q, came_q, wants_q, wants_d;
  logic   load_next, comes_next;
  id_t    other_id_q, arrival_id_q, turn_id, id_q;

  assign load_next  = clears_q | load_valid_i;
  assign comes_next = ~load_next & wants_d & ~came_q;
  assign turn_id    = other_q ? other_id_q : first.id;

  always_ff @(posedge clk_i) begin
    if (cycle_q[Period-1]) other_id_q <= clears_q ? clear_q : load_valid_i ? load_id_i : arrival_id_q;
    if (cycle_q[0]) id_q <= turn_id;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      other_q      <= 1'b1;
      clear_turn_q <= 1'b0;
      load_turn_q  <= 1'b0;
      comes_turn_q <= 1'b0;
      came_q       <= 1'b0;
    end else if (cycle_q[Period-1]) begin
      other_q      <= load_next | comes_next;
      clear_turn_q <= clears_q;
      load_turn_q  <= load_next;
      comes_turn_q <= comes_next;
      came_q       <= comes_next;
    end
  end

  // The records: one address for all, R cycles before they are there. A resting stream's deadline is looked at in passing, too.
  logic     look_q, look_asks_q, known, pushes, push_q, last_q, event_q, rest_write;
  id_t      look_id_q, last_id_q, address, sweep_q, rest_address, push_id_q, rest_write_id;
  stream_t  stream_q, pushed, pushed_q, last_stream;
  terms_t   terms_q, terms;
  rest_t    rest_q, rest_d;
  heap_counters_t counters_q, counted_q;
  logic     terms_write;

  assign address      = cycle_q[0] ? turn_id : look_id_q;
  assign rest_address = cycle_q[Period-1] ? sweep_q : address;

  heap_memory #(
    .Words(Streams), .Width($bits(terms_t)), .Delay(R)
  ) u_terms (
    .clk_i, .read_i(address), .data_o(terms_q), .write_i(terms_write), .write_address_i(id_q), .data_i(terms)
  );

  heap_memory #(
    .Words(Streams), .Width($bits(stream_t)), .Delay(R)
  ) u_streams (
    .clk_i, .read_i(address), .data_o(stream_q), .write_i((cycle_q[0] & push_q) | (cycle_q[Write] & last_q)),
    .write_address_i(cycle_q[0] ? push_id_q : last_id_q), .data_i(cycle_q[0] ? pushed_q : last_stream)
  );

  heap_memory #(
    .Words(Streams), .Width($bits(rest_t)), .Delay(R)
  ) u_rests (
    .clk_i, .read_i(rest_address), .data_o(rest_q), .write_i(rest_write), .write_address_i(rest_write_id), .data_i(rest_d)
  );

  heap_memory #(
    .Words(Streams), .Width($bits(heap_counters_t)), .Delay(R)
  ) u_counters (
    .clk_i, .read_i(address), .data_o(counters_q), .write_i(cycle_q[R+1] & event_q), .write_address_i(id_q), .data_i(counted_q)
  );

  // The clock, and what the first stream's deadline is to it.
  tick_t now_q, finish_q, ahead_q, behind_q, base_q;
  logic  due, late_q, may_miss_q, may_win_q, busy_q, space_q;
  logic signed [16:0] room_q;
  logic [4:0] records;

  assign now_o = now_q;
  assign due   = ~first.claim.infinite & (ahead_q[15] | (ahead_q == '0));

  always_ff @(posedge clk_i) begin
    if (cycle_q[Period-1]) finish_q <= outside_i ? time_i : now_q + 16'd1;
    ahead_q  <= first.claim.deadline - now_q;
    behind_q <= first.claim.deadline - finish_q;
    base_q   <= comes_turn_q ? now_q : first.claim.deadline;
    space_q  <= records < 5'd13;
    late_q   <= ~first.claim.infinite & behind_q[15];
    room_q   <= $signed({1'b0, Latest}) - 17'($signed(behind_q));
    busy_q   <= (last_q & (id_q == last_id_q)) | (push_q & (id_q == push_id_q));
    may_miss_q <= ~other_q & ~first.claim.missing & space_q & due;
    may_win_q  <= ~other_q & ~first.claim.missing & space_q & ~due & enable_i;
  end

  // The event, in cycle R.
  logic   wins, misses, comes, loads, happens, pops, overdue, after_miss, lapsed, stays, meets, is_late;
  event_e kind_q;
  tick_t  arrival_q, stepped, rest_ahead;
  claim_t claim, claim_q;
  slack_t slack, slack_q;
  waiting_t waiting, waiting_q;
  terms_t terms1_q;
  logic   popped_q, dropped_q;
  tick_t  stamp_q, ring_raw_q, ring_q;
  logic     last_valid_q;
  slack_t   last_slack_q;
  waiting_t last_waiting_q;
  heap_counters_t counted;

  assign wins       = may_win_q & ~busy_q;
  assign misses     = may_miss_q & ~busy_q;
  assign comes      = comes_turn_q;
  assign loads      = load_turn_q & (clear_turn_q | (~busy_q & ~stream_q.standing.valid));
  assign happens    = wins | misses | comes | loads;
  assign pops       = wins | (misses & terms_q.droppable);
  assign stays      = comes | (~loads & (~pops | stream_q.waiting.valid));
  assign after_miss = misses | late_q;
  assign meets      = wins & ~late_q;
  assign is_late    = wins & late_q;

  assign rest_ahead = rest_q.deadline - now_q;
  assign lapsed     = (rest_q.lapsed | rest_ahead[15] | (rest_ahead == '0)) & ~terms_q.infinite;
  assign stepped    = base_q + 16'(terms_q.period);
  assign overdue    = wins & (room_q < $signed({2'b00, terms_q.period}));

  assign load_ready_o = cycle_q[R] & load_turn_q & ~clear_turn_q & loads & load_valid_i;

  // A stream of nobody waits for no deadline.
  assign terms = clear_turn_q ? '{infinite: 1'b1, fixed: 1'b1, default: '0} : '{
    infinite:  load_contract_i.infinite,
    droppable: load_contract_i.droppable,
    fixed:     load_contract_i.tolerance.fixed | load_contract_i.infinite,
    period:    load_contract_i.period,
    whole:     slack_of(whole(load_contract_i.tolerance.numerator, load_contract_i.tolerance.denominator)),
    penalty:   load_contract_i.tolerance.penalty
  };
  assign terms_write = cycle_q[R] & loads;

  always_comb begin
    if (loads) slack = terms.whole;
    else if (comes) slack = lapsed ? terms_q.whole : stream_q.standing.slack;
    else slack = after_miss ? missed(terms_q, stream_q.standing.slack) : met(terms_q, stream_q.standing.slack);
  end

  always_comb begin
    claim = '{
      missing:   ~stays,
      infinite:  terms_q.infinite,
      deadline:  overdue ? finish_q + Latest : stepped,
      fraction:  (comes ? lapsed : after_miss) ? stream_q.standing.second : stream_q.standing.first,
      numerator: slack.numerator,
      arrival:   comes ? arrival_q : pops ? stream_q.waiting.next : first.claim.arrival
    };
    if (comes & ~lapsed) claim.deadline = rest_q.deadline;
    if (terms_q.infinite) claim.deadline = '0;
    if (loads) claim.deadline = load_deadline_i;
  end

  always_comb begin
    waiting = stream_q.waiting;
    if (loads) begin
      waiting = '0;
    end else if (pops) begin
      waiting.valid = stream_q.waiting.level != '0;
      if (waiting.valid) begin
        waiting.read  = stream_q.waiting.read + 1'b1;
        waiting.level = stream_q.waiting.level - 1'b1;
      end
    end
  end

  always_comb begin
    counted = counters_q;
    if (meets) counted.met = counters_q.met + 16'd1;
    if (is_late) counted.late = counters_q.late + 16'd1;
    if (misses | is_late) counted.missed = counters_q.missed + 16'd1;
    if ((misses | is_late) & violates(terms_q, stream_q.standing.slack)) counted.violations = counters_q.violations + 16'd1;
    if (loads) counted = '0;
  end

  always_ff @(posedge clk_i) begin
    if (cycle_q[R]) begin
      claim_q   <= claim;
      slack_q   <= slack;
      waiting_q   <= waiting;
      counted_q <= counted;
      popped_q  <= pops & stream_q.waiting.valid;
      dropped_q <= misses & terms_q.droppable;
      terms1_q  <= loads ? terms : terms_q;
      stamp_q   <= now_q;
      kind_q    <= wins ? Wins : misses ? Misses : comes ? Comes : Loads;
      if (wins | (outside_i & first.claim.missing & ~comes)) now_q <= finish_q;
    end
    if (cycle_q[Period-1]) begin
      last_id_q      <= id_q;
      last_valid_q   <= ~claim_q.missing;
      last_slack_q   <= slack_q;
      last_waiting_q <= waiting_q;
      if (popped_q) last_waiting_q.next <= ring_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      event_q <= 1'b0;
      last_q  <= 1'b0;
    end else begin
      if (cycle_q[R]) event_q <= happens;
      if (cycle_q[Period-1]) last_q <= event_q;
    end
  end

  // The windows of the next event.
  rank_pkg::fraction_t first_worth, second_worth;

  assign last_stream = '{
    standing: '{valid: last_valid_q, slack: last_slack_q, first: first_worth, second: second_worth},
    waiting:  last_waiting_q
  };

  heap_worth u_worth (
    .clk_i,
    .rst_ni,
    .start_i(cycle_q[R+1] & event_q),
    .valid_i(~claim_q.missing),
    .terms_i(terms1_q),
    .slack_i(slack_q),
    .first_o(first_worth),
    .second_o(second_worth)
  );

  heap_tree #(
    .Streams(Streams), .Block(Block)
  ) u_tree (
    .clk_i,
    .rst_ni,
    .clear_i(clear_turn_q),
    .clear_place_i(other_id_q),
    .op_valid_i(cycle_q[R+1] & event_q & (kind_q != Loads)),
    .op_inserts_i(kind_q == Comes),
    .op_entry_i({claim_q, id_q}),
    .first_o(first)
  );

  // Deadlines of streams that rest: written by events, and marked in passing once they have come.
  logic  sweep_hit_q;
  tick_t sweep_deadline_q;

  assign rest_write    = (cycle_q[R+1] & event_q) | (cycle_q[R] & sweep_hit_q);
  assign rest_write_id = cycle_q[R] ? sweep_q : id_q;
  assign rest_d        = cycle_q[R] ? '{lapsed: 1'b1, deadline: sweep_deadline_q} : '{lapsed: 1'b0, deadline: claim_q.deadline};

  always_ff @(posedge clk_i) begin
    sweep_deadline_q <= rest_q.deadline;
    sweep_hit_q      <= rest_q.lapsed | rest_ahead[15] | (rest_ahead == '0);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) sweep_q <= '0;
    else if (cycle_q[R]) sweep_q <= sweep_q + 1'b1;
  end

  // Arrivals and questions.
  logic arrival_valid_q, asked_q, turn_asks_q, look_free, look_full;
  id_t  asked_id_q;

  assign arrival_ready_o = ~arrival_valid_q;
  assign query_ready_o   = ~asked_q;
  assign known           = cycle_q[Known] & look_q & look_free;
  assign look_free       = ~(event_q & (look_id_q == id_q)) & ~(last_q & (look_id_q == last_id_q));
  assign look_full       = stream_q.waiting.level[PointerWidth];
  assign pushes          = known & ~look_asks_q & stream_q.standing.valid & ~look_full;
  assign wants_d         = wants_q | (known & ~look_asks_q & ~stream_q.standing.valid);

  always_comb begin
    pushed = stream_q;
    if (stream_q.waiting.valid) begin
      pushed.waiting.level = stream_q.waiting.level + 1'b1;
    end else begin
      pushed.waiting.valid = 1'b1;
      pushed.waiting.next  = arrival_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (arrival_ready_o) begin
      arrival_id_q <= arrival_id_i;
      arrival_q    <= arrival_i;
    end
    if (query_ready_o) asked_id_q <= query_id_i;
    if (cycle_q[1]) begin
      look_asks_q <= asked_q & (turn_asks_q | ~arrival_valid_q | wants_q);
      look_id_q   <= asked_q & (turn_asks_q | ~arrival_valid_q | wants_q) ? asked_id_q : arrival_id_q;
    end
    if (cycle_q[Known]) begin
      push_id_q <= look_id_q;
      pushed_q  <= pushed;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      arrival_valid_q <= 1'b0;
      wants_q         <= 1'b0;
      asked_q         <= 1'b0;
      turn_asks_q     <= 1'b0;
      look_q          <= 1'b0;
      push_q          <= 1'b0;
      status_valid_o  <= 1'b0;
    end else begin
      if (arrival_ready_o) arrival_valid_q <= arrival_valid_i;
      else if (pushes | (cycle_q[R] & comes)) arrival_valid_q <= 1'b0;
      wants_q <= wants_d & ~(cycle_q[R] & comes);
      if (query_ready_o) asked_q <= query_valid_i;
      else if (known & look_asks_q) asked_q <= 1'b0;
      if (cycle_q[1]) begin
        look_q      <= ~clears_q & ~clear_turn_q & (asked_q | (arrival_valid_q & ~wants_q));
        turn_asks_q <= ~turn_asks_q;
      end
      if (cycle_q[Known]) push_q <= pushes;
      status_valid_o <= known & look_asks_q;
    end
  end

  assign queued_o    = pushes;
  assign queued_id_o = look_id_q;

  // The queues behind the next packets.
  (* ram_style = "block" *) tick_t ring_words_q[Streams*Depth];

  logic [PointerWidth-1:0] ring_end;
  assign ring_end = stream_q.waiting.read + stream_q.waiting.level[PointerWidth-1:0];

  always_ff @(posedge clk_i) begin
    if (pushes & stream_q.waiting.valid) ring_words_q[{look_id_q, ring_end}] <= arrival_q;
    ring_raw_q <= ring_words_q[{id_q, stream_q.waiting.read}];
    ring_q     <= ring_raw_q;
  end

  // The records.
  logic fifo_ready;

  fifo #(
    .Depth(16), .Width(RecordWidth)
  ) u_records (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_valid_i(cycle_q[R+1] & event_q & ((kind_q == Wins) | dropped_q)),
    .push_ready_o(fifo_ready),
    .push_data_i({dropped_q, dropped_q ? 16'd0 : stamp_q, id_q}),
    .pop_valid_o(record_valid_o),
    .pop_ready_i(record_ready_i),
    .pop_data_o(record_o),
    .level_o(records)
  );

  // What is told.
  always_ff @(posedge clk_i) begin
    status_o <= '{
      state: '{
        valid:    stream_q.standing.valid,
        arrival:  '0,
        deadline: lapsed & ~stream_q.standing.valid ? now_q : rest_q.deadline,
        window:   window_of(stream_q.standing.slack)
      },
      counters: '{
        met:        counters_q.met,
        late:       counters_q.late,
        missed:     counters_q.missed,
        violations: counters_q.violations,
        dropped:    terms_q.droppable ? counters_q.missed - counters_q.late : '0
      }
    };
  end

  assign update_o        = cycle_q[R+1] & event_q;
  assign update_kind_o   = kind_q;
  assign update_id_o     = id_q;
  assign update_popped_o = popped_q;
  assign finish_o        = now_q;
  assign observed_o      = '{
    state: '{valid: ~claim_q.missing, arrival: claim_q.arrival, deadline: claim_q.deadline, window: window_of(slack_q)},
    counters: '{
      met:        counted_q.met,
      late:       counted_q.late,
      missed:     counted_q.missed,
      violations: counted_q.violations,
      dropped:    terms1_q.droppable ? counted_q.missed - counted_q.late : '0
    }
  };

  logic unused;
  assign unused = ^{fifo_ready, kind_q};

endmodule
