// A register base block: the attributes of one stream, and the logic that updates them.
//
// Base blocks update themselves in the PRIORITY_UPDATE cycle. Blocks that compute ahead work out both outcomes, won and lost, in the first
// SCHEDULE cycle, hold them, and choose when the winner is known.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, Figures 5 and 7. Twin: dwcs::device, `Block`.
// Latency: one cycle from update_i or load_i to attributes_o.

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
  /// The first SCHEDULE cycle: a block that computes ahead takes its inputs now.
  input  logic        compute_i,
  /// PRIORITY_UPDATE: takes the step.
  input  logic        update_i,
  /// The clock at the end of the service.
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
  /// What the block puts on the network.
  output attributes_t attributes_o,
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

  if (Ahead) begin : gen_ahead
    // Outcomes without the packet, which is taken when the winner is known.
    state_t  won_state, lost_state, won_q, lost_q;
    events_t won_events, lost_events, won_events_q, lost_events_q;
    logic    activate_q;
    logic    won_pop, lost_pop;

    priority_update u_won (
      .contract_i(contract_q), .state_i(state), .now_i, .won_i(1'b1), .next_valid_i, .next_arrival_i,
      .state_o(won_state), .events_o(won_events), .pop_o(won_pop)
    );
    priority_update u_lost (
      .contract_i(contract_q), .state_i(state), .now_i, .won_i(1'b0), .next_valid_i, .next_arrival_i,
      .state_o(lost_state), .events_o(lost_events), .pop_o(lost_pop)
    );

    always_ff @(posedge clk_i) begin
      if (compute_i) begin
        won_q         <= won_state;
        lost_q        <= lost_state;
        won_events_q  <= won_events;
        lost_events_q <= lost_events;
        activate_q    <= lost_pop & ~state.valid;
      end
    end

    always_comb begin
      state_d = won_i ? won_q : lost_q;
      events  = won_i ? won_events_q : lost_events_q;
      pop     = (state.valid ? won_i | lost_events_q.dropped : activate_q) & next_valid_i;
      // A packet may have come since the outcomes were computed.
      if (won_i | events.dropped) state_d.valid = next_valid_i;
      if (pop) state_d.arrival = next_arrival_i;
    end

    logic unused;
    assign unused = won_pop;
  end else begin : gen_in_turn
    priority_update u_update (
      .contract_i(contract_q), .state_i(state), .now_i, .won_i, .next_valid_i, .next_arrival_i,
      .state_o(state_d), .events_o(events), .pop_o(pop)
    );

    logic unused;
    assign unused = compute_i;
  end

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      contract_q <= load_contract_i;
      deadline_q <= load_deadline_i;
      arrival_q  <= '0;
      window_q   <= whole(load_contract_i.tolerance.numerator, load_contract_i.tolerance.denominator);
      counters_q <= '0;
    end else if (update_i) begin
      deadline_q            <= state_d.deadline;
      arrival_q             <= state_d.arrival;
      window_q              <= state_d.window;
      counters_q.met        <= counters_q.met + 16'(events.met);
      counters_q.late       <= counters_q.late + 16'(events.late);
      counters_q.missed     <= counters_q.missed + 16'(events.missed);
      counters_q.violations <= counters_q.violations + 16'(events.violation);
      counters_q.dropped    <= counters_q.dropped + 16'(events.dropped);
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
  assign attributes_o = '{
    valid:       valid_q,
    infinite:    contract_q.infinite,
    deadline:    deadline_q,
    numerator:   window_q.numerator,
    denominator: window_q.denominator,
    arrival:     arrival_q,
    id:          Id
  };

endmodule
