// The control unit: sequences LOAD, SCHEDULE and PRIORITY_UPDATE, and keeps the clock.
//
// While enable_i is low nothing is decided: that is when streams are loaded, and the clock set. Then decisions follow each other without pause,
// a decision that finds no stream included: K cycles of SCHEDULE (K * K for the exact order) and, unless blocks compute ahead, one of
// PRIORITY_UPDATE. The last cycle of a decision waits for the host to take the record.
//
// Source: Krishnamurthy et al., "ShareStreams", section 4, Figure 6. Twin: dwcs::device::{Device, Timeline}.
// Latency: the period of the timeline from one decision to the next.

module control_unit
  import dwcs_pkg::*;
#(
  /// log2 of the network's ports.
  parameter int unsigned K       = 2,
  /// What is wired.
  parameter routing_e    Routing = Lattice,
  /// Blocks compute ahead.
  parameter bit          Ahead   = 1'b0
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  /// Decides.
  input  logic       enable_i,
  /// The clock is time_i; otherwise it moves on by one tick with every winner, from where it was set.
  input  logic       outside_i,
  /// The time; at most 2^14 ticks may pass between two updates.
  input  tick_t      time_i,
  /// Some stream has a packet, so the decision finds a winner.
  input  logic       served_i,
  /// There is something to tell the host.
  input  logic       record_i,
  /// The host takes the record.
  input  logic       ready_i,
  /// To the network.
  output logic [2:0] pass_o,
  output logic [2:0] dimension_o,
  output logic       take_o,
  output logic       shift_o,
  /// The last SCHEDULE cycle of a decision.
  output logic       last_o,
  /// LOAD: register blocks may be loaded.
  output logic       load_o,
  /// To the register blocks.
  output logic       compute_o,
  output logic       update_o,
  /// The clock at the end of the service under decision: when it is known, and in the cycle of the update.
  output tick_t      finish_o,
  output tick_t      next_now_o,
  /// The clock at the decision.
  output tick_t      now_o,
  /// The record is valid.
  output logic       valid_o
);

  typedef enum logic [1:0] {
    Load,
    Schedule,
    PriorityUpdate
  } phase_e;

  phase_e     phase_q;
  logic [2:0] pass_q, dimension_q;
  tick_t      now_q;
  logic       schedules, last, decided;

  localparam logic [2:0] Passes = Routing == Exact ? 3'(K) : 3'd1;

  assign load_o    = phase_q == Load;
  assign schedules = phase_q == Schedule;
  assign last      = schedules & (pass_q == Passes) & (dimension_q == 3'(K - 1));
  // The winner is known: it shows at the network's output, or a cycle later in its register.
  assign decided   = Ahead ? last : phase_q == PriorityUpdate;

  assign valid_o     = decided & record_i;
  assign update_o    = decided & (~record_i | ready_i);
  assign compute_o   = Ahead ? schedules & (pass_q == 3'd1) & (dimension_q == '0) : last;
  assign take_o      = update_o | load_o;
  assign last_o      = last;
  assign shift_o     = schedules & (~last | update_o | ~Ahead);
  assign pass_o      = pass_q;
  assign dimension_o = dimension_q;
  assign now_o       = now_q;

  // The end of the service, as compute_o sees it: in the first SCHEDULE cycle if blocks compute ahead, else in the last.
  tick_t finish, finish_q;

  assign finish     = outside_i ? time_i : now_q + 16'(served_i);
  assign finish_o   = finish;
  assign next_now_o = finish_q;

  always_ff @(posedge clk_i) begin
    if (compute_o) finish_q <= finish;
  end

  always_ff @(posedge clk_i) begin
    if (update_o) now_q <= next_now_o;
    else if (phase_q == Load && outside_i) now_q <= time_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      phase_q     <= Load;
      pass_q      <= 3'd1;
      dimension_q <= '0;
    end else begin
      unique case (phase_q)
        Load: if (enable_i) phase_q <= Schedule;
        Schedule: begin
          if (!last) begin
            dimension_q <= dimension_q == 3'(K - 1) ? '0 : dimension_q + 3'd1;
            if (dimension_q == 3'(K - 1)) pass_q <= pass_q + 3'd1;
          end else if (!Ahead || update_o) begin
            dimension_q <= '0;
            pass_q      <= 3'd1;
            phase_q     <= Ahead ? (enable_i ? Schedule : Load) : PriorityUpdate;
          end
        end
        PriorityUpdate: if (update_o) phase_q <= enable_i ? Schedule : Load;
        default: phase_q <= Load;
      endcase
    end
  end

endmodule
