/*
 * Cost of one colour check in DPDK's rte_meter: the colour-blind two rate three colour marker of RFC 2698.
 *
 *     meter FLOWS own|shared CORE
 *
 * `own`: every meter has a contract of its own (profile and state, 80 bytes per flow), the task Tidegate's policers
 * are given. `shared`: eight contracts for all meters (32 bytes per flow), the case rte_meter is laid out for.
 *
 * Time is virtual, 10 ns per packet: the colours then depend on the contracts alone and not on the speed of the
 * machine, and both sides of the comparison can be given the same load. One time for 32 packets.
 */
#include "harness.h"

#include <rte_cycles.h>
#include <rte_meter.h>

#define PACKET_BYTES 64
#define NANOSECONDS_PER_PACKET 10
#define SHARED_PROFILES 8
#define ROUND_PACKETS (1u << 22)

/* One meter with a contract of its own beside its state, so that a check touches two adjacent cache lines at most. */
struct own_meter {
	struct rte_meter_trtcm state;
	struct rte_meter_trtcm_profile profile;
};

/*
 * A contract that leaves the colours mixed: the committed rate is 30 to 60 % of what the flow sends, the peak rate 10
 * to 25 % of it more, the bursts 2 to 9 packets; two clock readings' worth more where few flows share a reading.
 */
static struct rte_meter_trtcm_params draw_contract(uint32_t flows, uint64_t *random)
{
	double offered = PACKET_BYTES * 1e9 / NANOSECONDS_PER_PACKET / flows;
	double committed = offered * (0.30 + random_below(random, 3001) / 10000.0);
	double peak = committed + offered * (0.10 + random_below(random, 1501) / 10000.0);
	uint32_t least_burst = flows < BURST ? 2 * BURST : 2;
	struct rte_meter_trtcm_params contract = {
		.cir = (uint64_t)committed,
		.pir = (uint64_t)peak,
		.cbs = PACKET_BYTES * (least_burst + random_below(random, 8)),
		.pbs = PACKET_BYTES * (least_burst + random_below(random, 8)),
	};

	return contract;
}

static void configure(struct rte_meter_trtcm_profile *profile, uint32_t flows, uint64_t *random)
{
	struct rte_meter_trtcm_params contract = draw_contract(flows, random);

	if (rte_meter_trtcm_profile_config(profile, &contract) != 0) {
		fprintf(stderr, "error: rte_meter refused cir %" PRIu64 " pir %" PRIu64 "\n", contract.cir, contract.pir);
		exit(EXIT_ENVIRONMENT);
	}
}

/* Starts with the buckets partly filled, where a long run would have them; full ones would colour a whole round green. */
static void start(struct rte_meter_trtcm *state, struct rte_meter_trtcm_profile *profile, uint64_t now, uint64_t *random)
{
	rte_meter_trtcm_config(state, profile);
	state->tc = random_below(random, (uint32_t)profile->cbs);
	state->tp = random_below(random, (uint32_t)profile->pbs);
	state->time_tc = now;
	state->time_tp = now;
}

int main(int argc, char **argv)
{
	struct rte_meter_trtcm_profile shared_profiles[SHARED_PROFILES];
	struct own_meter *own = NULL;
	struct rte_meter_trtcm *states = NULL;
	uint64_t random = UINT64_C(0x9E3779B97F4A7C15);
	uint64_t colours[3] = { 0, 0, 0 };
	uint64_t cycles_per_burst, now = 1u << 20;
	uint32_t flows, *order;
	int is_own;

	if (argc != 4 || (strcmp(argv[2], "own") != 0 && strcmp(argv[2], "shared") != 0)) {
		fprintf(stderr, "usage: meter FLOWS own|shared CORE\n");
		return 2;
	}
	flows = parse_count(argv[1], "FLOWS");
	is_own = strcmp(argv[2], "own") == 0;
	if (flows == 0) {
		fprintf(stderr, "error: FLOWS must be at least 1\n");
		return 2;
	}
	start_dpdk(argv[3], 64);
	cycles_per_burst = rte_get_tsc_hz() * NANOSECONDS_PER_PACKET * BURST / 1000000000u;

	order = allocate_huge(sizeof(*order) * ROUND_PACKETS);
	for (uint32_t i = 0; i < ROUND_PACKETS; i++)
		order[i] = random_below(&random, flows);
	if (is_own) {
		own = allocate_huge(sizeof(*own) * flows);
		for (uint32_t i = 0; i < flows; i++) {
			configure(&own[i].profile, flows, &random);
			start(&own[i].state, &own[i].profile, now, &random);
		}
	} else {
		for (uint32_t i = 0; i < SHARED_PROFILES; i++)
			configure(&shared_profiles[i], flows, &random);
		states = allocate_huge(sizeof(*states) * flows);
		for (uint32_t i = 0; i < flows; i++)
			start(&states[i], &shared_profiles[i % SHARED_PROFILES], now, &random);
	}

	for (int round = -1;; round++) {
		/* Round -1 warms the caches and reaches the steady mix of colours; its figures are not reported. */
		if (round == 0)
			printf("ready,huge_kib=%lu,green=%.3f,yellow=%.3f,red=%.3f\n", huge_kibibytes(),
			       (double)colours[RTE_COLOR_GREEN] / ROUND_PACKETS,
			       (double)colours[RTE_COLOR_YELLOW] / ROUND_PACKETS,
			       (double)colours[RTE_COLOR_RED] / ROUND_PACKETS);
		fflush(stdout);
		if (round >= 0 && !next_request())
			break;
		double started = seconds_now();
		for (uint32_t i = 0; i < ROUND_PACKETS; i += BURST) {
			now += cycles_per_burst;
			if (is_own) {
				for (uint32_t j = 0; j < BURST; j++) {
					struct own_meter *meter = &own[order[i + j]];

					colours[rte_meter_trtcm_color_blind_check(&meter->state, &meter->profile, now,
										  PACKET_BYTES)]++;
				}
			} else {
				for (uint32_t j = 0; j < BURST; j++) {
					uint32_t flow = order[i + j];

					colours[rte_meter_trtcm_color_blind_check(
						&states[flow], &shared_profiles[flow % SHARED_PROFILES], now,
						PACKET_BYTES)]++;
				}
			}
		}
		double elapsed = seconds_now() - started;

		if (round >= 0)
			print_round("dpdk", is_own ? "police-own" : "police-shared", flows, elapsed * 1e9 / ROUND_PACKETS);
	}
	return colours[0] + colours[1] + colours[2] == 0;
}
