/*
 * Cost of enqueue plus dequeue in DPDK's rte_sched with every pipe backlogged.
 *
 *     sched PIPES BACKLOG CORE
 *
 * One port of 100 Gbit/s, one subport of the same rate, one best-effort queue per pipe in use, eight pipe profiles of
 * different rates. Every pipe holds BACKLOG packets (few pipes: a burst at least); a round takes 32 packets out and
 * puts each back into the pipe it came from, so the backlog stays and every dequeue finds its 32 packets. With a
 * backlog of 1 every packet is a visit to another pipe; with 2 the library sends both in one visit. That is the
 * library's best case: it visits the pipes in the order of its bitmap, however the flows arrived, and no pipe runs
 * out of credit, because 100 Gbit/s is far more than one core schedules.
 *
 * What has to be kept away from: rates below about 2 kB/s divide by zero (the lowest used here is 100 Gbit/s divided
 * by 2 x 2^20 pipes, 5.9 kB/s), and a port of more than 4 GiB crashes (its footprint is a 32-bit number): refused here.
 */
#include "harness.h"

#include <sys/sysinfo.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_sched.h>

#define PORT_RATE UINT64_C(12500000000)
#define PACKET_BYTES 64
#define PROFILES 8
#define QUEUE_PACKETS 32
#define LEAST_RATE 2000
#define ROUND_PACKETS (1u << 20)

/* What one pipe with these queues takes, rounded up: the memory is reserved before the library can be asked. */
#define PIPE_BYTES 3600

static struct rte_sched_port *configure(uint32_t pipes)
{
	static struct rte_sched_subport_profile_params subport_profile;
	static struct rte_sched_pipe_params pipe_profiles[PROFILES];
	struct rte_sched_subport_params subport = { 0 };
	struct rte_sched_subport_params *subports[] = { &subport };
	struct rte_sched_port_params params = {
		.name = "bench",
		.socket = 0,
		.rate = PORT_RATE,
		.mtu = 1522,
		.frame_overhead = RTE_SCHED_FRAME_OVERHEAD_DEFAULT,
		.n_subports_per_port = 1,
		.subport_profiles = &subport_profile,
		.n_subport_profiles = 1,
		.n_max_subport_profiles = 1,
		.n_pipes_per_subport = pipes,
	};
	struct rte_sched_port *port;
	uint64_t footprint;

	subport_profile.tb_rate = PORT_RATE;
	subport_profile.tb_size = 1000000;
	subport_profile.tc_period = 10;
	for (int class = 0; class < RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE; class++)
		subport_profile.tc_rate[class] = PORT_RATE;

	for (uint32_t i = 0; i < PROFILES; i++) {
		/* From one half to just under one and a half times the equal share. */
		uint64_t rate = PORT_RATE / pipes * (PROFILES / 2 + i) / PROFILES;

		if (rate < LEAST_RATE) {
			fprintf(stderr, "error: %" PRIu64 " B/s per pipe is below what rte_sched computes with\n", rate);
			exit(EXIT_ENVIRONMENT);
		}
		if (rate > PORT_RATE)
			rate = PORT_RATE;
		pipe_profiles[i].tb_rate = rate;
		pipe_profiles[i].tb_size = 1000000;
		pipe_profiles[i].tc_period = 40;
		pipe_profiles[i].tc_ov_weight = 1;
		/* Only the best-effort class holds queues: the smallest, and so the fastest, layout there is. */
		pipe_profiles[i].tc_rate[RTE_SCHED_TRAFFIC_CLASS_BE] = rate;
		for (int queue = 0; queue < RTE_SCHED_BE_QUEUES_PER_PIPE; queue++)
			pipe_profiles[i].wrr_weights[queue] = 1;
	}
	subport.n_pipes_per_subport_enabled = pipes;
	subport.qsize[RTE_SCHED_TRAFFIC_CLASS_BE] = QUEUE_PACKETS;
	subport.pipe_profiles = pipe_profiles;
	subport.n_pipe_profiles = PROFILES;
	subport.n_max_pipe_profiles = PROFILES;

	footprint = rte_sched_port_get_memory_footprint(&params, subports);
	if (footprint == 0 || footprint > (uint64_t)pipes * PIPE_BYTES + (1u << 20)) {
		fprintf(stderr, "error: rte_sched wants %" PRIu64 " bytes for %u pipes\n", footprint, pipes);
		exit(EXIT_ENVIRONMENT);
	}
	port = rte_sched_port_config(&params);
	if (port == NULL || rte_sched_subport_config(port, 0, &subport, 0) != 0)
		return NULL;
	for (uint32_t pipe = 0; pipe < pipes; pipe++)
		if (rte_sched_pipe_config(port, 0, pipe, (int32_t)(pipe % PROFILES)) != 0)
			return NULL;
	return port;
}

