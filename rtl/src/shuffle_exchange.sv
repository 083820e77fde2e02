// The single-stage recirculating shuffle-exchange network: N/2 decision blocks through which the attributes of N streams go again and again.
//
// What it delivers is not a sorted list. After k = log2 N cycles position 0 holds the first stream in the order of precedence and position N-1
// the last; position i precedes position j if the bits of i are among those of j. The exact order takes k * k cycles on the same wires, in
// which a control bit lets a decision block turn or pass. With winner-only routing the losers are not wired.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, Figure 5; Stone, 1971, and Batcher, 1968, for the exact order. Twin:
// dwcs::device::Network.
// Latency: k cycles (Lattice, Winner) or k * k (Exact) after the one with load_i; the winner shows in the last of them.

module shuffle_exchange
  import dwcs_pkg::*;
#(
  /// Ports: 4, 8, 16 or 32.
  parameter int unsigned N       = 4,
  /// What is wired.
  parameter routing_e    Routing = Lattice,
  /// log2 N.
  localparam int unsigned K      = $clog2(N)
) (
  input  logic                clk_i,
  /// Takes the streams; the next cycle is the first of a decision.
  input  logic                load_i,
  input  attributes_t [N-1:0] ports_i,
  /// Which cycle of a decision this is: the pass, 1 to K, and the dimension within it, 0 to K-1. Lattice and Winner know the first pass only.
  input  logic [2:0]          pass_i,
  input  logic [2:0]          dimension_i,
  /// A cycle goes by; otherwise everything stays as it is.
  input  logic                enable_i,
  /// The winner, in the last cycle of a decision, if any stream has a packet: its number, and one bit per stream.
  output logic                winner_valid_o,
  output id_t                 winner_o,
  output logic [N-1:0]        won_o,
  /// The streams, in the last cycle of a decision, at the ports to which they are delivered, and a cycle later. Winner: only port 0 means
  /// something.
  output attributes_t [N-1:0] delivered_o,
  output attributes_t [N-1:0] ports_o
);

  attributes_t [N-1:0] ports_q, delivered, ports_d;
  logic                first_wins_at_top;

  if (Routing == Winner) begin : gen_winner
    for (genvar j = 0; j < N / 2; j++) begin : gen_block
      logic first_wins;
      decision_block u_decision_block (.first_i(ports_q[2*j]), .second_i(ports_q[2*j+1]), .first_wins_o(first_wins));
      // Half as many winners in every cycle; what the upper half holds after the first is not looked at.
      assign delivered[j]     = first_wins ? ports_q[2*j] : ports_q[2*j+1];
      assign delivered[N/2+j] = ports_q[N/2+j];
      // The decision comes last: all else is chosen before.
      (* keep *) attributes_t straight, swapped;
      assign straight         = load_i ? ports_i[j] : ports_q[2*j];
      assign swapped          = load_i ? ports_i[j] : ports_q[2*j+1];
      assign ports_d[j]       = first_wins ? straight : swapped;
      assign ports_d[N/2+j]   = ports_i[N/2+j];
      if (j == 0) begin : gen_top
        assign first_wins_at_top = first_wins;
      end
    end

    logic unused;
    assign unused = ^{pass_i, dimension_i};
  end else begin : gen_all
    for (genvar j = 0; j < N / 2; j++) begin : gen_block
      logic first_wins, swap;
      decision_block u_decision_block (.first_i(ports_q[2*j]), .second_i(ports_q[2*j+1]), .first_wins_o(first_wins));

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
      assign delivered[j]     = swap ? ports_q[2*j+1] : ports_q[2*j];
      assign delivered[N/2+j] = swap ? ports_q[2*j] : ports_q[2*j+1];
      // The decision comes last: all else is chosen before.
      (* keep *) attributes_t [1:0] straight, swapped;
      assign straight         = load_i ? {ports_i[N/2+j], ports_i[j]} : {ports_q[2*j+1], ports_q[2*j]};
      assign swapped          = load_i ? {ports_i[N/2+j], ports_i[j]} : {ports_q[2*j], ports_q[2*j+1]};
      assign ports_d[j]       = swap ? swapped[0] : straight[0];
      assign ports_d[N/2+j]   = swap ? swapped[1] : straight[1];
      if (j == 0) begin : gen_top
        assign first_wins_at_top = first_wins;
      end
    end

    if (Routing != Exact) begin : gen_unused
      logic unused;
      assign unused = ^{pass_i, dimension_i};
    end
  end

  always_ff @(posedge clk_i) begin
    if (load_i | enable_i) ports_q <= ports_d;
  end

  // Both numbers are told apart while the decision is made.
  logic [N-1:0] first_bit, second_bit;
  for (genvar i = 0; i < N; i++) begin : gen_won
    assign first_bit[i]  = ports_q[0].valid & (ports_q[0].id == id_t'(i));
    assign second_bit[i] = ports_q[1].valid & (ports_q[1].id == id_t'(i));
  end

  assign won_o          = first_wins_at_top ? first_bit : second_bit;
  assign winner_valid_o = ports_q[0].valid | ports_q[1].valid;
  assign winner_o       = first_wins_at_top ? ports_q[0].id : ports_q[1].id;
  assign delivered_o    = delivered;
  assign ports_o        = ports_q;

endmodule
