/*
 * Cost of one colour check in DPDK's rte_meter: the colour-blind two rate three colour marker of RFC 2698.
 *
 *     meter FLOWS own|shared plain|prefetch CORE
 *
 * `own`: every meter has a contract of its own (profile and state, 80 bytes per flow), the task Tidegate's policers
 * are given. `shared`: eight contracts for all meters (32 bytes per flow), the case rte_meter is laid out for.
 * `prefetch`: with each meter that is asked, one of the next burst's is fetched.
 *
 * Time is virtual, 10 ns per packet: the colours then depend on the contracts alone and not on the speed of the
 * machine, and both sides of the comparison can be given the same load. One time for 32 packets.
 */
#include "harness.h"

#include <rte_cycles.h>
#include <rte_meter.h>
#include <rte_prefetch.h>

#define PACKET_BYTES 64
#define NANOSECONDS_PER_PACKET 10
#define SHARED_PROFILES 8
#define ROUND_PACKETS (1u << 22)

/* One meter with a contract of its own beside its state, on two adjacent cache lines. */
struct own_meter {
	struct rte_meter_trtcm state;
	struct rte_meter_trtcm_profile profile;
} __rte_cache_aligned;

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

/* What a round needs; `own` or `states` is NULL. */
struct meters {
	struct own_meter *own;
	struct rte_meter_trtcm *states;
	struct rte_meter_trtcm_profile *shared_profiles;
	const uint32_t *order;
};

static inline void fetch(const struct meters *meters, uint32_t flow)
{
	if (meters->own != NULL) {
		rte_prefetch0(&meters->own[flow]);
		/* 80 bytes in 128: two lines. */
		rte_prefetch0((uint8_t *)&meters->own[flow] + 64);
	} else {
		rte_prefetch0(&meters->states[flow]);
	}
}

static inline enum rte_color check(const struct meters *meters, uint32_t flow, uint64_t now)
{
	if (meters->own != NULL)
		return rte_meter_trtcm_color_blind_check(&meters->own[flow].state, &meters->own[flow].profile, now,
							 PACKET_BYTES);
	return rte_meter_trtcm_color_blind_check(&meters->states[flow],
						 &meters->shared_profiles[flow % SHARED_PROFILES], now, PACKET_BYTES);
}

/*
 * One round; returns the time after it. The verdicts of every burst are handed over as a caller would have them; they
 * are counted only if `colours` is given. The variants are compiled apart: `prefetched` is a constant, and so is
 * whether `meters.own` is NULL.
 */
static inline __attribute__((always_inline)) uint64_t run_round(struct meters meters, int prefetched, uint64_t now,
								  uint64_t cycles_per_burst, uint64_t *colours)
{
	enum rte_color verdicts[BURST];

	for (uint32_t i = 0; i < ROUND_PACKETS; i += BURST) {
		now += cycles_per_burst;
		const uint32_t *next = &meters.order[(i + BURST) % ROUND_PACKETS];

		for (uint32_t j = 0; j < BURST; j++) {
			/* One by one: all at once are more cache lines than a processor keeps track of. */
			if (prefetched)
				fetch(&meters, next[j]);
			verdicts[j] = check(&meters, meters.order[i + j], now);
		}
		__asm__ volatile("" : : "r"(verdicts) : "memory");
		for (uint32_t j = 0; colours != NULL && j < BURST; j++)
			colours[verdicts[j]]++;
	}
	return now;
}

static uint64_t run_variant(const struct meters *meters, int prefetched, uint64_t now, uint64_t cycles_per_burst,
			    uint64_t *colours)
{
	struct meters own = { .own = meters->own, .order = meters->order };
	struct meters shared = *meters;

	shared.own = NULL;
	if (meters->own != NULL)
		return prefetched ? run_round(own, 1, now, cycles_per_burst, colours)
				  : run_round(own, 0, now, cycles_per_burst, colours);
	return prefetched ? run_round(shared, 1, now, cycles_per_burst, colours)
			  : run_round(shared, 0, now, cycles_per_burst, colours);
}

int main(int argc, char **argv)
{
	struct rte_meter_trtcm_profile shared_profiles[SHARED_PROFILES];
	struct meters meters = { .shared_profiles = shared_profiles };
	uint64_t random = UINT64_C(0x9E3779B97F4A7C15);
	uint64_t colours[3] = { 0, 0, 0 };
	uint64_t cycles_per_burst, now = 1u << 20;
	uint32_t flows, *order;
	int is_own, prefetched;

	if (argc != 5 || (strcmp(argv[2], "own") != 0 && strcmp(argv[2], "shared") != 0) ||
	    (strcmp(argv[3], "plain") != 0 && strcmp(argv[3], "prefetch") != 0)) {
		fprintf(stderr, "usage: meter FLOWS own|shared plain|prefetch CORE\n");
		return 2;
	}
	flows = parse_count(argv[1], "FLOWS");
	is_own = strcmp(argv[2], "own") == 0;
	prefetched = strcmp(argv[3], "prefetch") == 0;
	if (flows == 0) {
		fprintf(stderr, "error: FLOWS must be at least 1\n");
		return 2;
	}
	start_dpdk(argv[4], 64);
	cycles_per_burst = rte_get_tsc_hz() * NANOSECONDS_PER_PACKET * BURST / 1000000000u;

	order = allocate_huge(sizeof(*order) * ROUND_PACKETS);
	for (uint32_t i = 0; i < ROUND_PACKETS; i++)
		order[i] = random_below(&random, flows);
	meters.order = order;
	if (is_own) {
		meters.own = allocate_huge(sizeof(*meters.own) * flows);
		for (uint32_t i = 0; i < flows; i++) {
			configure(&meters.own[i].profile, flows, &random);
			start(&meters.own[i].state, &meters.own[i].profile, now, &random);
		}
	} else {
		for (uint32_t i = 0; i < SHARED_PROFILES; i++)
			configure(&shared_profiles[i], flows, &random);
		meters.states = allocate_huge(sizeof(*meters.states) * flows);
		for (uint32_t i = 0; i < flows; i++)
			start(&meters.states[i], &shared_profiles[i % SHARED_PROFILES], now, &random);
	}

	/* Two rounds warm the caches and reach the steady mix of colours; the mix of the second is reported. */
	now = run_variant(&meters, prefetched, now, cycles_per_burst, NULL);
	now = run_variant(&meters, prefetched, now, cycles_per_burst, colours);
	printf("ready,huge_kib=%lu,green=%.3f,yellow=%.3f,red=%.3f\n", huge_kibibytes(),
	       (double)colours[RTE_COLOR_GREEN] / ROUND_PACKETS, (double)colours[RTE_COLOR_YELLOW] / ROUND_PACKETS,
	       (double)colours[RTE_COLOR_RED] / ROUND_PACKETS);
	fflush(stdout);
	while (next_request()) {
		double started = seconds_now();

		now = run_variant(&meters, prefetched, now, cycles_per_burst, NULL);
		print_round("dpdk", is_own ? "police-own" : "police-shared", flows,
			    (seconds_now() - started) * 1e9 / ROUND_PACKETS);
	}
	return 0;
}
