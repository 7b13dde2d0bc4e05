/*
 * bare-socket moves the bytes of NFSv3 READs over one TCP connection, and does
 * nothing else: the floor below any client. It looks at the length and the xid of
 * a reply only, and its requests differ in xid and offset only.
 *
 * usage: bare-socket serve PORT
 *        bare-socket read sequential|random BLOCK DEPTH WARMUP SECONDS URL FILE [PORT]
 *
 * read keeps DEPTH requests outstanding from one thread: one receive, which may
 * bring many replies, then one send for all requests that take their place. With
 * one outstanding that is one send and one receive for an operation. What a small
 * reply brings stays where it was received: nothing is copied that the kernel does
 * not copy. A large reply is received by one call that waits for all of it. libnfs
 * finds the handle of FILE in the folder URL, before the clock runs. With PORT the
 * requests go to that port of the same server.
 *
 * serve answers such requests from one buffer, without a file system.
 *
 * read prints the JSON object that libnfs-reader prints.
 */
#define PROGRAM "bare-socket"
#include "window.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>

/* What libnfs hands out as a file handle; its headers name the type only. */
struct nfs_fh {
	int len;
	char *val;
};

/* The reply of READ has HEAD bytes before its data: record mark, RPC header, status
 * and attributes of the file, count, end of file, length (RFC 1813, 3.3.6). */
#define HEAD 132
#define LAST_FRAGMENT 0x80000000u
#define MOST (4 << 20)
#define BUFFER (256 << 10)
#define MANY 64

static void no_delay(int fd)
{
	int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
		fail("TCP_NODELAY: %s", strerror(errno));
}

/* send_all sends iovecs to the last byte. It returns 0 when the peer is gone. */
static int send_all(int fd, struct iovec *v, int count)
{
	while (count) {
		struct msghdr m = {.msg_iov = v, .msg_iovlen = (size_t)count};
		ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		while (count && (size_t)n >= v->iov_len) {
			n -= (ssize_t)v->iov_len;
			v++;
			count--;
		}
		if (count) {
			v->iov_base = (char *)v->iov_base + n;
			v->iov_len -= (size_t)n;
		}
	}
	return 1;
}

static uint32_t get(const char *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof v);
	return ntohl(v);
}

static char *put(char *at, uint32_t v)
{
	v = htonl(v);
	memcpy(at, &v, sizeof v);
	return at + sizeof v;
}

/* answer serves one connection. All requests of one receive are answered by one
 * send, except that a head serves one reply at a time. */
static void *answer(void *arg)
{
	int fd = (int)(intptr_t)arg;
	size_t have = 0;
	char *in = malloc(BUFFER), *data = calloc(1, MOST), heads[MANY][HEAD] = {{0}};
	struct iovec v[2 * MANY];

	if (!in || !data)
		fail("no memory");
	no_delay(fd);
	for (int alive = 1; alive;) {
		ssize_t n = recv(fd, in + have, BUFFER - have, 0);
		if (n <= 0)
			break;
		have += (size_t)n;
		size_t at = 0, length = 0;
		int count = 0;
		while (alive && have - at >= 4 && have - at >= (length = (get(in + at) & ~LAST_FRAGMENT) + 4)) {
			uint32_t size = length < 12 ? MOST + 1 : get(in + at + length - 4);
			if (size > MOST)
				fail("this is no READ");
			put(put(heads[count], LAST_FRAGMENT | (HEAD - 4 + size)), get(in + at + 4));
			v[2 * count] = (struct iovec){.iov_base = heads[count], .iov_len = HEAD};
			v[2 * count + 1] = (struct iovec){.iov_base = data, .iov_len = size};
			at += length;
			if (++count == MANY) {
				alive = send_all(fd, v, 2 * count);
				count = 0;
			}
		}
		if (count)
			alive = send_all(fd, v, 2 * count);
		have -= at;
		memmove(in, in + at, have);
	}
	close(fd);
	free(in);
	free(data);
	return NULL;
}

static void serve(int port)
{
	int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) || bind(fd, (struct sockaddr *)&a, sizeof a) ||
	    listen(fd, 16))
		fail("listen on port %d: %s", port, strerror(errno));
	for (;;) {
		pthread_t thread;
		int peer = accept(fd, NULL, NULL);
		if (peer < 0)
			fail("accept: %s", strerror(errno));
		if (pthread_create(&thread, NULL, answer, (void *)(intptr_t)peer) || pthread_detach(thread))
			fail("no thread");
	}
}

static int dial(const char *host, const char *port)
{
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;

	if (getaddrinfo(host, port, &hints, &found))
		fail("no address %s port %s", host, port);
	int fd = socket(found->ai_family, found->ai_socktype, 0);
	if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen))
		fail("connect to %s port %s: %s", host, port, strerror(errno));
	freeaddrinfo(found);
	no_delay(fd);
	return fd;
}

/* call is a READ that lacks its xid, at 4, and its offset, 12 bytes before its end. */
static size_t call(char *to, const struct nfs_fh *fh, uint32_t count)
{
	char *at = put(to, 0);

	at = put(at, 0);                            /* xid */
	at = put(put(put(at, 0), 2), 100003);       /* a call of RPC version 2 */
	at = put(put(at, 3), 6);                    /* NFSv3, READ */
	at = put(put(put(at, 1), 32), 0);           /* AUTH_SYS of 32 bytes, made now */
	at = put(at, 9);
	memcpy(at, "nfsbench\0\0\0\0", 12);        /* from this machine */
	at = put(put(put(at + 12, 0), 0), 0);       /* uid, gid, no other groups */
	at = put(put(at, 0), 0);                    /* no verifier */
	at = put(at, (uint32_t)fh->len);
	memset(at, 0, ((size_t)fh->len + 3) / 4 * 4);
	memcpy(at, fh->val, (size_t)fh->len);
	at = put(put(at + ((size_t)fh->len + 3) / 4 * 4, 0), 0);
	at = put(at, count);
	put(to, LAST_FRAGMENT | (uint32_t)(at - to - 4));
	return (size_t)(at - to);
}

