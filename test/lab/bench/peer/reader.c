/*
 * libnfs-reader keeps a number of reads outstanding through libnfs' asynchronous
 * interface and says how fast that went: a peer for nfsbench that is as simple
 * as a client of that library can be. As in fio's nfs engine there is a process
 * with a connection of its own for each file, one poll loop in it, and what was
 * read is copied to where the caller wants it.
 *
 * usage: libnfs-reader sequential|random BLOCK DEPTH RATE WARMUP SECONDS URL FILE...
 *
 * RATE is 0 for a closed loop. Otherwise all processes together begin as many reads a second, at
 * equal distances, and a latency counts from when its read was due, even if DEPTH reads were
 * outstanding at that time.
 *
 * URL is that of the folder, such as nfs://127.0.0.1/export/data, with ?version=4
 * behind it for NFSv4.0. Prints one
 * JSON object: what was done within SECONDS after WARMUP seconds, the CPU time
 * that it took, and percentiles of the latency over all processes.
 */
#define _GNU_SOURCE /* ppoll */
#define PROGRAM "libnfs-reader"
#include "window.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <nfsc/libnfs.h>

struct job {
	struct nfs_context *nfs;
	struct nfsfh *file;
	struct outcome *out;
	uint64_t blocks, next, random, block;
	double from, to; /* the window */
	double distance, due; /* between reads of an open loop, and of the next one; or 0 */
	struct slot *idle; /* of an open loop */
	int is_random, outstanding, stopping;
};

/* One outstanding read and the buffer of the one who asked for it. */
struct slot {
	struct job *job;
	char *buffer;
	double started; /* or due */
	struct slot *next;
};

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
	s->started = j->distance > 0 ? j->due : now();
	j->due += j->distance;
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
	if (t >= j->from && t < j->to)
		note(j->out, s->started, t, (uint64_t)res);
	if (j->distance > 0) {
		s->next = j->idle;
		j->idle = s;
	} else if (!j->stopping) {
		issue(s);
	}
}

/* turn issues what is due, waits for the socket and lets libnfs work. */
static void turn(struct job *j)
{
	struct timespec limit = {.tv_sec = 1};

	while (j->idle && !j->stopping) {
		double wait = j->due - now();
		if (wait > 0) {
			if (wait < 1)
				limit = (struct timespec){.tv_nsec = (long)(wait * 1e9)};
			break;
		}
		struct slot *s = j->idle;
		j->idle = s->next;
		issue(s);
	}
	struct pollfd p = {.fd = nfs_get_fd(j->nfs), .events = (short)nfs_which_events(j->nfs)};
	if (ppoll(&p, 1, &limit, NULL) < 0 && errno != EINTR)
		fail("poll: %s", strerror(errno));
	if (nfs_service(j->nfs, p.revents) < 0)
		fail("connection: %s", nfs_get_error(j->nfs));
}

static void open_file(struct job *j, const char *url, const char *name)
{
	struct nfs_stat_64 st;

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
	if (nfs_fstat64(j->nfs, j->file, &st))
		fail("stat %s: %s", name, nfs_get_error(j->nfs));
	j->blocks = st.nfs_size / j->block;
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
	j->due = now();
	j->from = j->due + warmup;
	j->to = j->from + seconds;
	for (int i = 0; i < depth; i++) {
		slots[i].job = j;
		slots[i].buffer = malloc(j->block);
		if (!slots[i].buffer)
			fail("no memory");
		if (j->distance > 0) {
			slots[i].next = j->idle;
			j->idle = &slots[i];
		} else {
			issue(&slots[i]);
		}
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

int main(int argc, char **argv)
{
	if (argc < 9)
		fail("usage: libnfs-reader sequential|random BLOCK DEPTH RATE WARMUP SECONDS URL FILE...");
	int jobs = argc - 8, depth = atoi(argv[3]), broken = 0;
	uint64_t block = strtoull(argv[2], NULL, 10);
	double rate = atof(argv[4]), warmup = atof(argv[5]), seconds = atof(argv[6]);
	if (depth < 1 || !block || rate < 0 || seconds <= 0)
		fail("BLOCK, DEPTH and SECONDS are numbers above 0, RATE is one from 0 on");
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
				.distance = rate > 0 ? jobs / rate : 0,
				.random = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1)};
		open_file(&j, argv[7], argv[8 + i]);
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
