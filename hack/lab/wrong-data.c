/*
 * Preloaded into ganesha.nfsd by hack/lab/ganesha.sh --wrong-data, this lets NFS-Ganesha
 * acknowledge writes that it does not do as asked, and answer reads with other data. It
 * replaces the two functions by which FSAL_VFS reads and writes files.
 *
 * The test and the server share the file that $WRONG_DATA names: struct control. Reads and
 * writes of exactly one block are those of the load; all others are left alone. They are
 * executed one after the other, so that the order of two writes is known.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* As in test/faulty/wrong.go. */
enum fault { NONE, DROP, TEAR, MISPLACE, UNDO, ZEROS, STALE, SWAP, DAMAGE };

/* As in test/lab/faults/wrong_test.go. */
struct control {
	uint64_t run;   /* what is known of files is forgotten when it changes; nothing is done at 0 */
	uint64_t fault; /* what to do, to one of `every` writes or reads */
	uint64_t every;
	uint64_t block; /* bytes */

	uint64_t ios;        /* of the load */
	uint64_t writes;     /* of these */
	uint64_t same;       /* written sectors that held the same data already */
	uint64_t blocks;     /* that were written */
	uint64_t bad_blocks; /* of these, those whose last write is not there as it was sent */
	uint64_t bad_reads;  /* that gave other data than are there */
};

enum { SECTOR = 512, FILES = 16, BLOCKS = 1 << 14 };

struct block {
	char *kept; /* data of an earlier write or read */
	char written, bad;
};

struct file {
	ino_t inode;
	char *first; /* data of the first read, for SWAP */
	struct block blocks[BLOCKS];
};

static struct control *control;
static struct file files[FILES];
static uint64_t run;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void attach(void)
{
	const char *name = getenv("WRONG_DATA");
	int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (p != MAP_FAILED)
		control = p;
}

/* NFS-Ganesha loads FSAL_VFS with RTLD_DEEPBIND, and so past every function that is preloaded. */
void *dlopen(const char *name, int flags)
{
	void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");

	return next(name, flags & ~RTLD_DEEPBIND);
}

static void forget(void)
{
	for (int f = 0; f < FILES; f++) {
		free(files[f].first);
		for (int b = 0; b < BLOCKS; b++)
			free(files[f].blocks[b].kept);
	}
	memset(files, 0, sizeof files);
	run = control->run;
}

/* file_of returns what is known of a file, or NULL if this is no I/O of the load: the marker of the files has one block. */
static struct file *file_of(int fd, size_t length, off64_t off)
{
	struct stat st;

	if (length != control->block || off % length || (uint64_t)off / length >= BLOCKS || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size < 2 * control->block)
		return NULL;
	if (run != control->run)
		forget();
	for (int f = 0; f < FILES; f++) {
		if (!files[f].inode)
			files[f].inode = st.st_ino;
		if (files[f].inode == st.st_ino)
			return &files[f];
	}
	return NULL;
}

static size_t length_of(const struct iovec *iov, int n)
{
	size_t length = 0;

	while (n-- > 0)
		length += iov[n].iov_len;
	return length;
}

/* copy moves data between a buffer and the pieces of an I/O. */
static void copy(char *buffer, const struct iovec *iov, int n, int into_pieces)
{
	for (int i = 0; i < n; buffer += iov[i++].iov_len) {
		if (into_pieces)
			memcpy(iov[i].iov_base, buffer, iov[i].iov_len);
		else
			memcpy(buffer, iov[i].iov_base, iov[i].iov_len);
	}
}

static void keep(char **kept, const char *data, size_t length)
{
	if (!*kept && !(*kept = malloc(length)))
		abort();
	memcpy(*kept, data, length);
}

static uint64_t same_sectors(const char *a, const char *b, size_t length)
{
	uint64_t same = 0;

	for (size_t at = 0; at < length; at += SECTOR)
		same += !memcmp(a + at, b + at, SECTOR);
	return same;
}

static void write_all(int fd, const char *data, size_t length, off64_t off)
{
	if (pwrite64(fd, data, length, off) != (ssize_t)length)
		abort();
}

/*
 * put does a write of the load, and reports whether the block now lacks the data. For UNDO,
 * what an earlier write of the block brought comes once more behind this one.
 */
static int put(int fd, struct block *b, const char *data, size_t length, off64_t off)
{
	int hit = control->writes % control->every == 0;
	int undo = control->fault == UNDO && hit && b->kept;

	if (control->fault == DROP && hit)
		return 1;
	if (control->fault == TEAR && hit)
		return write_all(fd, data, length / 2, off), 1;
	if (control->fault == MISPLACE && hit && off)
		return write_all(fd, data, length, off - length), 1;
	write_all(fd, data, length, off);
	if (undo)
		write_all(fd, b->kept, length, off);
	if (control->fault == UNDO)
		keep(&b->kept, data, length);
	return undo;
}

/* give changes the data of a read of the load, and reports whether they are others now. */
static int give(struct file *f, struct block *b, char *data, size_t length)
{
	int hit = (control->ios - control->writes) % control->every == 0;
	char **kept = control->fault == SWAP ? &f->first : &b->kept;
	int bad;

	if (control->fault == ZEROS && hit)
		return memset(data, 0, length), 1;
	if (control->fault == DAMAGE && hit) {
		for (size_t at = 0; at < length; at += SECTOR)
			data[at] ^= 0xff;
		return 1;
	}
	if (control->fault != STALE && control->fault != SWAP)
		return 0;
	if (!*kept) {
		keep(kept, data, length);
		return 0;
	}
	bad = hit && memcmp(*kept, data, length);
	if (bad)
		memcpy(data, *kept, length);
	return bad;
}

ssize_t pwritev64(int fd, const struct iovec *iov, int n, off64_t off)
{
	size_t length = length_of(iov, n);
	char *data = NULL, *before = NULL;
	struct file *f = NULL;

	if (control && control->run) {
		pthread_mutex_lock(&mutex);
		f = file_of(fd, length, off);
		if (f && (data = malloc(length)) && (before = malloc(length)) && pread64(fd, before, length, off) == (ssize_t)length) {
			struct block *b = &f->blocks[off / length];

			copy(data, iov, n, 0);
			control->same += same_sectors(data, before, length);
			control->blocks += !b->written;
			b->written = 1;
			control->writes++;
			control->bad_blocks -= b->bad;
			b->bad = put(fd, b, data, length, off);
			control->bad_blocks += b->bad;
			control->ios++;
		} else {
			f = NULL;
		}
		pthread_mutex_unlock(&mutex);
		free(data);
		free(before);
	}
	return f ? (ssize_t)length : syscall(SYS_pwritev, fd, iov, n, off, 0);
}

ssize_t preadv64(int fd, const struct iovec *iov, int n, off64_t off)
{
	size_t length = length_of(iov, n);
	ssize_t got;
	struct file *f;
	char *data;

	if (!control || !control->run)
		return syscall(SYS_preadv, fd, iov, n, off, 0);
	pthread_mutex_lock(&mutex);
	got = syscall(SYS_preadv, fd, iov, n, off, 0);
	f = got == (ssize_t)length ? file_of(fd, length, off) : NULL;
	if (f && (data = malloc(length))) {
		copy(data, iov, n, 0);
		control->ios++;
		control->bad_reads += give(f, &f->blocks[off / length], data, length);
		copy(data, iov, n, 1);
		free(data);
	}
	pthread_mutex_unlock(&mutex);
	return got;
}
