/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file system that doesn't answer some programs. `stuck_fs DIRECTORY FILE COMM WHAT` mounts it on
 * DIRECTORY, with a copy of FILE in it under the same name. After SIGUSR1, programs called COMM get
 * no answer to the requests that WHAT names. Other kraits, such as the machine's agent, always get
 * an error for these requests: what they read would stay in the page cache, where COMM would find
 * it. All other programs get answers. WHAT is:
 *
 * free	none: everybody gets an answer, other kraits too
 * symbols	reads of the file, except its first page and its end
 * reads	reads of what nobody has read before
 * twice	reads after the second one
 * opens	reads and opens
 * names	reads, and looking up the file's name
 *
 * The program unmounts the file system and ends when it gets a signal, or when its parent ends. The
 * protocol is that of linux/fuse.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_ID 2

static struct stat backing;
static int file, device;
static const char *name, *comm;
static char held; /* the first letter of WHAT, which says which requests hang */
static volatile sig_atomic_t armed, over;

static void on_signal(int number)
{
	if (number == SIGUSR1)
		armed = 1;
	else
		over = 1;
}

static const char *name_of(unsigned pid)
{
	static char text[64];
	char path[64];
	FILE *f;

	text[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "r");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/*
 * Tells whether the program is another krait than COMM whose reads would get into the page cache.
 * ("twice" bypasses that cache.)
 */
static bool is_other_krait(const char *who)
{
	return held != 't' && strcmp(who, comm) != 0 && !strncmp(who, "krait", strlen("krait"));
}

/* Tells whether the request is one of those that WHAT names. */
static bool is_held(const struct fuse_in_header *in, const struct fuse_read_in *what)
{
	const unsigned long head = 4096, tail = 65536;
	static unsigned reads;

	if (in->opcode != FUSE_OPEN && in->opcode != FUSE_READ && in->opcode != FUSE_LOOKUP)
		return false;
	if (held == 'f' || (in->opcode == FUSE_LOOKUP && held != 'n'))
		return false;
	if (in->opcode == FUSE_OPEN && held != 'o')
		return false;
	if (in->opcode == FUSE_READ && held == 't')
		return ++reads > 2;
	if (in->opcode == FUSE_READ && held == 's' &&
	    (what->offset < head || what->offset + 2 * tail >= (unsigned long)backing.st_size))
		return false;
	return true;
}

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t n)
{
	struct fuse_out_header out = {
		.len = (unsigned)(sizeof(out) + n), .error = error, .unique = in->unique};
	struct iovec parts[] = {{&out, sizeof(out)}, {(void *)data, n}};

	if (writev(device, parts, n ? 2 : 1) < 0 && errno != ENOENT)
		perror("writev");
}

static struct fuse_attr attributes(unsigned long id)
{
	if (id == FUSE_ROOT_ID)
		return (struct fuse_attr){.ino = id, .mode = S_IFDIR | 0755, .nlink = 2};
	return (struct fuse_attr){.ino = id,
				  .size = (unsigned long)backing.st_size,
				  .blocks = (unsigned long)backing.st_blocks,
				  .mtime = (unsigned long)backing.st_mtim.tv_sec,
				  .mtimensec = (unsigned)backing.st_mtim.tv_nsec,
				  .ctime = (unsigned long)backing.st_ctim.tv_sec,
				  .ctimensec = (unsigned)backing.st_ctim.tv_nsec,
				  .mode = S_IFREG | 0755,
				  .nlink = 1};
}

static void look_up(const struct fuse_in_header *in, const char *wanted)
{
	struct fuse_entry_out out = {.nodeid = FILE_ID,
				     .attr_valid = 3600,
				     .entry_valid = held == 'n' ? 0 : 3600,
				     .attr = attributes(FILE_ID)};

	if (strcmp(wanted, name))
		answer(in, -ENOENT, NULL, 0);
	else
		answer(in, 0, &out, sizeof(out));
}

static void read_file(const struct fuse_in_header *in, const struct fuse_read_in *what)
{
	static char bytes[1 << 17];
	ssize_t n = pread(file, bytes, what->size < sizeof(bytes) ? what->size : sizeof(bytes),
			  (off_t)what->offset);

	answer(in, n < 0 ? -errno : 0, bytes, n < 0 ? 0 : (size_t)n);
}

static void serve(const struct fuse_in_header *in, const void *arg)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_readahead = 0,
				     .max_write = 4096,
				     .time_gran = 1};
	struct fuse_attr_out attr = {.attr_valid = 3600, .attr = attributes(in->nodeid)};
	struct fuse_open_out open = {.open_flags = FOPEN_KEEP_CACHE};

	const char *who = name_of(in->pid);
	bool is_named = !strcmp(who, comm);

	/* bypasses the page cache, so that nothing that was read is kept */
	if (held == 't' && in->opcode == FUSE_OPEN && is_named)
		open.open_flags = FOPEN_DIRECT_IO;

	if (is_other_krait(who) && is_held(in, arg))
		return answer(in, -EIO, NULL, 0);
	if (armed && is_named && is_held(in, arg))
		return;
	switch (in->opcode) {
	case FUSE_INIT:
		return answer(in, 0, &init, sizeof(init));
	case FUSE_LOOKUP:
		return look_up(in, arg);
	case FUSE_GETATTR:
		return answer(in, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return answer(in, 0, &open, sizeof(open));
	case FUSE_READ:
		return read_file(in, arg);
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_INTERRUPT:
		return answer(in, 0, NULL, 0);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		return;
	}
	answer(in, -ENOSYS, NULL, 0);
}

static int run(void)
{
	static union {
		struct fuse_in_header head;
		char bytes[1 << 18];
	} request;

	while (!over) {
		ssize_t n = read(device, &request, sizeof(request));

		if (n < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT)
			return errno == ENODEV ? 0 : 1;
		if (n >= (ssize_t)sizeof(request.head))
			serve(&request.head, request.bytes + sizeof(request.head));
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	char options[128];
	int r;

	if (argc < 5)
		return 2;
	name = basename(strdup(argv[2]));
	comm = argv[3];
	held = argv[4][0];
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	file = open(argv[2], O_RDONLY);
	device = open("/dev/fuse", O_RDWR);
	if (file < 0 || fstat(file, &backing) || device < 0) {
		perror(device < 0 ? "/dev/fuse" : argv[2]);
		return 77;
	}
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 device);
	if (mount("stuck", argv[1], "fuse.stuck", MS_RDONLY, options)) {
		perror("mount");
		return 77;
	}
	puts("mounted");
	fflush(stdout);
	r = run();
	umount2(argv[1], MNT_DETACH);
	return r;
}
