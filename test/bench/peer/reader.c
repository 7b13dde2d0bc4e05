/*
 * libnfs-reader keeps a number of reads outstanding through libnfs' asynchronous
 * interface and says how fast that went: a peer for nfsbench that is as simple
 * as a client of that library can be. As in fio's nfs engine there is a process
 * with a connection of its own for each file, one poll loop in it, and what was
 * read is copied to where the caller wants it.
 *
 * usage: libnfs-reader sequential|random BLOCK DEPTH WARMUP SECONDS URL FILE...
 *
 * URL is that of the folder, such as nfs://127.0.0.1/export/data. Prints one
 * JSON object: what was done within SECONDS after WARMUP seconds, the CPU time
 * that it took, and percentiles of the latency over all processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nfsc/libnfs.h>

/* Latencies are counted in buckets that are at most 1/32 wide. */
#define FINE 32
#define BUCKETS (FINE * 40)

/* What one process did; the parent reads it from shared memory. */
struct outcome {
	uint64_t ops, bytes, cpu_us;
	double seconds;
	uint64_t latency[BUCKETS];
};

struct job {
	struct nfs_context *nfs;
	struct nfsfh *file;
	struct outcome *out;
	uint64_t blocks, next, random, block;
	double from, to; /* the window */
	int is_random, outstanding, stopping;
};

/* One outstanding read and the buffer of the one who asked for it. */
struct slot {
	struct job *job;
	char *buffer;
	double started;
};

static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "libnfs-reader: ");
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

static void done(int res, struct nfs_context *nfs, void *data, void *private_data);

static void issue(struct slot *s)
{
	struct job *j = s->job;
	uint64_t block;

	if (j->is_random) {
		j->random ^= j->random << 13;
		j->random ^= j->random >> 7;
		j->random ^= j->random << 17;
		block = j->random % j->blocks;
	} else {
		block = j->next++ % j->blocks;
	}
	s->started = now();
	if (nfs_pread_async(j->nfs, j->file, block * j->block, j->block, done, s))
		fail("queue a read: %s", nfs_get_error(j->nfs));
	j->outstanding++;
}

static void done(int res, struct nfs_context *nfs, void *data, void *private_data)
{
	struct slot *s = private_data;
	struct job *j = s->job;

	j->outstanding--;
	if (res != (int)j->block)
		fail("read gave %d instead of %llu: %s", res, (unsigned long long)j->block, nfs_get_error(nfs));
	memcpy(s->buffer, data, (size_t)res);
	double t = now();
	if (t >= j->from && t < j->to) {
		j->out->ops++;
		j->out->bytes += (uint64_t)res;
		j->out->latency[bucket_of((uint64_t)((t - s->started) * 1e6))]++;
	}
	if (!j->stopping)
		issue(s);
}

/* turn waits for the socket and lets libnfs work. */
static void turn(struct job *j)
{
	struct pollfd p = {.fd = nfs_get_fd(j->nfs), .events = (short)nfs_which_events(j->nfs)};

	if (poll(&p, 1, 1000) < 0 && errno != EINTR)
		fail("poll: %s", strerror(errno));
	if (nfs_service(j->nfs, p.revents) < 0)
		fail("connection: %s", nfs_get_error(j->nfs));
}

static void open_file(struct job *j, const char *url, const char *name)
{
	struct stat st;

	j->nfs = nfs_init_context();
	if (!j->nfs)
		fail("no libnfs context");
	struct nfs_url *u = nfs_parse_url_dir(j->nfs, url);
	if (!u)
		fail("URL %s: %s", url, nfs_get_error(j->nfs));
	if (nfs_mount(j->nfs, u->server, u->path))
		fail("mount %s: %s", url, nfs_get_error(j->nfs));
	nfs_destroy_url(u);
	if (nfs_open(j->nfs, name, O_RDONLY, &j->file))
		fail("open %s: %s", name, nfs_get_error(j->nfs));
	if (nfs_fstat(j->nfs, j->file, &st))
		fail("stat %s: %s", name, nfs_get_error(j->nfs));
	j->blocks = (uint64_t)st.st_size / j->block;
	if (!j->blocks)
		fail("%s is smaller than a block", name);
}

static void run(struct job *j, int depth, double warmup, double seconds)
{
	struct slot *slots = calloc((size_t)depth, sizeof *slots);
	uint64_t cpu_from = 0;
	int inside = 0;

	if (!slots)
		fail("no memory");
	j->from = now() + warmup;
	j->to = j->from + seconds;
	for (int i = 0; i < depth; i++) {
		slots[i].job = j;
		slots[i].buffer = malloc(j->block);
		if (!slots[i].buffer)
			fail("no memory");
		issue(&slots[i]);
	}
	for (double t = now(); t < j->to; t = now()) {
		if (!inside && t >= j->from) {
			inside = 1;
			cpu_from = cpu_us();
		}
		turn(j);
	}
	j->out->cpu_us = cpu_us() - cpu_from;
	j->out->seconds = seconds;
	j->stopping = 1;
	for (double until = now() + 10; j->outstanding && now() < until;)
		turn(j);
	if (j->outstanding)
		fail("%d reads were never answered", j->outstanding);
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

int main(int argc, char **argv)
{
	if (argc < 8)
		fail("usage: libnfs-reader sequential|random BLOCK DEPTH WARMUP SECONDS URL FILE...");
	int jobs = argc - 7, depth = atoi(argv[3]), broken = 0;
	uint64_t block = strtoull(argv[2], NULL, 10);
	double warmup = atof(argv[4]), seconds = atof(argv[5]);
	if (depth < 1 || !block || seconds <= 0)
		fail("BLOCK, DEPTH and SECONDS are numbers above 0");
	struct outcome *all = mmap(NULL, sizeof *all * (size_t)jobs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		fail("no shared memory: %s", strerror(errno));
	for (int i = 0; i < jobs; i++) {
		pid_t child = fork();
		if (child < 0)
			fail("fork: %s", strerror(errno));
		if (child)
			continue;
		struct job j = {.out = &all[i], .block = block, .is_random = !strcmp(argv[1], "random"),
				.random = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1)};
		open_file(&j, argv[6], argv[7 + i]);
		run(&j, depth, warmup, seconds);
		exit(0);
	}
	for (int i = 0; i < jobs; i++) {
		int status;
		if (wait(&status) < 0 || status)
			broken = 1;
	}
	if (broken)
		fail("a process ended early");
	print_sum(all, jobs);
	return 0;
}
