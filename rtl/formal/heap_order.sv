// Proves of the heap that its first entry precedes all others after every operation, and that the entries below it are in order. No entry is lost or
// duplicated: a stream that was inserted and not removed is in one place, and an insertion always finds room.
//
// Sizes: 4 streams in the levels of a full tree and the place below its first leaf, in distributed RAM and with the latency of block RAM. Deadlines of one
// bit, or two, and numbers are arbitrary; the other fields are equal.
// How: bounded, from a heap that is cleared; in every turn an operation may begin.

module heap_order
  import heap_pkg::*;
#(
  parameter int unsigned Streams = 4,
  parameter bit          Block   = 1'b0,
  /// Bits of deadlines.
  parameter int unsigned Bits    = 1,
  localparam int unsigned IdWidth    = $clog2(Streams),
  localparam int unsigned EntryWidth = $bits(claim_t) + IdWidth,
  localparam int unsigned Period     = Block ? 6 : 5
) (
  input logic               clk_i,
  input logic               rst_ni,
  /// An operation begins, if it may: the first entry is taken out, or goes on, or another is inserted.
  input logic               op_i,
  input logic               inserts_i,
  input logic               leaves_i,
  input logic [IdWidth-1:0] id_i,
  input logic [Bits-1:0]    deadline_i
);

  typedef struct packed {
    claim_t             claim;
    logic [IdWidth-1:0] id;
  } entry_t;

  // After the reset every place is cleared.
  logic       started_q = 1'b0;
  logic [3:0] clear_q, pause_q;
  logic       clears, valid, inserts;
  entry_t     first, comes;

  assign clears = clear_q != 4'(Streams);

  // What is in the heap, by number.
  logic [Streams-1:0]                   there_q;
  logic [Streams-1:0][$bits(claim_t)-1:0] claims_q;

  assign inserts = inserts_i | first.claim.missing;
  assign valid   = op_i & ~clears & (pause_q == '0) & (inserts ? ~there_q[id_i] : 1'b1);

  always_comb begin
    comes.id    = inserts ? id_i : first.id;
    comes.claim = '{
      missing:   ~inserts & leaves_i,
      infinite:  1'b0,
      deadline:  16'(deadline_i),
      fraction:  '0,
      numerator: '0,
      arrival:   '0
    };
  end

  heap_tree #(
    .Streams(Streams), .Block(Block)
  ) u_tree (
    .clk_i,
    .rst_ni,
    .clear_i(clears),
    .clear_place_i(clear_q[IdWidth-1:0]),
    .op_valid_i(valid),
    .op_inserts_i(inserts),
    .op_entry_i(comes),
    .first_o(first)
  );

  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!started_q) begin
      clear_q <= '0;
      pause_q <= '0;
      there_q <= '0;
    end else begin
      if (clears) clear_q <= clear_q + 4'd1;
      // Operations keep to the turns.
      pause_q <= pause_q == '0 ? 4'(Period - 1) : pause_q - 4'd1;
      if (valid) begin
        there_q[comes.id]  <= ~comes.claim.missing;
        claims_q[comes.id] <= comes.claim;
      end
    end
  end

  // Some stream: it is the first, or the first precedes it.
  logic [IdWidth-1:0] some;
  assign some = id_i;
  // The choice is made three cycles before the turn ends.
  logic settled;
  assign settled = ~clears & (pause_q == '0);

  always_comb begin
    // Every run begins with a reset.
    reset_first: assume (rst_ni == started_q);
    if (started_q & settled) begin
      if (there_q == '0) empty: assert (first.claim.missing);
      else full: assert (~first.claim.missing & there_q[first.id] & (claims_q[first.id] == first.claim));
      if (there_q[some] & (some != first.id)) begin
        in_order: assert (precedes_in(contest(first.claim, claims_q[some], first.id < some)));
      end
      all_there: cover (&there_q);
    end
    if (started_q & valid & inserts & ~first.claim.missing) begin
      room: assert ((u_tree.pair_q[0].free != '0) | (u_tree.pair_q[1].free != '0));
      last_comes: cover (there_q == ~(Streams'(1) << id_i));
    end
    if (started_q & valid & ~inserts) leaves: cover (comes.claim.missing & (&there_q));
  end

endmodule
