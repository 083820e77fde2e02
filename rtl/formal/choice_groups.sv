// Proves that grouped_choice, which compares champions of groups, names the same winner as direct_choice, which compares all streams: in every
// decision, for all keys.
//
// Sizes: N = 4 in groups of 2, by one wire and by two, and in one of 4.
// How: induction over cycles.

module choice_groups
  import rank_pkg::*;
#(
  parameter int unsigned N = 4,
  parameter int unsigned G = 2,
  parameter int unsigned Late = 1
) (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         enable_i,
  input logic         run_i,
  input logic         next_run_i,
  input key_t [N-1:0] lost_i,
  input key_t [N-1:0] won_i
);

  logic [N-1:0] won, grouped_won, named, grouped_named, champion;
  logic [N-1:0][Late-1:0] late;

  direct_choice #(
    .N(N)
  ) u_direct (
    .clk_i, .rst_ni, .enable_i, .next_run_i, .lost_i, .won_i, .won_o(won), .named_o(named)
  );

  grouped_choice #(
    .N(N), .G(G), .Late(Late)
  ) u_grouped (
    .clk_i, .rst_ni, .enable_i, .run_i, .lost_i, .won_i, .champion_o(champion), .named_o(late), .won_o(grouped_named)
  );

  always_comb begin
    for (int unsigned i = 0; i < N; i++) grouped_won[i] = champion[i] & (&late[i]);
  end

  logic started_q = 1'b0;
  logic moved_q   = 1'b0;
  logic run_q, run_due_q, won_again_q;
  logic [N-1:0] won_q;
  always_ff @(posedge clk_i) begin
    started_q   <= 1'b1;
    moved_q     <= enable_i;
    run_q       <= run_i;
    run_due_q   <= next_run_i;
    won_q       <= won;
    won_again_q <= enable_i & ((won & named) != '0);
  end

  logic one_first;
  always_comb begin
    one_first = 1'b1;
    for (int unsigned g = 0; g < N / G; g++) one_first &= $onehot(u_grouped.first[g]);
  end

  always_comb begin
    // Every run begins with a reset, and with a decision whose winner does not count.
    reset_first: assume (rst_ni == started_q);
    first_idle: assume (started_q | (enable_i & ~run_i));
    // What is decided goes on until it counts.
    keeps_on: assume (~started_q | (run_i == (moved_q ? run_due_q : run_q)));
    if (started_q) begin
      nobody_named: assert (u_direct.nobody_q == (named == '0));
      one_champion: assert (one_first);
      same_winner: assert (won == grouped_won);
      same_named: assert (named == grouped_named);
      if (~moved_q) stays: assert (won == won_q);
      wins_again: cover (won_again_q & (won != '0) & (won != won_q));
    end
  end

endmodule
