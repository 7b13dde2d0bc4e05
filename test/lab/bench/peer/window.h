/*
 * What the peers share: a window of time, what was done in it, and one JSON object
 * that says so. Each of them is one source file, which defines PROGRAM first.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Latencies are counted in buckets that are at most 1/32 wide. */
#define FINE 32
#define BUCKETS (FINE * 40)

/* What one process did; the parent reads it from shared memory. */
struct outcome {
	uint64_t ops, bytes, cpu_us;
	double seconds;
	uint64_t latency[BUCKETS];
};

static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, PROGRAM ": ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int bucket_of(uint64_t us)
{
	int shift = 0;

	while (us >> shift >= 2 * FINE)
		shift++;
	int i = shift * FINE + (int)(us >> shift);
	return i < BUCKETS ? i : BUCKETS - 1;
}

/* upper_end is the largest latency that a bucket counts. */
static uint64_t upper_end(int i)
{
	if (i < 2 * FINE)
		return (uint64_t)i;
	int shift = i / FINE - 1;
	return ((uint64_t)(i - shift * FINE + 1) << shift) - 1;
}

/* note counts an operation that began at started and ended at ended. */
static void note(struct outcome *out, double started, double ended, uint64_t bytes)
{
	out->ops++;
	out->bytes += bytes;
	out->latency[bucket_of((uint64_t)((ended - started) * 1e6))]++;
}

static uint64_t percentile(const uint64_t *latency, uint64_t count, double share)
{
	uint64_t seen = 0;

	for (int i = 0; i < BUCKETS; i++) {
		seen += latency[i];
		if (seen && (double)seen >= share * (double)count)
			return upper_end(i);
	}
	return 0;
}

static void print_sum(const struct outcome *all, int jobs)
{
	static struct outcome sum;

	for (int i = 0; i < jobs; i++) {
		sum.ops += all[i].ops;
		sum.bytes += all[i].bytes;
		sum.cpu_us += all[i].cpu_us;
		sum.seconds = all[i].seconds;
		for (int b = 0; b < BUCKETS; b++)
			sum.latency[b] += all[i].latency[b];
	}
	printf("{\"ops\":%llu,\"bytes\":%llu,\"seconds\":%.6f,\"cpuMicroseconds\":%llu,"
	       "\"p50Microseconds\":%llu,\"p99Microseconds\":%llu}\n",
	       (unsigned long long)sum.ops, (unsigned long long)sum.bytes, sum.seconds, (unsigned long long)sum.cpu_us,
	       (unsigned long long)percentile(sum.latency, sum.ops, 0.50),
	       (unsigned long long)percentile(sum.latency, sum.ops, 0.99));
}
