// Proves that the shuffle-exchange network loses no stream and duplicates none, for all answers of decision blocks and all control signals.
// In every cycle from the one in which the streams entered, each of them is at exactly one port, with all its attributes.
//
// Sizes: N = 4, 8, 16, Lattice and Exact, and 32, Exact (with winner-only routing losers are not wired; that its winner is one of the
// streams is in network_order). Attributes, decisions (abstractions/any) and control signals are arbitrary in every cycle.
// How: induction over cycles, for any one stream watched.

module network_permutation
  import dwcs_pkg::*;
#(
  parameter int unsigned N       = 4,
  parameter routing_e    Routing = Lattice,
  localparam int unsigned K      = $clog2(N)
) (
  input logic                clk_i,
  /// The control unit.
  input logic                load_i,
  input logic                enable_i,
  input logic [2:0]          pass_i,
  input logic [2:0]          dimension_i,
  /// The streams.
  input attributes_t [N-1:0] ports_i,
  /// Any one of them.
  input logic [K-1:0]        watched_i
);

  attributes_t [N-1:0] home, delivered;
  logic                winner_valid;
  id_t                 winner;
  logic [N-1:0]        won;

  shuffle_exchange #(
    .N(N), .Routing(Routing)
  ) u_shuffle_exchange (
    .clk_i,
    .load_i,
    .ports_i,
    .pass_i,
    .dimension_i,
    .enable_i,
    .winner_valid_o(winner_valid),
    .winner_o(winner),
    .won_o(won),
    .delivered_o(delivered),
    .ports_o(home)
  );

  // The watched stream as it entered.
  logic         entered_q = 1'b0;
  logic [K-1:0] watched_q;
  attributes_t  stream_q;
  always_ff @(posedge clk_i) begin
    if (load_i) begin
      entered_q <= 1'b1;
      watched_q <= watched_i;
      stream_q  <= ports_i[watched_i];
    end
  end

  logic [N-1:0] here;
  logic         somewhere, twice, numbered, whole, moved;
  always_comb begin
    {numbered, whole}  = '1;
    {somewhere, twice} = '0;
    for (int unsigned i = 0; i < N; i++) begin
      numbered  &= ports_i[i].id == id_t'(i);
      here[i]    = home[i].id == id_t'(watched_q);
      somewhere |= here[i];
      // By pairs: with a sum the solver takes minutes.
      for (int unsigned j = 0; j < i; j++) twice |= here[i] & here[j];
      whole     &= ~here[i] | (home[i] == stream_q);
    end
    moved = home[0].id == id_t'(watched_q);
    // Every register block has its own number: otherwise there would be nothing to count.
    own_numbers: assume (numbered);
    if (entered_q) begin
      at_one_port: assert (somewhere & ~twice);
      unchanged: assert (whole);
      comes_to_port_0: cover (moved & (watched_q == '1) & stream_q.valid);
    end
  end

  logic unused;
  assign unused = ^{winner_valid, winner, won, delivered};

endmodule
