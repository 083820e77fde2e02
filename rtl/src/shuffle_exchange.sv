// The single-stage recirculating shuffle-exchange network: N/2 decision blocks through which the attributes of N streams go again and again.
//
// What it delivers is not a sorted list. After k = log2 N cycles position 0 holds the first stream in the order of precedence and position N-1
// the last; position i precedes position j if the bits of i are among those of j. The exact order takes k * k cycles on the same wires, in
// which a control bit lets a decision block turn or pass. With winner-only routing the losers are not wired.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, Figure 5; Stone, 1971, and Batcher, 1968, for the exact order. Twin:
// dwcs::device::Network.
// Latency: k cycles (Lattice, Winner) or k * k (Exact) from the cycle in which first_i is set; the winner shows at the end of the last.

module shuffle_exchange
  import dwcs_pkg::*;
#(
  /// Ports: 4, 8, 16 or 32.
  parameter int unsigned N       = 4,
  /// What is wired.
  parameter routing_e    Routing = Lattice,
  localparam int unsigned K      = $clog2(N)
) (
  input  logic                clk_i,
  /// This cycle takes the streams from ports_i, the others take what went before.
  input  logic                first_i,
  /// Which cycle of a decision this is: the pass, 1 to K, and the dimension within it, 0 to K-1. Lattice and Winner know the first pass only.
  input  logic [2:0]          pass_i,
  input  logic [2:0]          dimension_i,
  /// A cycle goes by; otherwise everything stays as it is.
  input  logic                enable_i,
  input  attributes_t [N-1:0] ports_i,
  /// The winner, in the last cycle of a decision, if any stream has a packet.
  output logic                winner_valid_o,
  output id_t                 winner_o,
  /// The streams at the end of a decision, one cycle later: at their home ports. Winner: only port 0 means something.
  output attributes_t [N-1:0] home_o
);

  if (Routing == Winner) begin : gen_winner
    attributes_t [N/2-1:0] winners_q, winners;

    for (genvar j = 0; j < N / 2; j++) begin : gen_block
      attributes_t first, second;
      logic        first_wins;
      // Winners come in from as far as there are any: half as many in every cycle.
      if (2 * j + 1 < N / 2) begin : gen_inner
        assign first  = first_i ? ports_i[2*j] : winners_q[2*j];
        assign second = first_i ? ports_i[2*j+1] : winners_q[2*j+1];
      end else begin : gen_outer
        assign first  = ports_i[2*j];
        assign second = ports_i[2*j+1];
      end
      decision_block u_decision_block (.first_i(first), .second_i(second), .first_wins_o(first_wins));
      assign winners[j] = first_wins ? first : second;
    end

    always_ff @(posedge clk_i) begin
      if (enable_i) winners_q <= winners;
    end

    assign winner_valid_o = winners[0].valid;
    assign winner_o       = winners[0].id;
    always_comb begin
      home_o    = '0;
      home_o[0] = winners_q[0];
    end

    logic unused;
    assign unused = ^{pass_i, dimension_i};
  end else begin : gen_all
    attributes_t [N-1:0] ports, ports_q, delivered;

    assign ports = first_i ? ports_i : ports_q;

    for (genvar j = 0; j < N / 2; j++) begin : gen_block
      logic first_wins, swap;
      decision_block u_decision_block (.first_i(ports[2*j]), .second_i(ports[2*j+1]), .first_wins_o(first_wins));

      if (Routing == Exact) begin : gen_exact
        // In pass s the last s dimensions compare, and a block turns if the port at which its streams started has a bit set.
        logic         compares, turns;
        logic [K-1:0] origin;
        always_comb begin
          origin = K'(2 * j);
          for (int unsigned d = 0; d < K; d++) begin
            if (d < 32'(dimension_i)) origin = {origin[K-2:0], origin[K-1]};
          end
          compares = 32'(dimension_i) + 32'(pass_i) >= K;
          turns    = 1'b0;
          for (int unsigned s = 1; s < K; s++) begin
            if (32'(pass_i) == s) turns = origin[K-s-1];
          end
        end
        assign swap = compares & (first_wins == turns);
      end else begin : gen_lattice
        assign swap = ~first_wins;
      end

      // Winners go to the lower half, losers to the upper.
      assign delivered[j]       = swap ? ports[2*j+1] : ports[2*j];
      assign delivered[N/2+j]   = swap ? ports[2*j] : ports[2*j+1];
    end

    always_ff @(posedge clk_i) begin
      if (enable_i) ports_q <= delivered;
    end

    assign winner_valid_o = delivered[0].valid;
    assign winner_o       = delivered[0].id;
    assign home_o         = ports_q;

    if (Routing != Exact) begin : gen_unused
      logic unused;
      assign unused = ^{pass_i, dimension_i};
    end
  end

endmodule
