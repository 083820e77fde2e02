// Proves that a register block that computes ahead does as one that updates in turn. From any equal states, after one decision they are in
// equal states again and have counted, taken and dropped the same; so they always do.
//
// Sizes: all widths as they are; the update comes 1 to 4 cycles after the first SCHEDULE cycle, and longer waits only hold registers.
// How: one decision from any state, BMC of 6 cycles.

module register_ahead
  import dwcs_pkg::*;
(
  input logic       clk_i,
  input logic [1:0] wait_i,
  input tick_t      now_i,
  input logic       won_i,
  input logic       next_valid_i,
  input tick_t      next_arrival_i
);

  // The cycle after the first SCHEDULE cycle, and the one in which the update comes.
  logic [2:0] cycle_q = '0;
  logic [2:0] update_in, update_in_q;
  assign update_in = cycle_q == '0 ? 3'd1 + 3'(wait_i) : update_in_q;

  // The instant for which a decision is made does not change in the course of it (control_unit: next_now_o).
  tick_t now, now_q;
  assign now = cycle_q == '0 ? now_i : now_q;

  // Whether the queue had a packet in the first SCHEDULE cycle.
  logic offered_q;

  logic updates;
  assign updates = cycle_q == update_in & cycle_q != '0;

  always_ff @(posedge clk_i) begin
    if (cycle_q != 3'd7) cycle_q <= cycle_q + 3'd1;
    update_in_q <= update_in;
    now_q       <= now;
    if (cycle_q == '0) offered_q <= next_valid_i;
  end

  logic        pop, pop_ahead, drop, drop_ahead, valid, valid_ahead;
  attributes_t attributes, attributes_ahead;
  status_t     status, status_ahead;

  register_block #(
    .Id(5'd9), .Ahead(1'b0)
  ) u_in_turn (
    .clk_i, .rst_ni(1'b1), .load_i(1'b0), .load_contract_i('0), .load_deadline_i('0), .compute_i(cycle_q == '0), .finish_i(now),
    .update_i(updates), .now_i(now), .won_i, .next_valid_i, .next_arrival_i, .pop_o(pop), .drop_o(drop),
    .attributes_o(attributes), .valid_o(valid), .status_o(status)
  );
  register_block #(
    .Id(5'd9), .Ahead(1'b1)
  ) u_ahead (
    .clk_i, .rst_ni(1'b1), .load_i(1'b0), .load_contract_i('0), .load_deadline_i('0), .compute_i(cycle_q == '0), .finish_i(now),
    .update_i(updates), .now_i(now), .won_i, .next_valid_i, .next_arrival_i, .pop_o(pop_ahead), .drop_o(drop_ahead),
    .attributes_o(attributes_ahead), .valid_o(valid_ahead), .status_o(status_ahead)
  );

  always_comb begin
    if (cycle_q == '0) begin
      // The states are equal at first; contracts never change after LOAD.
      equal_contracts: assume (u_in_turn.contract_q == u_ahead.contract_q);
      equal_states: assume ((status == status_ahead) & (u_in_turn.events_q == u_ahead.events_q));
    end
    // The inputs of a decision about a stream without a packet are those of its first cycle. If the queue of a stream with a packet fills in
    // the meantime, both blocks see it.
    same_offer: assume ((cycle_q == '0) | status.state.valid | (next_valid_i == offered_q));
    // A queue keeps its packet until it is taken.
    queue_keeps: assume ((cycle_q == '0) | ~offered_q | next_valid_i);
    // The network names a winner that has a packet (network_order).
    winner_has_packet: assume (~won_i | status.state.valid);

    same_status: assert (status == status_ahead);
    same_attributes: assert (attributes == attributes_ahead);
    same_pop: assert (pop == pop_ahead);
    same_drop: assert (drop == drop_ahead);
    same_valid: assert (valid == valid_ahead);

    if (updates) begin
      won_late: cover (won_i & u_in_turn.events.late & pop);
      packet_came_meanwhile: cover (won_i & next_valid_i & ~offered_q);
      dropped: cover (drop & ~pop);
      activated: cover (~status.state.valid & pop);
    end
  end

endmodule
