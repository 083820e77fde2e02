// One level of the heap: pairs of entries, and the step of an operation that chooses between a pair and what comes from above.
//
// An operation that fills a place brings an entry, possibly of nobody, for a place in the level above: the first of it and of the pair below that
// place goes there, and if that is one of the pair, the entry goes on to its place. An operation that inserts brings one for the subtree
// of the pair: on the side that has room the first of it and of the entry there stays, the other goes on. Every entry is kept with the
// places below it, its own among them, that are free.
//
// Law: no entry is lost or duplicated; afterwards both of the pair come after what has gone up, and before all below them.
//
// Source: Bhagwan and Lin, "Fast and scalable priority queue architecture", INFOCOM 2000; Ioannou and Katevenis, IEEE/ACM Transactions on
// Networking 15(2), 2007. Twin: none; formal/heap_order.sv proves the law.
// Latency: Block + 3 cycles from op_valid_i to what goes up and down; what is written can be read by the operation Block + 5 cycles later.

module heap_level
  import heap_pkg::*;
#(
  /// Bits of the number of a place in the level above, at least 1.
  parameter int unsigned PlaceWidth = 1,
  /// Only the first pair is there, and of it the first entry: the place that a full tree lacks.
  parameter bit          Single     = 1'b0,
  /// Bits of a stream's number.
  parameter int unsigned IdWidth    = 4,
  /// Bits of the number of free places.
  parameter int unsigned FreeWidth  = 4,
  /// Pairs lie in block RAM, or at least are read as late as that.
  parameter bit          Block      = 1'b0,
  /// Free places from an entry on when all are free; from the first one on there is one more, if not Single.
  parameter int unsigned Free       = 1,
  localparam int unsigned EntryWidth = $bits(claim_t) + IdWidth
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// Empties the place, in this level.
  input  logic                  clear_i,
  input  logic [PlaceWidth:0]   clear_place_i,
  /// An operation: it fills a place in the level above, or inserts below it.
  input  logic                  op_valid_i,
  input  logic                  op_inserts_i,
  input  logic [PlaceWidth-1:0] op_place_i,
  input  logic [EntryWidth-1:0] op_entry_i,
  /// Of the place that is filled: how many are free from there on.
  input  logic [IdWidth-1:0]    op_free_i,
  /// What fills the place above.
  output logic                  up_valid_o,
  output logic [PlaceWidth-1:0] up_place_o,
  output logic [EntryWidth-1:0] up_entry_o,
  output logic [IdWidth-1:0]    up_free_o,
  /// The place above that will be filled in the next cycle but one, so that it is not read any more.
  output logic                  soon_valid_o,
  output logic [PlaceWidth-1:0] soon_place_o,
  /// The operation goes on: for the level below.
  output logic                  down_valid_o,
  output logic                  down_inserts_o,
  output logic [PlaceWidth:0]   down_place_o,
  output logic [EntryWidth-1:0] down_entry_o,
  output logic [IdWidth-1:0]    down_free_o,
  /// What comes up from the level below.
  input  logic                  up_valid_i,
  input  logic [PlaceWidth:0]   up_place_i,
  input  logic [EntryWidth-1:0] up_entry_i,
  input  logic [IdWidth-1:0]    up_free_i,
  input  logic                  soon_valid_i,
  input  logic [PlaceWidth:0]   soon_place_i
);

  typedef struct packed {
    logic [FreeWidth-1:0] free;
    claim_t               claim;
    logic [IdWidth-1:0]   id;
  } node_t;

  typedef struct packed {
    claim_t             claim;
    logic [IdWidth-1:0] id;
  } entry_t;

  typedef logic [PlaceWidth-1:0] place_t;

  localparam int unsigned Pairs = Single ? 1 : 1 << PlaceWidth;

  // The operation along the stages; the last one is that of the choice.
  localparam int unsigned Last = Block ? 3 : 2;
  logic   [Last:0] valid_q, inserts_q;
  place_t [Last:0] place_q;
  entry_t [Last:0] entry_q;
  logic   [Last:0][IdWidth-1:0] free_q;

  always_ff @(posedge clk_i) begin
    inserts_q <= {inserts_q[Last-1:0], op_inserts_i};
    place_q   <= {place_q[Last-1:0], op_place_i};
    entry_q   <= {entry_q[Last-1:0], op_entry_i};
    free_q    <= {free_q[Last-1:0], op_free_i};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[Last-1:0], op_valid_i};
  end

  // What is written, a cycle before it is.
  logic                write_q, write_d;
  logic [PlaceWidth:0] write_place_q, write_place_d;
  node_t               node_q, node_d;

  always_ff @(posedge clk_i) begin
    write_place_q <= write_place_d;
    if (write_d) node_q <= node_d;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) write_q <= 1'b0;
    else write_q <= write_d;
  end

  // The pairs.
  node_t [1:0] read, pair_q;

  if (Single) begin : gen_single
    node_t only_q;
    always_ff @(posedge clk_i) begin
      if (write_q && write_place_q == '0) only_q <= node_q;
    end
    // Free places are those of the first pair's first entry.
    assign read[0] = place_q[Last-2] == '0 ? only_q : '{free: '0, claim: Nobody, id: '0};
    assign read[1] = '{free: '0, claim: Nobody, id: '0};
    if (Block) begin : gen_late
      logic unused;
      assign unused = ^place_q[0];
    end
  end else if (Block && PlaceWidth > 4) begin : gen_block
    (* ram_style = "block" *) node_t first_q[Pairs];
    (* ram_style = "block" *) node_t second_q[Pairs];
    node_t [1:0] raw_q;
    always_ff @(posedge clk_i) begin
      if (write_q && !write_place_q[0]) first_q[write_place_q[PlaceWidth:1]] <= node_q;
      if (write_q && write_place_q[0]) second_q[write_place_q[PlaceWidth:1]] <= node_q;
      raw_q <= {second_q[place_q[0]], first_q[place_q[0]]};
    end
    assign read = raw_q;
  end else begin : gen_distributed
    (* ram_style = "distributed" *) node_t first_q[Pairs];
    (* ram_style = "distributed" *) node_t second_q[Pairs];
    always_ff @(posedge clk_i) begin
      if (write_q && !write_place_q[0]) first_q[write_place_q[PlaceWidth:1]] <= node_q;
      if (write_q && write_place_q[0]) second_q[write_place_q[PlaceWidth:1]] <= node_q;
    end
    assign read = {second_q[place_q[Last-2]], first_q[place_q[Last-2]]};
  end

  // What the operation before brings up is not there yet when it is read.
  logic [1:0] late_q;

  always_ff @(posedge clk_i) begin
    pair_q <= read;
    for (int unsigned s = 0; s < 2; s++) begin
      late_q[s] <= soon_valid_i & (soon_place_i == {place_q[Last-2], 1'(s)});
    end
  end

  // Who precedes whom.
  node_t [1:0] pair, chosen_q;
  entry_t      comes;
  contest_t    to_first_q, to_second_q, between_q;

  assign comes = entry_q[Last-1];

  for (genvar s = 0; s < 2; s++) begin : gen_side
    assign pair[s] = late_q[s] ? node_q : pair_q[s];
  end

  always_ff @(posedge clk_i) begin
    chosen_q    <= pair;
    to_first_q  <= contest(comes.claim, pair[0].claim, comes.id < pair[0].id);
    to_second_q <= contest(comes.claim, pair[1].claim, comes.id < pair[1].id);
    between_q   <= contest(pair[0].claim, pair[1].claim, pair[0].id < pair[1].id);
  end

  // The choice.
  logic   before_first, before_second, first_before, stays, side, inserts, before_side;
  entry_t brought, beside;
  node_t  other;
  logic [IdWidth-1:0] side_free;

  assign brought       = entry_q[Last];
  assign inserts       = inserts_q[Last];
  assign before_first  = precedes_in(to_first_q);
  assign before_second = precedes_in(to_second_q);
  assign first_before  = precedes_in(between_q);
  assign stays         = before_first & before_second;
  assign side          = inserts ? chosen_q[0].free == '0 : ~first_before;
  assign other         = chosen_q[side];
  assign beside        = '{claim: other.claim, id: other.id};
  assign before_side   = chosen_q[0].free == '0 ? before_second : before_first;
  assign side_free     = IdWidth'(other.free);

  assign up_valid_o = valid_q[Last] & ~inserts;
  assign up_place_o = place_q[Last];
  assign up_entry_o = stays ? brought : first_before ? {chosen_q[0].claim, chosen_q[0].id} : {chosen_q[1].claim, chosen_q[1].id};
  assign up_free_o  = free_q[Last];

  // Two cycles before what is above can be seen as written.
  assign soon_valid_o = valid_q[Last] & ~inserts;
  assign soon_place_o = place_q[Last];

  assign down_valid_o   = valid_q[Last] & (inserts ? ~other.claim.missing : ~stays);
  assign down_inserts_o = inserts;
  assign down_place_o   = {place_q[Last], side};
  assign down_entry_o   = inserts & before_side ? beside : brought;
  // Who is taken out leaves a place.
  assign down_free_o    = side_free + IdWidth'(brought.claim.missing);

  // A full tree lacks one place, which is below its first leaf.
  localparam logic [FreeWidth-1:0] AllFree   = FreeWidth'(Free);
  localparam logic [FreeWidth-1:0] FirstFree = FreeWidth'(Single ? Free : Free + 1);

  always_comb begin
    // Below the last level nobody fills the place of who goes up: it does so itself.
    write_d       = clear_i | up_valid_i | (valid_q[Last] & (inserts | (Single & ~stays)));
    write_place_d = up_place_i;
    node_d        = {up_free_i[FreeWidth-1:0], up_entry_i};
    if (clear_i) begin
      write_place_d = clear_place_i;
      node_d        = '{free: clear_place_i == '0 ? FirstFree : AllFree, claim: Nobody, id: '0};
    end else if (!up_valid_i) begin
      write_place_d = {place_q[Last], side};
      node_d        = inserts ? {FreeWidth'(side_free - 1'b1), before_side ? brought : beside} : {FreeWidth'(down_free_o), brought};
    end
  end

  // Levels further down count in fewer bits.
  logic unused;
  assign unused = ^{up_free_i, free_q[Last]};

endmodule
