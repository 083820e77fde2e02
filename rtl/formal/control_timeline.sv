// Proves that the control unit keeps the timeline:
// * the first SCHEDULE cycle follows LOAD or an update, and the passes and dimensions of a decision follow each other;
// * the winner's record comes K cycles after the first (K * K for the exact order), one cycle earlier if blocks compute ahead;
// * the update comes with the record, or at once if there is no record; LOAD follows an update, if enable_i is low;
// * a record stays until it is taken; the clock moves only with updates, or while it is set in LOAD.
//
// Sizes: K = 2, 3, 4, 5 (N = 4 to 32), Lattice and Exact (Winner is as Lattice), in turn and ahead.
// How: induction over cycles.

module control_timeline
  import dwcs_pkg::*;
#(
  parameter int unsigned K       = 2,
  parameter routing_e    Routing = Lattice,
  parameter bit          Ahead   = 1'b0
) (
  input logic  clk_i,
  input logic  rst_ni,
  input logic  enable_i,
  input logic  outside_i,
  input tick_t time_i,
  input logic  served_i,
  input logic  record_i,
  input logic  ready_i
);

  localparam int unsigned Cycles = Routing == Exact ? K * K : K;

  logic       take, last_cycle, shift, load, compute, update, valid;
  logic [2:0] pass, dimension;
  tick_t      finish, next_now, now;

  control_unit #(
    .K(K), .Routing(Routing), .Ahead(Ahead)
  ) u_control_unit (
    .clk_i,
    .rst_ni,
    .enable_i,
    .outside_i,
    .time_i,
    .served_i,
    .record_i,
    .ready_i,
    .pass_o(pass),
    .dimension_o(dimension),
    .take_o(take),
    .shift_o(shift),
    .last_o(last_cycle),
    .load_o(load),
    .compute_o(compute),
    .update_o(update),
    .finish_o(finish),
    .next_now_o(next_now),
    .now_o(now),
    .valid_o(valid)
  );

  // Cycles since the first SCHEDULE cycle; a record that waits holds the count.
  logic       started_q = 1'b0;
  logic       decides_q;
  logic [5:0] cycle_q;
  logic       last;
  assign last = cycle_q == 6'(Ahead ? Cycles - 1 : Cycles);
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    if (!rst_ni || !started_q) begin
      decides_q <= 1'b0;
      cycle_q   <= '0;
    end else if (!decides_q || update) begin
      decides_q <= enable_i;
      cycle_q   <= '0;
    end else if (!last) begin
      cycle_q <= cycle_q + 6'd1;
    end
  end

  // What was in the cycle before.
  logic  update_q, load_q, valid_q, ready_q, outside_q, compute_q;
  tick_t now_q, next_now_q, time_q, finish_q;
  always_ff @(posedge clk_i) begin
    update_q   <= update;
    compute_q  <= compute;
    finish_q   <= finish;
    load_q     <= load;
    valid_q    <= valid & rst_ni;
    ready_q    <= ready_i;
    outside_q  <= outside_i;
    now_q      <= now;
    next_now_q <= next_now;
    time_q     <= time_i;
  end

  always_comb begin
    // Every run begins with a reset.
    reset_first: assume (started_q | ~rst_ni);
    if (started_q) begin
      // What there is to tell does not change while it waits: engine_handshake.
      record_waits: assume (~(valid_q & ~ready_q) | record_i);
    end
  end

  always_comb begin
    if (started_q & rst_ni) begin
      loads_or_decides: assert (load == ~decides_q);
      computes_in_time: assert (compute == (decides_q & (cycle_q == (Ahead ? '0 : 6'(Cycles - 1)))));
      last_of_all: assert (last_cycle == (decides_q & (cycle_q == 6'(Cycles - 1))));
      network_loads: assert (take == (update | load));
      in_sequence: assert (~decides_q | (cycle_q >= 6'(Cycles)) | (32'(cycle_q) == (32'(pass) - 1) * K + 32'(dimension)));
      within_bounds: assert ((cycle_q <= 6'(Ahead ? Cycles - 1 : Cycles)) & (32'(dimension) < K) & (pass >= 3'd1)
        & (pass <= (Routing == Exact ? 3'(K) : 3'd1)) & (decides_q | (cycle_q == '0)));
      at_rest: assert ((decides_q & (cycle_q < 6'(Cycles))) | ((pass == 3'd1) & (dimension == '0)));
      decided_last: assert (valid == (decides_q & last & record_i));
      update_with_record: assert (update == (decides_q & last & (ready_i | ~record_i)));
      network_runs: assert (~(decides_q & (cycle_q < 6'(Ahead ? Cycles - 1 : Cycles))) | shift);
      network_rests: assert (~shift | (decides_q & (cycle_q < 6'(Cycles)) & (~last | update | ~Ahead)));
      record_stays: assert (~(valid_q & ~ready_q) | valid);
      clock_with_update: assert (now == (update_q ? next_now_q : load_q & outside_q ? time_q : now_q));
      one_tick: assert (finish == (outside_i ? time_i : now + 16'(served_i)));
      finish_kept: assert (~compute_q | (next_now == finish_q));
    end
  end

  always_comb begin
    if (started_q & rst_ni) begin
      waits: cover (valid_q & ~ready_q & update);
      nothing_to_tell: cover (update & ~valid);
      next_decision: cover (update_q & decides_q & (cycle_q == '0));
      back_to_load: cover (update_q & load);
    end
  end

endmodule
