// Proves that the keys of the speculative engine order streams as the decision block does: for any two streams with packets, the first with
// the smaller number, key_block and decision_block name the same one.
//
// Sizes: all widths as they are. Products cut: the outputs of the multipliers are arbitrary. They, and where they are equal the numerators,
// compare like differences of logarithms and numerators; `cargo xtask rtl --only formal` checks that for every pair of fractions with the
// table of rank_pkg.
// How: combinational, one step.

module key_order
  import dwcs_pkg::*;
  import rank_pkg::*;
(
  /// Any two streams, at any time.
  input attributes_t first_i,
  input attributes_t second_i,
  input tick_t       now_i,
  /// Of a window that tolerates something, the difference of the logarithms of x' and y' - x'.
  input fraction_t   first_fraction_i,
  input fraction_t   second_fraction_i
);

  // As speculative_block makes it.
  function automatic key_t key(attributes_t stream, fraction_t fraction);
    worth_t window;
    window = '{fraction: fraction, numerator: stream.numerator};
    if (stream.numerator == '0) window = zero_worth(stream.denominator);
    return '{
      infinite: stream.infinite | ~stream.valid,
      deadline: {~stream.valid | (~stream.infinite & (stream.deadline[14] ^ now_i[14])), stream.infinite ? 14'd0 : stream.deadline[13:0]},
      worth:    window,
      arrival:  {~(stream.arrival[15] ^ now_i[15]), stream.arrival[14:0]}
    };
  endfunction

  logic wins, key_wins;
  decision_block u_decision (.first_i, .second_i, .first_wins_o(wins));
  key_block u_key (.first_i(key(first_i, first_fraction_i)), .second_i(key(second_i, second_fraction_i)), .first_wins_o(key_wins));

  function automatic logic near(attributes_t stream);
    return (stream.numerator <= stream.denominator)
         & (stream.infinite | (16'(stream.deadline - now_i) <= Latest))
         & (16'(now_i - stream.arrival) < 16'h8000);
  endfunction

  always_comb begin
    // Windows and deadlines: register_invariants. Arrivals are less than 2^15 ticks old, the limit of 16-bit time (spec 4.4).
    near_streams: assume (near(first_i) & near(second_i));
    // A block compares streams of which the first has the smaller number.
    in_place: assume (first_i.id < second_i.id);
    // The premise, for the products that count: those of windows that tolerate something.
    if (u_decision.none_zero) begin
      products_less: assume (({u_decision.first_cross, first_i.numerator} < {u_decision.second_cross, second_i.numerator})
                             == ({first_fraction_i, first_i.numerator} < {second_fraction_i, second_i.numerator}));
      products_equal: assume (({u_decision.first_cross, first_i.numerator} == {u_decision.second_cross, second_i.numerator})
                              == ({first_fraction_i, first_i.numerator} == {second_fraction_i, second_i.numerator}));
    end
    // With logarithms below 2^18 no difference comes near those of windows that tolerate nothing, which are below 2^8 (rank_pkg).
    fractions_apart: assume ((first_fraction_i >= 20'h40000) & (second_fraction_i >= 20'h40000));

    if (first_i.valid & second_i.valid) same_order: assert (wins == key_wins);
    idle_last: assert (~(first_i.valid ^ second_i.valid) | ((key_wins == first_i.valid) & (wins == first_i.valid)));

    by_fraction: cover (wins & second_i.valid & (first_i.deadline == second_i.deadline) & ~second_i.infinite
                        & (first_i.numerator > second_i.numerator) & (second_i.numerator != '0));
    by_arrival: cover (~wins & first_i.valid & second_i.valid & (first_i.deadline == second_i.deadline) & ~second_i.infinite
                       & ~first_i.infinite & (first_i.numerator == second_i.numerator) & (first_i.denominator == second_i.denominator));
  end

endmodule
