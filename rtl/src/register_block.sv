// A register base block: the attributes of one stream, and the logic that updates them.
//
// Base blocks work out what becomes of them in the PRIORITY_UPDATE cycle. Blocks that compute ahead do so in the first SCHEDULE cycle, hold all
// outcomes, and choose when the winner is known.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, Figures 5 and 7. Twin: dwcs::device, `Block`.
// Latency: none from update_i to attributes_o, one cycle from update_i or load_i to status_o, two to its counters.

module register_block
  import dwcs_pkg::*;
#(
  /// The number of the stream.
  parameter id_t Id    = '0,
  /// Computes ahead.
  parameter bit  Ahead = 1'b0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// LOAD: takes the contract and the first deadline, forgets its packet and its counters.
  input  logic        load_i,
  input  contract_t   load_contract_i,
  input  tick_t       load_deadline_i,
  /// The end of the service is known: in the first SCHEDULE cycle if the block computes ahead, else in the last.
  input  logic        compute_i,
  input  tick_t       finish_i,
  /// PRIORITY_UPDATE: takes the step.
  input  logic        update_i,
  /// It again, in the cycle of the update.
  input  tick_t       now_i,
  /// The winner is this stream. With blocks that compute ahead it may come late in the cycle.
  input  logic        won_i,
  /// The packet behind the head.
  input  logic        next_valid_i,
  input  tick_t       next_arrival_i,
  /// Takes it, in the cycle of the update.
  output logic        pop_o,
  /// The head is dropped, in the cycle of the update.
  output logic        drop_o,
  /// What the block puts on the network: the stream as it is after the update, if there is one.
  output attributes_t attributes_o,
  /// The stream has a packet.
  output logic        valid_o,
  output status_t     status_o
);

  contract_t contract_q;
  logic      valid_q;
  tick_t     arrival_q, deadline_q;
  window_t   window_q;
  state_t    state, state_d;
  counters_t counters_q;
  events_t   events;
  logic      pop;

  outcomes_t outcomes, outcomes_now;
  tick_t     period_from_now;
  logic      activate;

  priority_outcomes u_priority_outcomes (
    .infinite_i(contract_q.infinite),
    .period_i(contract_q.period),
    .tolerance_i(contract_q.tolerance),
    .deadline_i(deadline_q),
    .window_i(window_q),
    .now_i(Ahead ? finish_i : now_i),
    .period_from_now_i(period_from_now),
    .outcomes_o(outcomes_now)
  );

  if (Ahead) begin : gen_ahead
    outcomes_t outcomes_q;
    logic      activate_q;

    always_ff @(posedge clk_i) begin
      if (compute_i) begin
        outcomes_q <= outcomes_now;
        activate_q <= next_valid_i;
      end
    end

    assign period_from_now = 16'(contract_q.period) - finish_i;
    assign outcomes        = outcomes_q;
    // A packet that has come since is not seen yet.
    assign activate        = activate_q;

    logic unused;
    assign unused = ^now_i;
  end else begin : gen_in_turn
    tick_t period_from_now_q;

    always_ff @(posedge clk_i) begin
      if (compute_i) period_from_now_q <= 16'(contract_q.period) - finish_i;
    end

    assign period_from_now = period_from_now_q;
    assign outcomes        = outcomes_now;
    assign activate        = 1'b1;
  end

  priority_update u_priority_update (
    .infinite_i(contract_q.infinite),
    .droppable_i(contract_q.droppable),
    .fresh_i(whole(contract_q.tolerance.numerator, contract_q.tolerance.denominator)),
    .state_i(state),
    .outcomes_i(outcomes),
    .won_i,
    .activate_i(activate),
    .next_valid_i,
    .next_arrival_i,
    .state_o(state_d),
    .events_o(events),
    .pop_o(pop)
  );

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      contract_q <= load_contract_i;
      deadline_q <= load_deadline_i;
      arrival_q  <= '0;
      window_q   <= whole(load_contract_i.tolerance.numerator, load_contract_i.tolerance.denominator);
    end else if (update_i) begin
      deadline_q            <= state_d.deadline;
      arrival_q             <= state_d.arrival;
      window_q              <= state_d.window;
    end
  end

  // Counters count a cycle later.
  events_t events_q;

  always_ff @(posedge clk_i) begin
    events_q <= update_i ? events : '0;
    if (load_i) begin
      counters_q <= '0;
    end else begin
      counters_q.met        <= counters_q.met + 16'(events_q.met);
      counters_q.late       <= counters_q.late + 16'(events_q.late);
      counters_q.missed     <= counters_q.missed + 16'(events_q.missed);
      counters_q.violations <= counters_q.violations + 16'(events_q.violation);
      counters_q.dropped    <= counters_q.dropped + 16'(events_q.dropped);
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (load_i) valid_q <= 1'b0;
    else if (update_i) valid_q <= state_d.valid;
  end

  assign state        = '{valid: valid_q, arrival: arrival_q, deadline: deadline_q, window: window_q};
  assign pop_o        = pop & update_i;
  assign drop_o       = events.dropped & update_i;
  assign status_o     = '{state: state, counters: counters_q};

  state_t shown;
  assign shown        = update_i ? state_d : state;
  assign attributes_o = '{
    valid:       shown.valid,
    infinite:    contract_q.infinite,
    deadline:    shown.deadline,
    numerator:   shown.window.numerator,
    denominator: shown.window.denominator,
    arrival:     shown.arrival,
    id:          Id
  };
  assign valid_o      = valid_q;

endmodule
