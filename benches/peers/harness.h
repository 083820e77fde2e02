/*
 * What both peer programs share: the line protocol with `cargo xtask bench`, random numbers, clock and memory.
 *
 * A program sets itself up, prints one `ready` line that says what it measures, and then performs one round for every
 * line it reads, answering `peer,operation,flows,ns_per_packet`. End of input ends it. By hand:
 *
 *     yes '' | head -5 | target/peers/meter 65536 own 1
 */
#ifndef TIDEGATE_HARNESS_H
#define TIDEGATE_HARNESS_H

#define _GNU_SOURCE
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_memory.h>

/* Packets that share one reading of the clock, and the burst of every enqueue and dequeue. */
#define BURST 32

/* Exit code for "the environment lacks something", as in the tidegate command. */
#define EXIT_ENVIRONMENT 3

/* xorshift64*: the same stream on both sides of the comparison, so that both see the same flows in the same order. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* A number below `bound`; the bias of the multiplication is below 2^-32 for the bounds used here. */
static inline uint32_t random_below(uint64_t *state, uint32_t bound)
{
	return (uint32_t)(((random_next(state) >> 32) * bound) >> 32);
}

static inline double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Zeroed memory on 2 MiB boundaries that asks for transparent huge pages, as the Rust side does. */
static inline void *allocate_huge(size_t bytes)
{
	const size_t huge = (size_t)2 << 20;
	size_t rounded = (bytes + huge - 1) / huge * huge;
	uint8_t *raw = mmap(NULL, rounded + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *aligned;

	if (raw == MAP_FAILED) {
		fprintf(stderr, "error: no memory for %zu bytes\n", bytes);
		exit(EXIT_ENVIRONMENT);
	}
	aligned = (uint8_t *)(((uintptr_t)raw + huge - 1) / huge * huge);
	/* A kernel that refuses leaves small pages; the `ready` line tells which was had. */
	(void)madvise(aligned, rounded, MADV_HUGEPAGE);
	memset(aligned, 0, rounded);
	return aligned;
}

/*
 * Puts one stretch of DPDK's memory on transparent huge pages. Without reserved pages DPDK maps a memory file in 4 KiB
 * pages, which this kernel never joins; so each 2 MiB piece is mapped anew as private memory, and the few pages that
 * already hold something are carried over.
 */
static int move_to_huge_pages(const struct rte_memseg_list *list, const struct rte_memseg *segment, size_t length,
			      void *argument)
{
	const uintptr_t huge = (uintptr_t)2 << 20, page = 4096;
	uintptr_t start = ((uintptr_t)segment->addr + huge - 1) / huge * huge;
	uintptr_t end = (uintptr_t)segment->addr + length;
	uint8_t *kept = malloc(huge);
	unsigned char resident[512];

	(void)list;
	(void)argument;
	for (uintptr_t piece = start; kept != NULL && piece + huge <= end; piece += huge) {
		if (mincore((void *)piece, huge, resident) != 0)
			break;
		for (uintptr_t i = 0; i < huge / page; i++)
			if (resident[i] & 1)
				memcpy(kept + i * page, (void *)(piece + i * page), page);
		if (mmap((void *)piece, huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			 0) == MAP_FAILED) {
			fprintf(stderr, "error: DPDK's memory could not be mapped anew\n");
			exit(EXIT_ENVIRONMENT);
		}
		(void)madvise((void *)piece, huge, MADV_HUGEPAGE);
		for (uintptr_t i = 0; i < huge / page; i++)
			if (resident[i] & 1)
				memcpy((void *)(piece + i * page), kept + i * page, page);
	}
	free(kept);
	return 0;
}

/* Starts DPDK without devices and without reserved pages on one core, its memory on transparent huge pages. */
static inline void start_dpdk(const char *core, unsigned int mebibytes)
{
	char memory[16];
	char *arguments[] = { "peer", "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf",
			      "--log-level=error", "-l", (char *)(uintptr_t)core, "-m", memory, NULL };

	snprintf(memory, sizeof(memory), "%u", mebibytes);
	if (rte_eal_init((int)(sizeof(arguments) / sizeof(arguments[0])) - 1, arguments) < 0) {
		fprintf(stderr, "error: DPDK did not start with %u MiB on core %s\n", mebibytes, core);
		exit(EXIT_ENVIRONMENT);
	}
	rte_memseg_contig_walk(move_to_huge_pages, NULL);
}

/* KiB of this process that lie on transparent huge pages now. */
static inline unsigned long huge_kibibytes(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	unsigned long kibibytes = 0;

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "AnonHugePages: %lu kB", &kibibytes) == 1)
			break;
	fclose(file);
	return kibibytes;
}

/* Waits for the next request; false at the end of input. */
static inline int next_request(void)
{
	char line[64];

	return fgets(line, sizeof(line), stdin) != NULL;
}

static inline void print_round(const char *peer, const char *operation, uint32_t flows, double ns_per_packet)
{
	printf("%s,%s,%" PRIu32 ",%.3f\n", peer, operation, flows, ns_per_packet);
	fflush(stdout);
}

/* Reads a decimal argument or ends the program. */
static inline uint32_t parse_count(const char *text, const char *what)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text == '\0' || *end != '\0' || value > UINT32_MAX) {
		fprintf(stderr, "error: %s is not a number: %s\n", what, text);
		exit(2);
	}
	return (uint32_t)value;
}

#endif
