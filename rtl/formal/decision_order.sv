// Proves that the decision block is a strict total order on any three streams of one engine: irreflexive, asymmetric, total among streams with
// packets, and transitive. A stream without a packet loses. With the products cut it also proves the order of Table 1, written as one key:
// deadline, window constraint, denominator or numerator, arrival, number.
//
// Sizes: all widths as they are, in two parts. Products cut: the outputs of all multipliers are arbitrary, but compare like ranks;
// `cargo xtask rtl --only formal` checks that for every pair of fractions. Products kept: the multipliers as they are, with numerators and
// denominators below 2^Operand.
// How: combinational, one step.

module decision_order
  import dwcs_pkg::*;
#(
  /// The multipliers are cut: their outputs are arbitrary but for the ranks below.
  parameter bit          Cut     = 1'b0,
  /// Bits of numerators and denominators, up to 8.
  parameter int unsigned Operand = 8
) (
  /// Any three streams, at any time.
  input attributes_t a_i,
  input attributes_t b_i,
  input attributes_t c_i,
  input tick_t       now_i,
  input tick_t       oldest_i,
  /// Of a fraction x / y: the integer part of 2^16 x / y.
  input logic [16:0] rank_a_i,
  input logic [16:0] rank_b_i,
  input logic [16:0] rank_c_i
);

  logic ab, ba, bc, ac, aa;

  decision_block u_ab (.first_i(a_i), .second_i(b_i), .first_wins_o(ab));
  decision_block u_ba (.first_i(b_i), .second_i(a_i), .first_wins_o(ba));
  decision_block u_bc (.first_i(b_i), .second_i(c_i), .first_wins_o(bc));
  decision_block u_ac (.first_i(a_i), .second_i(c_i), .first_wins_o(ac));
  decision_block u_aa (.first_i(a_i), .second_i(a_i), .first_wins_o(aa));

  function automatic logic comparable(attributes_t stream);
    return (stream.numerator <= stream.denominator)
         & (stream.infinite | (16'(stream.deadline - now_i) <= Latest))
         & (16'(stream.arrival - oldest_i) < 16'h8000)
         & (32'(stream.denominator) < 2 ** Operand);
  endfunction

  always_comb begin
    // Windows: update_rules proves that numerators do not exceed denominators, and that deadlines lie in the 2^14 ticks after the clock.
    // Arrivals: serial comparison is undefined for packets more than 2^15 ticks apart, the limit of 16-bit time (spec 4.4).
    // Operand bounds the case with multipliers.
    comparable_streams: assume (comparable(a_i) & comparable(b_i) & comparable(c_i));
    // Every register block has its own number.
    distinct_numbers: assume ((a_i.id != b_i.id) & (b_i.id != c_i.id) & (a_i.id != c_i.id));
  end

  if (Cut) begin : gen_ranks
    // The premise that is checked over all fractions: products compare like ranks.
    function automatic logic alike(logic [15:0] first, logic [15:0] second, logic [16:0] first_rank, logic [16:0] second_rank);
      return ((first < second) == (first_rank < second_rank)) & ((first == second) == (first_rank == second_rank));
    endfunction

    // Table 1 as a number: the smaller one goes first.
    function automatic logic [62:0] key(attributes_t stream, logic [16:0] rank);
      logic zero;
      zero = stream.numerator == '0;
      return {
        stream.infinite,
        stream.infinite ? 16'd0 : 16'(stream.deadline - now_i),
        zero ? 17'd0 : rank,
        zero ? ~stream.denominator : stream.numerator,
        16'(stream.arrival - oldest_i),
        stream.id
      };
    endfunction

    always_comb begin
      // The rank of a fraction above zero is above zero.
      ranks_above_zero: assume ((rank_a_i != '0) & (rank_b_i != '0) & (rank_c_i != '0));
      // The premise, for the products that count: those of windows that tolerate something.
      if (u_ab.none_zero) begin
        ranks_ab: assume (alike(u_ab.first_cross, u_ab.second_cross, rank_a_i, rank_b_i));
        ranks_ba: assume (alike(u_ba.first_cross, u_ba.second_cross, rank_b_i, rank_a_i));
      end
      if (u_bc.none_zero) ranks_bc: assume (alike(u_bc.first_cross, u_bc.second_cross, rank_b_i, rank_c_i));
      if (u_ac.none_zero) ranks_ac: assume (alike(u_ac.first_cross, u_ac.second_cross, rank_a_i, rank_c_i));
      if (u_aa.none_zero) ranks_aa: assume (alike(u_aa.first_cross, u_aa.second_cross, rank_a_i, rank_a_i));
      if (a_i.valid & b_i.valid) order_of_table_1: assert (ab == (key(a_i, rank_a_i) < key(b_i, rank_b_i)));
    end
  end

  always_comb begin
    irreflexive: assert (~aa);
    antisymmetric: assert (~(ab & ba));
    total: assert (ab | ba | (~a_i.valid & ~b_i.valid));
    transitive: assert (~(ab & bc) | ac);
    packet_first: assert (~(a_i.valid & ~b_i.valid) | (ab & ~ba));
    none_loses: assert (a_i.valid | ~ab);
  end

  always_comb begin
    by_deadline: cover (ab & bc & a_i.valid & b_i.valid & c_i.valid & (a_i.deadline != b_i.deadline) & ~b_i.infinite);
    by_window: cover (ab & bc & c_i.valid & (a_i.deadline == c_i.deadline) & (b_i.deadline == c_i.deadline) & ~c_i.infinite & ~b_i.infinite
                      & (a_i.numerator > c_i.numerator) & (c_i.numerator != '0) & (b_i.numerator > c_i.numerator));
    by_arrival: cover (ab & bc & c_i.valid & (a_i.numerator == c_i.numerator) & (a_i.denominator == c_i.denominator)
                       & (a_i.deadline == c_i.deadline) & (a_i.id > c_i.id));
  end

endmodule
