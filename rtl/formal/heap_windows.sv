// Proves that the rules of the heap, for windows of x' and y' - x', are those of window_rules: after service in time, after a miss, and in what is a
// violation.
//
// Sizes: all widths as they are, all contracts and windows.
// How: combinational, one step.

module heap_windows
  import dwcs_pkg::*;
  import heap_pkg::*;
(
  /// Any contract and any window.
  input logic       infinite_i,
  input tolerance_t tolerance_i,
  input window_t    window_i
);

  // As the heap is loaded.
  tolerance_t tolerance;
  terms_t     terms;
  always_comb begin
    tolerance       = tolerance_i;
    tolerance.fixed = tolerance_i.fixed | infinite_i;
    terms = '{
      infinite:  infinite_i,
      droppable: 1'b0,
      fixed:     tolerance.fixed,
      period:    15'd1,
      whole:     slack_of(whole(tolerance_i.numerator, tolerance_i.denominator)),
      penalty:   tolerance_i.penalty
    };
  end

  window_t after_service, after_miss;
  logic    is_violation;
  window_rules u_rules (
    .tolerance_i(tolerance), .window_i, .met_o(after_service), .missed_o(after_miss), .violates_o(is_violation)
  );

  always_comb begin
    // Windows as they come about: register_invariants.
    legal_contract: assume (tolerance_i.numerator <= tolerance_i.denominator);
    legal_window: assume ((window_i.numerator <= window_i.denominator) & (window_i.numerator <= tolerance_i.numerator));
    tagged_at_zero: assume (~window_i.violation | (window_i.numerator == '0));
    nothing_tolerated: assume ((tolerance_i.denominator != '0) | ((window_i.denominator == '0) & ~window_i.violation));
    begun: assume ((tolerance_i.denominator == '0) | (window_i.denominator != '0));

    same_service: assert (window_of(met(terms, slack_of(window_i))) == after_service);
    same_miss: assert (window_of(missed(terms, slack_of(window_i))) == after_miss);
    same_violation: assert (violates(terms, slack_of(window_i)) == is_violation);
    begins: cover (~tolerance.fixed & (after_service == whole(tolerance_i.numerator, tolerance_i.denominator)) & (window_i.numerator != '0));
    saturates: cover (is_violation & (after_miss.denominator == 8'hff) & (window_i.denominator != 8'hff));
  end

endmodule
