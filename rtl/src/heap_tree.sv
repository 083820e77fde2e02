// A heap of as many entries as there are streams: the first is at hand, and operations go down from it, one level after the other.
//
// An operation puts an entry in the place of the first one, or puts nobody there, or inserts one more. The first entry and the two below it lie
// in registers, each further level is a heap_level. As a full tree has one place fewer than there are streams, its first leaf has one below it.
//
// Law: after an operation the first entry precedes all others in the order of heap_pkg; no entry is lost or duplicated.
//
// Source: as heap_level. Twin: none; formal/heap_order.sv proves the law.
// Latency: two cycles from op_valid_i to first_o; operations may follow each other every 5 cycles, with Block every 6, or multiples of that.
//
//   cycle        0         1         2        3        4         5            (Block = 0)
//   first        compare   choose    first_o ...                 compare      of the next operation
//   level 2                          read     compare  choose                 its choice fills a place of level 1
//   level 3                                                      read ..      fills a place of level 2

module heap_tree
  import heap_pkg::*;
#(
  /// Streams, a power of two from 4 on.
  parameter int unsigned Streams = 16,
  /// Large levels lie in block RAM; otherwise in distributed RAM.
  parameter bit          Block   = 1'b0,
  localparam int unsigned IdWidth    = $clog2(Streams),
  localparam int unsigned EntryWidth = $bits(claim_t) + IdWidth
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// Empties the places of this number in all levels; all numbers have to be cleared, and no operation be under way.
  input  logic                  clear_i,
  input  logic [IdWidth-1:0]    clear_place_i,
  /// An operation: inserts an entry, or puts it in the place of the first; nobody is inserted only where nobody is the first.
  input  logic                  op_valid_i,
  input  logic                  op_inserts_i,
  input  logic [EntryWidth-1:0] op_entry_i,
  /// The first entry; nobody if the heap is empty.
  output logic [EntryWidth-1:0] first_o
);

  typedef struct packed {
    claim_t             claim;
    logic [IdWidth-1:0] id;
  } entry_t;

  typedef struct packed {
    logic [IdWidth-1:0] free;
    entry_t             entry;
  } node_t;

  entry_t      first_q, comes, comes_q;
  node_t [1:0] pair_q;
  logic        valid_q, inserts_q;
  contest_t    to_top_q, to_first_q, to_second_q, between_q;

  assign comes   = op_entry_i;
  assign first_o = first_q;

  always_ff @(posedge clk_i) begin
    inserts_q   <= op_inserts_i;
    comes_q     <= comes;
    to_top_q    <= contest(comes.claim, first_q.claim, comes.id < first_q.id);
    to_first_q  <= contest(comes.claim, pair_q[0].entry.claim, comes.id < pair_q[0].entry.id);
    to_second_q <= contest(comes.claim, pair_q[1].entry.claim, comes.id < pair_q[1].entry.id);
    between_q   <= contest(pair_q[0].entry.claim, pair_q[1].entry.claim, pair_q[0].entry.id < pair_q[1].entry.id);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else valid_q <= op_valid_i;
  end

  // The choice.
  logic  before_top, before_first, before_second, first_before, stays, side, before_side, writes;
  node_t other;

  assign before_top    = precedes_in(to_top_q);
  assign before_first  = precedes_in(to_first_q);
  assign before_second = precedes_in(to_second_q);
  assign first_before  = precedes_in(between_q);
  assign stays         = before_first & before_second;
  assign side          = inserts_q ? pair_q[0].free == '0 : ~first_before;
  assign before_side   = pair_q[0].free == '0 ? before_second : before_first;
  assign other         = pair_q[side];
  // An insertion goes below the first entry, if there is one.
  assign writes        = valid_q & inserts_q & ~first_q.claim.missing;

  // The levels, from the one below the pair.
  localparam int unsigned Levels = IdWidth - 1;
  logic   [Levels:0]              op_valid, op_inserts, up_valid, soon_valid;
  logic   [Levels:0][IdWidth-1:0] op_place, op_free, up_place, up_free, soon_place;
  entry_t [Levels:0]              op_entry, up_entry;

  assign op_valid[0]   = valid_q & (inserts_q ? writes & ~other.entry.claim.missing : ~stays);
  assign op_inserts[0] = inserts_q;
  assign op_place[0]   = IdWidth'(side);
  // Who precedes the first entry precedes the one below it.
  assign op_entry[0]   = inserts_q & before_side ? other.entry : comes_q;
  assign op_free[0]    = other.free + IdWidth'(comes_q.claim.missing);

  localparam logic [IdWidth-1:0] Half = IdWidth'(Streams / 2);

  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      pair_q <= '{
        '{free: Half - 1'b1, entry: '{claim: Nobody, id: '0}},
        '{free: Half, entry: '{claim: Nobody, id: '0}}
      };
    end else begin
      if (up_valid[0]) pair_q[up_place[0][0]] <= {up_free[0], up_entry[0]};
      if (writes) begin
        pair_q[side] <= '{free: other.free - 1'b1, entry: before_top ? first_q : before_side ? comes_q : other.entry};
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      first_q <= '{claim: Nobody, id: '0};
    end else if (valid_q) begin
      if (inserts_q) begin
        if (before_top) first_q <= comes_q;
      end else begin
        first_q <= stays ? comes_q : first_before ? pair_q[0].entry : pair_q[1].entry;
      end
    end
  end

  for (genvar l = 0; l < Levels; l++) begin : gen_level
    localparam int unsigned PlaceWidth = l + 1;
    localparam bit          Single     = l == Levels - 1;

    logic [PlaceWidth:0]   down_place;
    logic [PlaceWidth-1:0] up_place_above, soon_place_above;

    heap_level #(
      .PlaceWidth(PlaceWidth),
      .Single(Single),
      .IdWidth(IdWidth),
      .FreeWidth(Single ? 1 : IdWidth - l - 1),
      .Block(Block),
      .Free(Single ? 1 : (Streams >> (l + 2)) - 1)
    ) u_level (
      .clk_i,
      .rst_ni,
      .clear_i,
      .clear_place_i(clear_place_i[PlaceWidth:0]),
      .op_valid_i(op_valid[l]),
      .op_inserts_i(op_inserts[l]),
      .op_place_i(op_place[l][PlaceWidth-1:0]),
      .op_entry_i(op_entry[l]),
      .op_free_i(op_free[l]),
      .up_valid_o(up_valid[l]),
      .up_place_o(up_place_above),
      .up_entry_o(up_entry[l]),
      .up_free_o(up_free[l]),
      .soon_valid_o(soon_valid[l]),
      .soon_place_o(soon_place_above),
      .down_valid_o(op_valid[l+1]),
      .down_inserts_o(op_inserts[l+1]),
      .down_place_o(down_place),
      .down_entry_o(op_entry[l+1]),
      .down_free_o(op_free[l+1]),
      .up_valid_i(up_valid[l+1]),
      .up_place_i(up_place[l+1][PlaceWidth:0]),
      .up_entry_i(up_entry[l+1]),
      .up_free_i(up_free[l+1]),
      .soon_valid_i(soon_valid[l+1]),
      .soon_place_i(soon_place[l+1][PlaceWidth:0])
    );

    assign op_place[l+1] = IdWidth'(down_place);
    assign up_place[l]   = IdWidth'(up_place_above);
    assign soon_place[l] = IdWidth'(soon_place_above);
  end

  // Below the last one there is nothing.
  assign up_valid[Levels]   = 1'b0;
  assign up_place[Levels]   = '0;
  assign up_entry[Levels]   = '0;
  assign up_free[Levels]    = '0;
  assign soon_valid[Levels] = 1'b0;
  assign soon_place[Levels] = '0;

  logic unused;
  assign unused = ^{op_valid[Levels], op_inserts[Levels], op_place, op_free[Levels], op_entry[Levels], up_place, soon_valid[0], soon_place};

endmodule
