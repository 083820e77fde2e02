// Proves what the shuffle-exchange network delivers, for every order of precedence and every set of streams that have packets:
// * the winner is the first of all, with the attributes that it entered with;
// * with Lattice position N-1 holds the last, and position i precedes position j if the bits of i are among those of j;
// * with Exact the streams at the ports with reversed bits are sorted.
//
// Sizes: N = 4; with --deep 8, 16 and, but for Exact, 32. Ranks of log2 N bits give every order of N streams. Lattice with N = 32,
// Exact with N = 16 and 8: ranks of one bit, which is enough for a network of comparators (Knuth, "The Art of
// Computer Programming", volume 3, section 5.3.4, theorem Z).
// How: one decision from any state of the network's registers, BMC of as many cycles as a decision has, and one; decision blocks compare
// deadlines, see abstractions/by_deadline.

module network_order
  import dwcs_pkg::*;
#(
  parameter int unsigned N       = 4,
  parameter routing_e    Routing = Lattice,
  /// Bits of a rank: log2 N for all orders, or 1.
  parameter int unsigned Bits    = $clog2(N),
  localparam int unsigned K      = $clog2(N)
) (
  input logic                clk_i,
  /// The streams; the deadline is the rank.
  input attributes_t [N-1:0] ports_i
);

  localparam int unsigned Cycles = Routing == Exact ? K * K : K;

  attributes_t [N-1:0] home, ports;
  logic                winner_valid;
  id_t                 winner;
  logic [N-1:0]        won;

  // The cycle, the network being loaded in 0, and what the control unit counts from 1 on; control_timeline proves that it does.
  logic [5:0] cycle_q = '0;
  logic [2:0] pass_q = 3'd1;
  logic [2:0] dimension_q = '0;

  always_ff @(posedge clk_i) begin
    cycle_q     <= cycle_q + 6'd1;
    if (cycle_q != '0) begin
      dimension_q <= dimension_q == 3'(K - 1) ? '0 : dimension_q + 3'd1;
      if (dimension_q == 3'(K - 1)) pass_q <= pass_q + 3'd1;
    end
  end

  // The streams of the decision; afterwards the ports may show anything.
  attributes_t [N-1:0] streams_q, streams;
  assign streams = cycle_q == '0 ? ports_i : streams_q;
  always_ff @(posedge clk_i) streams_q <= streams;

  logic ranked, numbered, all_valid, none_valid;
  always_comb begin
    {ranked, numbered, all_valid, none_valid} = '1;
    for (int unsigned i = 0; i < N; i++) begin
      ranked     &= 32'(ports_i[i].deadline) < 2 ** Bits;
      numbered   &= ports_i[i].id == id_t'(i);
      all_valid  &= streams[i].valid;
      none_valid &= ~streams[i].valid;
    end
    if (cycle_q == '0) begin
      // Ranks of more bits give no other orders of N streams.
      ranks: assume (ranked);
      // Every register block has its own number.
      own_numbers: assume (numbered);
    end
  end

  shuffle_exchange #(
    .N(N), .Routing(Routing)
  ) u_shuffle_exchange (
    .clk_i,
    .load_i(cycle_q == '0),
    .ports_i,
    .pass_i(pass_q),
    .dimension_i(dimension_q),
    .enable_i(1'b1),
    .winner_valid_o(winner_valid),
    .winner_o(winner),
    .won_o(won),
    .delivered_o(home),
    .ports_o(ports)
  );

  // The stream at one place does not come after the stream at another.
  function automatic logic in_order(attributes_t earlier, attributes_t later);
    return ~later.valid | (earlier.valid & ({earlier.deadline, earlier.id} <= {later.deadline, later.id}));
  endfunction

  function automatic logic [K-1:0] reversed(logic [K-1:0] port);
    return {<<{port}};
  endfunction

  attributes_t named;
  logic        names_first, keeps_first, keeps_last, keeps_lattice, sorts;
  assign named = streams[winner[K-1:0]];
  logic unused;
  assign unused = ^ports;

  always_comb begin
    {names_first, keeps_first, keeps_last, keeps_lattice, sorts} = '1;
    for (int unsigned i = 0; i < N; i++) begin
      names_first &= in_order(named, streams[i]);
      keeps_first &= in_order(home[0], streams[i]);
      keeps_last  &= in_order(streams[i], home[N-1]);
      for (int unsigned j = 0; j < N; j++) begin
        if ((i & j) == i) keeps_lattice &= in_order(home[i], home[j]);
        if (i < j) sorts &= in_order(home[reversed(K'(i))], home[reversed(K'(j))]);
      end
    end
    if (cycle_q == 6'(Cycles)) begin
      somebody_wins: assert (winner_valid == ~none_valid);
      winner_is_first: assert (names_first & (named.valid == winner_valid) & (32'(winner) < N));
      one_bit_for_it: assert (won == (winner_valid ? N'(1) << winner : '0));
      port_0_is_first: assert (keeps_first);
      port_0_is_whole: assert (home[0] == streams[home[0].id[K-1:0]]);
      last_port_is_last: assert ((Routing == Winner) | keeps_last);
      lattice_order: assert ((Routing != Lattice) | keeps_lattice);
      exact_order: assert ((Routing != Exact) | sorts);
      last_stream_wins: cover (all_valid & (home[0].id == id_t'(N - 1)) & (streams[0].deadline == 16'(2 ** Bits - 1)));
      none: cover (none_valid);
    end
  end

endmodule
