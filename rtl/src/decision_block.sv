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

  // Value bus. The products come last, so what the others amount to is settled beside them.
  logic        deadlines_equal, deadline_less, first_zero, second_zero, both_zero, none_zero, first_come;
  logic        tied_zero, tied;
  logic [15:0] first_cross, second_cross;

  assign deadlines_equal = (first_i.infinite & second_i.infinite)
                         | (~first_i.infinite & ~second_i.infinite & (first_i.deadline == second_i.deadline));
  assign deadline_less   = (~first_i.infinite & second_i.infinite)
                         | (~first_i.infinite & ~second_i.infinite & precedes(first_i.deadline, second_i.deadline));
  assign first_zero      = first_i.numerator == '0;
  assign second_zero     = second_i.numerator == '0;
  assign both_zero       = first_zero & second_zero;
  assign none_zero       = ~first_zero & ~second_zero;
  assign first_come      = precedes(first_i.arrival, second_i.arrival)
                         | ((first_i.arrival == second_i.arrival) & (first_i.id < second_i.id));
  assign tied_zero       = (first_i.denominator > second_i.denominator)
                         | ((first_i.denominator == second_i.denominator) & first_come);
  assign tied            = (first_i.numerator < second_i.numerator)
                         | ((first_i.numerator == second_i.numerator) & first_come);
  assign first_cross     = 16'(first_i.numerator) * 16'(second_i.denominator);
  assign second_cross    = 16'(second_i.numerator) * 16'(first_i.denominator);

  // Predicate bus. One subtraction tells whether the first product is less, or equal and the tie is the first's.
  (* keep *) logic settled, by_window, tie;
  logic window_less;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [17:0] difference;
  /* verilator lint_on UNUSEDSIGNAL */

  assign settled      = first_i.valid
                      & (~second_i.valid | deadline_less
                         | (deadlines_equal & ((first_zero & ~second_zero) | (both_zero & tied_zero))));
  assign by_window    = first_i.valid & second_i.valid & deadlines_equal & none_zero;
  assign tie          = tied;
  assign difference   = {1'b0, first_cross, 1'b0} - {1'b0, second_cross, tie};
  assign window_less  = difference[17];
  assign first_wins_o = settled | (by_window & window_less);

endmodule
