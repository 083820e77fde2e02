// Proves the invariants of a register block that updates in turn, from LOAD on, and the effect of one update:
// * x' <= x, x' <= y', and y' <= y unless the window is violated; then x' = 0. A fixed window never changes.
// * A deadline is between the clock and 2^14 ticks after it.
// * An update is at most one step, a service or a missed deadline, and counts it once. Only the winner is served, only deadlines that have come
//   are missed, and only heads of droppable streams are dropped.
// * A packet is taken only if there is one and there is room for it.
//
// Sizes: all widths as they are.
// How: induction over cycles, from any LOAD word that the host may write.

module register_invariants
  import dwcs_pkg::*;
(
  input logic      clk_i,
  input logic      rst_ni,
  input logic      load_i,
  input contract_t load_contract_i,
  input tick_t     load_deadline_i,
  input logic      compute_i,
  input tick_t     finish_i,
  input logic      update_i,
  input tick_t     now_i,
  input logic      won_i,
  input logic      next_valid_i,
  input tick_t     next_arrival_i
);

  logic        pop, drop, valid;
  attributes_t attributes;
  status_t     status;

  register_block #(
    .Id(5'd7), .Ahead(1'b0)
  ) u_block (
    .clk_i,
    .rst_ni,
    .load_i,
    .load_contract_i,
    .load_deadline_i,
    .compute_i,
    .finish_i,
    .update_i,
    .now_i,
    .won_i,
    .next_valid_i,
    .next_arrival_i,
    .pop_o(pop),
    .drop_o(drop),
    .attributes_o(attributes),
    .valid_o(valid),
    .status_o(status)
  );

  // The clock: of LOAD, and then of the last update.
  logic  loaded_q = 1'b0;
  tick_t clock_q;
  always_ff @(posedge clk_i) begin
    if (load_i) loaded_q <= 1'b1;
    if (load_i | update_i) clock_q <= now_i;
  end

  // The end of the service that was computed last, for the contract that there is.
  logic  computed_q = 1'b0;
  tick_t finish_q;
  always_ff @(posedge clk_i) begin
    if (load_i) computed_q <= 1'b0;
    else if (compute_i) computed_q <= 1'b1;
    if (compute_i) finish_q <= finish_i;
  end

  contract_t  contract;
  tolerance_t tolerance;
  state_t     state, after;
  events_t    events;
  assign contract  = u_block.contract_q;
  assign tolerance = contract.tolerance;
  assign state     = status.state;
  assign after     = u_block.state_d;
  assign events    = u_block.events;

  always_comb begin
    // The host writes windows of at most y of y, and periods of 1 to 2^14 ticks (contract_t).
    legal_window: assume (load_contract_i.tolerance.numerator <= load_contract_i.tolerance.denominator);
    legal_period: assume ((load_contract_i.period != '0) & (load_contract_i.period <= 15'(Latest)));
    // The host writes first deadlines in the 2^14 ticks after the clock (load_t).
    legal_deadline: assume (~load_i | (16'(load_deadline_i - now_i) <= Latest));
    // At most 2^14 ticks pass between two updates (time_i of the engine).
    in_time: assume (~update_i | load_i | (16'(now_i - clock_q) <= Latest));
    // The control unit computes the end of the service before the update, and shows it again (control_timeline).
    finish_known: assume (~update_i | (computed_q & (finish_q == now_i)));
    // The network names a winner that has a packet (network_order).
    winner_has_packet: assume (~won_i | state.valid);
  end

  logic come, past, steps;
  tick_t ahead, expected;
  assign ahead    = after.deadline - now_i;
  assign past     = ~contract.infinite & (16'(now_i - state.deadline) <= Latest) & (now_i != state.deadline);
  assign come     = ~contract.infinite & (16'(now_i - state.deadline) <= Latest);
  assign steps    = won_i | (state.valid & come);

  // The deadline relative to the clock: one period later after a step, but between the clock and 2^14 ticks after it; one period ahead if a
  // stream wakes after its deadline; otherwise unchanged, or the clock if that has passed it.
  int target;
  always_comb begin
    target = int'(signed'(16'(state.deadline - now_i)));
    if (steps) target += int'(contract.period);
    else if (pop & come) target = int'(contract.period);
    if (target < 0) target = 0;
    if (target > 16384) target = 16384;
  end
  assign expected = 16'(target);

  attributes_t seen;
  state_t      shown;
  assign shown = update_i ? after : state;
  assign seen  = '{
    valid: shown.valid, infinite: contract.infinite, deadline: shown.deadline, numerator: shown.window.numerator,
    denominator: shown.window.denominator, arrival: shown.arrival, id: 5'd7
  };

  always_comb begin
    if (loaded_q) begin
      // Always.
      period: assert ((contract.period != '0) & (contract.period <= 15'(Latest)));
      tolerance_kept: assert (tolerance.numerator <= tolerance.denominator);
      numerator_bounded: assert (state.window.numerator <= tolerance.numerator);
      window_ordered: assert (state.window.numerator <= state.window.denominator);
      violation_tolerates_nothing: assert (~state.window.violation | (state.window.numerator == '0));
      denominator_bounded: assert (state.window.violation | (state.window.denominator <= tolerance.denominator));
      fixed_stays: assert (~tolerance.fixed | (state.window == whole(tolerance.numerator, tolerance.denominator)));
      deadline_near: assert (contract.infinite | (16'(state.deadline - clock_q) <= Latest));
      network_sees_state: assert ((attributes == seen) & (valid == state.valid));
      period_from_finish: assert (~computed_q | (u_block.gen_in_turn.period_from_now_q == 16'(contract.period) - finish_q));
    end
    // One update.
    if (loaded_q & update_i & ~load_i) begin
      served_once: assert ((events.met | events.late) == won_i & ~(events.met & events.late));
      late_iff_past: assert (events.late == (won_i & past));
      missed_iff_come: assert (events.missed == (state.valid & (won_i ? past : come)));
      violated_if_nothing_tolerated: assert (events.violation == (events.missed & (state.window.numerator == '0)
        & (tolerance.denominator != '0) & ~tolerance.fixed));
      violation_raises: assert (~events.violation | (after.window.violation & (after.window.denominator >= state.window.denominator)));
      dropped_if_droppable: assert (events.dropped == (events.missed & ~won_i & contract.droppable) & (events.dropped == drop));
      one_step: assert (contract.infinite | (ahead == expected));
      only_a_step_moves: assert (won_i | come | (after.deadline == state.deadline));
      window_moves_with_a_step: assert (won_i | events.missed | (pop & ~state.valid & come) | (after.window == state.window));
      infinite_never_late: assert (~contract.infinite | ~(events.late | events.missed | events.violation | events.dropped | drop));
      room: assert (~pop | won_i | drop | ~state.valid);
      taken_if_room: assert (pop == (next_valid_i & (won_i | drop | ~state.valid)));
      has_packet: assert (after.valid == (pop | (state.valid & ~won_i & ~drop)));
      arrival_of_head: assert (after.arrival == (pop ? next_arrival_i : state.arrival));
    end
    pop_with_update: assert (~pop | (next_valid_i & update_i));
    drop_with_update: assert (~drop | update_i);
  end

  always_comb begin
    if (loaded_q & update_i & ~load_i) begin
      violates: cover (events.violation & ~state.window.violation & (tolerance.numerator == 8'd1));
      recovers: cover (state.window.violation & ~after.window.violation & won_i);
      catches_up: cover (events.missed & ~won_i & (ahead == '0) & (contract.period == 15'd1));
      reaches_limit: cover (won_i & (ahead == Latest) & (contract.period < 15'd16384));
      wakes_late: cover (pop & ~state.valid & come);
    end
  end

  logic unused;
  assign unused = ^status.counters;

endmodule
