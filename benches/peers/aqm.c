/*
 * Cost of a packet through a first-in, first-out ring, alone or with DPDK's WRED (rte_red) or PIE (rte_pie) at its entrance.
 *
 *     aqm QUEUES ring|wred|pie CORE
 *
 * Packets of 64 bytes come in bursts of 32 to queues at random, 5 % more than the link of 10 ns per packet carries; the
 * ring holds 2,000 of all queues, as the buffer of Tidegate's port does. Each queue has a state of its own and all one
 * configuration, as in rte_sched. DPDK has these AQMs inside rte_sched only, whose cost would hide theirs: what the AQM
 * costs is the difference to the ring alone.
 *
 * Time is virtual, in picoseconds. rte_pie takes any unit; rte_red counts idle time in units of 2^22.
 */
#define ALLOW_EXPERIMENTAL_API
#include "harness.h"

#include <rte_pie.h>
#include <rte_red.h>

#define PACKET_BYTES 64
#define PICOSECONDS_PER_PACKET 10000
#define LIMIT 2000u
#define SLOTS 2048u
#define ROUND_PACKETS (1u << 20)
/* A thousandth of the usual times, as on Tidegate's side: at this rate a packet takes 10 ns. */
#define TARGET_PS 15000000u
#define UPDATE_PS 15000000u
#define BURST_PS 150000000u
/* The thresholds in packets, where Tidegate's are 32 and 64 kB. */
#define RED_MIN 500
#define RED_MAX 1000
#define RED_WEIGHT_LOG2 9
#define RED_INVERSE_PROBABILITY 50

enum aqm { RING, WRED, PIE };

struct packet {
	uint32_t queue;
	uint32_t length;
};

struct port {
	struct packet ring[SLOTS];
	uint32_t head, tail;
	uint32_t *queued;
	struct rte_red_config red_config[3];
	struct rte_red *red;
	struct rte_pie_config pie_config;
	struct rte_pie *pie;
	uint64_t busy_until, now;
	uint64_t offered, congested;
};

static inline __attribute__((always_inline)) void advance(struct port *port, enum aqm aqm)
{
	while (port->head != port->tail && port->busy_until <= port->now) {
		struct packet packet = port->ring[port->head++ % SLOTS];
		uint32_t left = --port->queued[packet.queue];

		if (aqm == WRED && left == 0)
			rte_red_mark_queue_empty(&port->red[packet.queue], port->busy_until);
		if (aqm == PIE) {
			struct rte_pie *pie = &port->pie[packet.queue];

			rte_pie_dequeue(pie, packet.length, port->busy_until);
			/* As rte_sched does: the library counts what comes, its caller what goes. */
			pie->qlen--;
			pie->qlen_bytes -= packet.length;
		}
		port->busy_until += PICOSECONDS_PER_PACKET;
		__asm__ volatile("" : : "r"(&packet) : "memory");
	}
	if (port->busy_until < port->now)
		port->busy_until = port->now;
}

static inline __attribute__((always_inline)) void offer(struct port *port, enum aqm aqm, uint32_t queue)
{
	uint32_t colour = 0;
	int refused = 0;

	port->offered++;
	if (aqm == WRED)
		refused = rte_red_enqueue(&port->red_config[colour], &port->red[queue], port->queued[queue], port->now);
	if (aqm == PIE)
		refused = rte_pie_enqueue(&port->pie_config, &port->pie[queue], port->queued[queue], PACKET_BYTES, port->now);
	if (refused != 0) {
		port->congested++;
		return;
	}
	if (port->tail - port->head == LIMIT) {
		if (aqm == PIE) {
			port->pie[queue].qlen--;
			port->pie[queue].qlen_bytes -= PACKET_BYTES;
		}
		return;
	}
	port->ring[port->tail++ % SLOTS] = (struct packet){ .queue = queue, .length = PACKET_BYTES };
	port->queued[queue]++;
}

static inline __attribute__((always_inline)) void run_round(struct port *port, enum aqm aqm, const uint32_t *order)
{
	for (uint32_t i = 0; i < ROUND_PACKETS; i += BURST) {
		port->now += (uint64_t)BURST * PICOSECONDS_PER_PACKET * 20 / 21;
		advance(port, aqm);
		for (uint32_t j = 0; j < BURST; j++)
			offer(port, aqm, order[i + j]);
	}
}

/* The variants are compiled apart: the AQM is a constant in each. */
static void run_variant(struct port *port, enum aqm aqm, const uint32_t *order)
{
	if (aqm == RING)
		run_round(port, RING, order);
	else if (aqm == WRED)
		run_round(port, WRED, order);
	else
		run_round(port, PIE, order);
}

static void configure(struct port *port, enum aqm aqm, uint32_t queues)
{
	port->queued = allocate_huge(sizeof(*port->queued) * queues);
	if (aqm == WRED) {
		port->red = allocate_huge(sizeof(*port->red) * queues);
		for (int colour = 0; colour < 3; colour++)
			if (rte_red_config_init(&port->red_config[colour], RED_WEIGHT_LOG2, RED_MIN >> colour,
						RED_MAX >> colour, RED_INVERSE_PROBABILITY) != 0)
				exit(EXIT_ENVIRONMENT);
		for (uint32_t queue = 0; queue < queues; queue++)
			rte_red_rt_data_init(&port->red[queue]);
	}
	if (aqm == PIE) {
		port->pie = allocate_huge(sizeof(*port->pie) * queues);
		port->pie_config = (struct rte_pie_config){
			.qdelay_ref = TARGET_PS, .dp_update_interval = UPDATE_PS, .max_burst = BURST_PS, .tailq_th = LIMIT
		};
		for (uint32_t queue = 0; queue < queues; queue++)
			rte_pie_rt_data_init(&port->pie[queue]);
	}
}

int main(int argc, char **argv)
{
	static struct port port;
	static const char *const names[] = { "ring", "wred", "pie" };
	static const unsigned long state_bytes[] = { 0, sizeof(struct rte_red), sizeof(struct rte_pie) };
	uint64_t random = UINT64_C(0x9E3779B97F4A7C15);
	uint64_t offered, congested;
	uint32_t queues, *order;
	int aqm = -1;

	for (int i = 0; argc == 4 && i < 3; i++)
		if (strcmp(argv[2], names[i]) == 0)
			aqm = i;
	if (aqm < 0) {
		fprintf(stderr, "usage: aqm QUEUES ring|wred|pie CORE\n");
		return 2;
	}
	queues = parse_count(argv[1], "QUEUES");
	if (queues == 0) {
		fprintf(stderr, "error: QUEUES must be at least 1\n");
		return 2;
	}
	start_dpdk(argv[3], 64);
	configure(&port, aqm, queues);
	order = allocate_huge(sizeof(*order) * ROUND_PACKETS);
	for (uint32_t i = 0; i < ROUND_PACKETS; i++)
		order[i] = random_below(&random, queues);
	/* Two rounds warm up; the shares of the second are reported. */
	run_variant(&port, aqm, order);
	offered = port.offered;
	congested = port.congested;
	run_variant(&port, aqm, order);
	offered = port.offered - offered;
	congested = port.congested - congested;
	printf("ready,huge_kib=%lu,marked=0.0000,dropped=%.4f,state_bytes=%lu\n", huge_kibibytes(),
	       (double)congested / (double)offered, state_bytes[aqm]);
	fflush(stdout);
	while (next_request()) {
		double started = seconds_now();

		run_variant(&port, aqm, order);
		print_round("dpdk", "aqm", queues, (seconds_now() - started) * 1e9 / ROUND_PACKETS);
	}
	return 0;
}