struct work {
	int fd, depth, is_random;
	uint64_t block, blocks, next, random;
	double warmup, seconds;
	char *requests; /* of each that is outstanding, at its number, which is its xid */
	size_t length;  /* of each */
};

/* aim gives request i a place in the file. */
static void aim(struct work *w, int i)
{
	uint64_t block;

	if (w->is_random) {
		w->random ^= w->random << 13;
		w->random ^= w->random >> 7;
		w->random ^= w->random << 17;
		block = w->random % w->blocks;
	} else {
		block = w->next++ % w->blocks;
	}
	char *at = w->requests + (size_t)(i + 1) * w->length - 12;
	put(put(at, (uint32_t)(block * w->block >> 32)), (uint32_t)(block * w->block));
}

static void run(struct work *w)
{
	static struct outcome out;
	size_t reply = HEAD + w->block, have = 0, room = reply > BUFFER ? reply : BUFFER;
	char *in = malloc(room);
	double *started = calloc((size_t)w->depth, sizeof *started);
	struct iovec *v = calloc((size_t)w->depth, sizeof *v);
	uint64_t cpu_from = 0;
	int inside = 0, whole = reply >= BUFFER;

	if (!in || !started || !v)
		fail("no memory");
	double from = now() + w->warmup, to = from + w->seconds, t = now();
	for (int i = 0; i < w->depth; i++) {
		put(w->requests + (size_t)i * w->length + 4, (uint32_t)i);
		aim(w, i);
		started[i] = t;
	}
	v[0] = (struct iovec){.iov_base = w->requests, .iov_len = (size_t)w->depth * w->length};
	if (!send_all(w->fd, v, 1))
		fail("send: %s", strerror(errno));
	while (t < to) {
		if (!inside && t >= from) {
			inside = 1;
			cpu_from = cpu_us();
		}
		ssize_t n = whole ? recv(w->fd, in + have, reply - have, MSG_WAITALL) : recv(w->fd, in + have, room - have, 0);
		if (n <= 0)
			fail("receive: %s", n ? strerror(errno) : "the server is gone");
		have += (size_t)n;
		size_t at = 0;
		int count = 0;
		for (t = now(); have - at >= reply; at += reply) {
			uint32_t i = get(in + at + 4);
			if (get(in + at) != (LAST_FRAGMENT | (uint32_t)(reply - 4)) || i >= (uint32_t)w->depth)
				fail("this is not the reply of a whole READ");
			if (t >= from && t < to)
				note(&out, started[i], t, w->block);
			started[i] = t;
			aim(w, (int)i);
			v[count++] = (struct iovec){.iov_base = w->requests + i * w->length, .iov_len = w->length};
		}
		if (!count)
			continue;
		have -= at;
		memmove(in, in + at, have);
		if (!send_all(w->fd, v, count))
			fail("send: %s", strerror(errno));
	}
	out.cpu_us = cpu_us() - cpu_from;
	out.seconds = w->seconds;
	print_sum(&out, 1);
}

/* open_file finds the file, prepares the requests and connects. */
static void open_file(struct work *w, const char *url, const char *name, const char *port)
{
	struct nfs_context *nfs = nfs_init_context();
	struct nfs_url *u = nfs ? nfs_parse_url_dir(nfs, url) : NULL;
	struct nfs_stat_64 st;
	struct nfsfh *file;

	if (!u || nfs_mount(nfs, u->server, u->path) || nfs_open(nfs, name, O_RDONLY, &file) || nfs_fstat64(nfs, file, &st))
		fail("open %s in %s: %s", name, url, nfs ? nfs_get_error(nfs) : "no memory");
	w->blocks = st.nfs_size / w->block;
	if (!w->blocks)
		fail("%s is smaller than a block", name);
	char one[256];
	const struct nfs_fh *fh = nfs_get_fh(file);
	if (fh->len < 1 || fh->len > 64)
		fail("a file handle of %d bytes", fh->len);
	w->length = call(one, fh, (uint32_t)w->block);
	w->requests = malloc(w->length * (size_t)w->depth);
	if (!w->requests)
		fail("no memory");
	for (int i = 0; i < w->depth; i++)
		memcpy(w->requests + (size_t)i * w->length, one, w->length);
	w->fd = dial(u->server, port);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve")) {
		serve(atoi(argv[2]));
	} else if ((argc == 9 || argc == 10) && !strcmp(argv[1], "read")) {
		struct work w = {.is_random = !strcmp(argv[2], "random"), .block = strtoul(argv[3], NULL, 10), .depth = atoi(argv[4]),
				 .random = 0x9e3779b97f4a7c15u, .warmup = atof(argv[5]), .seconds = atof(argv[6])};
		if (w.depth < 1 || !w.block || w.block > MOST || w.seconds <= 0)
			fail("BLOCK, DEPTH and SECONDS are numbers above 0, BLOCK at most %d", MOST);
		open_file(&w, argv[7], argv[8], argc == 10 ? argv[9] : "2049");
		run(&w);
	} else {
		fail("usage: bare-socket serve PORT | read sequential|random BLOCK DEPTH WARMUP SECONDS URL FILE [PORT]");
	}
	return 0;
}
