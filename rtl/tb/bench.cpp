// The C interface of a Verilated design: its ports by name, and the two halves of a clock cycle.
//
// It knows no design. A port is the address and the size of the variable that holds it, a number in the machine's byte order or an array of
// 32-bit words from the lowest: on a little-endian machine both are the port's bits from the lowest. A port that the design does not have
// is left out. The other side is src/design.rs; `cargo xtask rtl` compiles this file with what Verilator makes of a design.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "Vbench.h"
#include "verilated.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ports are read byte by byte");

namespace {

struct Bench {
    std::unique_ptr<VerilatedContext> context = std::make_unique<VerilatedContext>();
    std::unique_ptr<Vbench> top;
};

}  // namespace

extern "C" {

// A design before its reset; what it does not reset begins with values that follow from the seed.
Bench *bench_new(uint32_t seed) {
    auto bench = std::make_unique<Bench>();
    bench->context->randReset(2);
    bench->context->randSeed(static_cast<int>(seed & 0x7fffffff) | 1);
    bench->top = std::make_unique<Vbench>(bench->context.get(), "bench");
    return bench.release();
}

void bench_free(Bench *bench) {
    bench->top->final();
    delete bench;
}

// The place of the port `index`, its name and its size in bytes; null after the last one.
void *bench_port(Bench *bench, size_t index, const char **name, size_t *bytes) {
    size_t next = 0;
    void *found = nullptr;
    [&](auto &top) {
#define PORT(port)                                       \
    if constexpr (requires { top.port; }) {              \
        if (next++ == index) {                           \
            *name = #port;                               \
            *bytes = sizeof(top.port);                   \
            found = &top.port;                           \
        }                                                \
    }
        PORT(rst_ni)
        PORT(enable_i)
        PORT(outside_i)
        PORT(time_i)
        PORT(load_valid_i)
        PORT(load_ready_o)
        PORT(load_i)
        PORT(next_valid_i)
        PORT(next_arrival_i)
        PORT(pop_o)
        PORT(decision_valid_o)
        PORT(decision_ready_i)
        PORT(decision_o)
        PORT(update_o)
        PORT(served_o)
        PORT(winner_o)
        PORT(finish_o)
        PORT(now_o)
        PORT(take_o)
        PORT(home_o)
        PORT(load_id_i)
        PORT(load_deadline_i)
        PORT(load_contract_i)
        PORT(arrival_valid_i)
        PORT(arrival_ready_o)
        PORT(arrival_id_i)
        PORT(arrival_i)
        PORT(record_valid_o)
        PORT(record_ready_i)
        PORT(record_o)
        PORT(query_valid_i)
        PORT(query_ready_o)
        PORT(query_id_i)
        PORT(status_valid_o)
        PORT(answer_valid_o)
        PORT(answer_o)
        PORT(update_round_o)
        PORT(observed_o)
        PORT(status_o)
        PORT(update_kind_o)
        PORT(update_id_o)
        PORT(update_popped_o)
        PORT(queued_o)
        PORT(queued_id_o)
        PORT(s_axis_load_tvalid_i)
        PORT(s_axis_load_tready_o)
        PORT(s_axis_load_tdata_i)
        PORT(s_axis_arrival_tvalid_i)
        PORT(s_axis_arrival_tready_o)
        PORT(s_axis_arrival_tdata_i)
        PORT(s_axis_query_tvalid_i)
        PORT(s_axis_query_tready_o)
        PORT(s_axis_query_tdata_i)
        PORT(m_axis_pull_tvalid_o)
        PORT(m_axis_pull_tready_i)
        PORT(m_axis_pull_tdata_o)
        PORT(m_axis_winner_tvalid_o)
        PORT(m_axis_winner_tready_i)
        PORT(m_axis_winner_tdata_o)
        PORT(m_axis_record_tvalid_o)
        PORT(m_axis_record_tready_i)
        PORT(m_axis_record_tdata_o)
        PORT(m_axis_status_tvalid_o)
        PORT(m_axis_status_tready_i)
        PORT(m_axis_status_tdata_o)
#undef PORT
    }(*bench->top);
    return found;
}

// The first half of a cycle: outputs follow the inputs.
void bench_settle(Bench *bench) {
    bench->top->clk_i = 0;
    bench->top->eval();
}

// The second half: registers take their next values.
void bench_edge(Bench *bench) {
    bench->top->clk_i = 1;
    bench->top->eval();
    bench->context->timeInc(1);
}

}
