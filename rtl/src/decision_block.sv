// The decision block: which of two streams comes first.
//
// Every comparison of the value bus is made at once, and the predicate bus selects: the earlier deadline; the smaller window constraint, by
// cross products; if both are zero the larger denominator, otherwise the smaller numerator; the earlier arrival; the smaller number. A stream
// without a packet loses against every other, and of two of them the second wins.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, Figure 8 and Table 1. Twin: dwcs::device::Attributes::wins.
// Latency: none, it is combinational.

module decision_block
  import dwcs_pkg::*;
(
  /// Two streams.
  input  attributes_t first_i,
  input  attributes_t second_i,
  /// The first one wins.
  output logic        first_wins_o
);

  // Value bus.
  logic deadlines_equal, deadline_less;
  logic first_zero, second_zero;
  logic [15:0] first_cross, second_cross;

  assign first_zero   = first_i.numerator == '0;
  assign second_zero  = second_i.numerator == '0;
  assign first_cross  = 16'(first_i.numerator) * 16'(second_i.denominator);
  assign second_cross = 16'(second_i.numerator) * 16'(first_i.denominator);

  // Predicate bus.
  logic both_zero, none_zero, window_less, windows_equal, first_come, among_equals;

  always_comb begin
    deadlines_equal = (first_i.infinite & second_i.infinite)
                    | (~first_i.infinite & ~second_i.infinite & (first_i.deadline == second_i.deadline));
    deadline_less   = (~first_i.infinite & second_i.infinite)
                    | (~first_i.infinite & ~second_i.infinite & precedes(first_i.deadline, second_i.deadline));
    both_zero       = first_zero & second_zero;
    none_zero       = ~first_zero & ~second_zero;
    window_less     = (first_zero & ~second_zero) | (none_zero & (first_cross < second_cross));
    windows_equal   = both_zero | (none_zero & (first_cross == second_cross));
    first_come      = precedes(first_i.arrival, second_i.arrival)
                    | ((first_i.arrival == second_i.arrival) & (first_i.id < second_i.id));
    among_equals    = both_zero
                    ? (first_i.denominator > second_i.denominator)
                      | ((first_i.denominator == second_i.denominator) & first_come)
                    : (first_i.numerator < second_i.numerator)
                      | ((first_i.numerator == second_i.numerator) & first_come);
    first_wins_o    = first_i.valid
                    & (~second_i.valid | deadline_less
                       | (deadlines_equal & (window_less | (windows_equal & among_equals))));
  end

endmodule
