// Window constraints as numbers that are compared without multiplying.
//
// x'/y' with m = y' - x' deadlines to be met orders as x'/m, and that as log x' - log m. The logarithms are rounded such that they stay exactly
// additive: those of primes are rounded to 2^-15, all others are sums. So equal fractions have equal differences, and different ones of at most 255
// deadlines differ in the right direction: all pairs are compared before formal/key_order.sv is proved.
//
// Law: for x1 + m1 <= 255, x2 + m2 <= 255 and x, m > 0: log(x1) - log(m1) < log(x2) - log(m2) if and only if x1 m2 < x2 m1.

package rank_pkg;
  import dwcs_pkg::*;

  // log2(n) in units of 2^-15, 18 bits; of 0 it is 0 here, and taken for -2^18.
  typedef logic [17:0] log_t;

  // A window constraint, the smaller the earlier: zero constraints first, the larger y' before the smaller, then x'/y' ascending.
  typedef logic [19:0] fraction_t;

  // What a window constraint is worth: as a fraction, and among equal ones by x'.
  typedef struct packed {
    fraction_t  fraction;
    logic [7:0] numerator;
  } worth_t;

  // A stream as a decision sees it: one number, the smaller the earlier. Top bits of times are turned over where that makes plain numbers of them.
  typedef struct packed {
    // Its deadline never comes, or it has no packet.
    logic   infinite;
    // From the quarter of all times on in which the clock is. Of a stream whose deadline never comes 0, of one without a packet the top bit is set.
    logic [14:0] deadline;
    worth_t worth;
    tick_t  arrival;
  } key_t;

  // The stream has no packet: it comes after all that have one.
  /* verilator lint_off UNUSEDSIGNAL */
  function automatic logic is_idle(key_t key);
    return key.infinite & key.deadline[14];
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  localparam int unsigned Primes = 54;

  localparam logic [7:0] Prime[Primes] = '{
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131, 137,
    139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223, 227, 229, 233, 239, 241, 251
  };

  localparam log_t PrimeLog[Primes] = '{
    32768, 51936, 76085, 91991, 113359, 121256, 133938, 139196, 148228, 159186, 162339, 170703, 175556, 177808, 182013, 187692, 192762,
    194338, 198774, 201515, 202828, 206562, 208897, 212197, 216266, 218176, 219103, 220904, 221780, 223484, 229005, 230471, 232588,
    233273, 236558, 237188, 239030, 240803, 241949, 243618, 245230, 245755, 248297, 248790, 249759, 250237, 253005, 255620, 256460,
    256875, 257694, 258896, 259290, 261212
  };

  // The logarithms of 0 to 255, by their factors.
  function automatic log_t [255:0] logarithms();
    log_t [255:0] result;
    int unsigned  rest;
    result = '0;
    for (int unsigned n = 1; n < 256; n++) begin
      rest = n;
      for (int unsigned p = 0; p < Primes; p++) begin
        while (rest % 32'(Prime[p]) == 0) begin
          rest      = rest / 32'(Prime[p]);
          result[n] = result[n] + PrimeLog[p];
        end
      end
    end
    return result;
  endfunction

  localparam log_t [255:0] Logarithms = logarithms();

  // log(n) - log(n - 1); of 1, whose predecessor's logarithm is taken for -2^18, only the top bit is set, which stands for 2^18.
  typedef logic [16:0] log_step_t;

  function automatic fraction_t step_fraction(log_step_t log_step);
    return {1'b0, log_step[16], 2'b00, log_step[15:0]};
  endfunction

  // The worth of a constraint that tolerates nothing, of m deadlines.
  function automatic fraction_t zero_fraction(logic [7:0] m);
    return {12'd0, ~m};
  endfunction

  function automatic worth_t zero_worth(logic [7:0] m);
    return '{fraction: zero_fraction(m), numerator: 8'd0};
  endfunction

  // The worth of x/(x + m), x > 0, as a fraction: the difference of these, which come from the logarithms; of m = 0 that is -2^18.
  function automatic fraction_t minuend(log_t log_x);
    return {2'b10, log_x};
  endfunction

  function automatic fraction_t subtrahend(logic m_zero, log_t log_m);
    return {m_zero, m_zero, log_m};
  endfunction

  // y' + penalty, as far as 8 bits go.
  function automatic logic [7:0] raised(logic [7:0] m, logic [7:0] penalty);
    logic [8:0] sum;
    sum = 9'(m) + 9'(penalty);
    return sum[8] ? 8'hff : sum[7:0];
  endfunction

endpackage