/* The pipes in random order, so that neither packets nor memory lie in the order of the pipes. */
static uint32_t *shuffled(uint32_t pipes)
{
	uint64_t random = UINT64_C(0x9E3779B97F4A7C15);
	uint32_t *order = allocate_huge(sizeof(*order) * pipes);

	for (uint32_t i = 0; i < pipes; i++)
		order[i] = i;
	for (uint32_t i = pipes - 1; i > 0; i--) {
		uint32_t j = random_below(&random, i + 1);
		uint32_t held = order[i];

		order[i] = order[j];
		order[j] = held;
	}
	return order;
}

/* Fills every pipe: its standing backlog, or a whole burst spread over a few. */
static void fill(struct rte_sched_port *port, struct rte_mbuf *packets, uint32_t count, uint32_t pipes)
{
	uint32_t *order = shuffled(pipes);

	for (uint32_t i = 0; i < count; i++) {
		struct rte_mbuf *packet = &packets[i];

		packet->refcnt = 1;
		packet->nb_segs = 1;
		packet->pkt_len = PACKET_BYTES;
		packet->data_len = PACKET_BYTES;
		rte_sched_port_pkt_write(port, packet, 0, order[i % pipes], RTE_SCHED_TRAFFIC_CLASS_BE, 0,
					 RTE_COLOR_GREEN);
		if (rte_sched_port_enqueue(port, &packet, 1) != 1) {
			fprintf(stderr, "error: rte_sched refused packet %u of the standing backlog\n", i);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	struct rte_mbuf *packets, *burst[BURST];
	struct rte_sched_port *port;
	struct sysinfo machine;
	uint64_t needed, misses = 0;
	uint32_t pipes, backlog, count;

	if (argc != 4) {
		fprintf(stderr, "usage: sched PIPES BACKLOG CORE\n");
		return 2;
	}
	pipes = parse_count(argv[1], "PIPES");
	backlog = parse_count(argv[2], "BACKLOG");
	if (pipes == 0 || (pipes & (pipes - 1)) != 0 || backlog == 0 || backlog >= QUEUE_PACKETS) {
		fprintf(stderr, "error: PIPES must be a power of two, BACKLOG from 1 to %d\n", QUEUE_PACKETS - 1);
		return 2;
	}
	count = pipes * backlog < BURST ? BURST : pipes * backlog;
	needed = (uint64_t)pipes * PIPE_BYTES + (uint64_t)count * sizeof(*packets);
	if (sysinfo(&machine) != 0 || needed * 5 / 4 > (uint64_t)machine.freeram * machine.mem_unit) {
		fprintf(stderr, "n/a: %" PRIu64 " MiB for %u pipes are not free\n", needed >> 20, pipes);
		return EXIT_ENVIRONMENT;
	}
	start_dpdk(argv[3], (unsigned int)(needed >> 20) + 64);
	port = configure(pipes);
	if (port == NULL) {
		fprintf(stderr, "n/a: rte_sched refused %u pipes\n", pipes);
		return EXIT_ENVIRONMENT;
	}
	packets = allocate_huge(sizeof(*packets) * count);
	fill(port, packets, count, pipes);

	for (int round = -1;; round++) {
		/* Round -1 warms up; its figures are not reported. */
		if (round == 0)
			printf("ready,huge_kib=%lu\n", huge_kibibytes());
		fflush(stdout);
		if (round >= 0 && !next_request())
			break;
		uint64_t done = 0;
		uint64_t budget = round < 0 && pipes > ROUND_PACKETS / 4 ? 2u * pipes : ROUND_PACKETS;
		double started = seconds_now();

		while (done < budget) {
			int taken = rte_sched_port_dequeue(port, burst, BURST);

			/* Counted, and reported below: a dequeue that finds nothing would flatter nobody. */
			misses += taken < BURST;
			if (rte_sched_port_enqueue(port, burst, (uint32_t)taken) != taken) {
				fprintf(stderr, "error: rte_sched dropped a packet of the standing backlog\n");
				return 1;
			}
			done += (uint32_t)taken;
		}
		double elapsed = seconds_now() - started;

		if (round >= 0)
			print_round("dpdk", "schedule", pipes, elapsed * 1e9 / (double)done);
	}
	fprintf(stderr, "dequeues with fewer than %u packets: %" PRIu64 "\n", BURST, misses);
	return 0;
}
