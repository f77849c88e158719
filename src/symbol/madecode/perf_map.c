/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads names of code made at run time, from perf maps and jitdumps; see perf_map.h. */
#include "symbol/madecode/perf_map.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/far.h"
#include "base/system/log.h"
#include "base/map.h"
#include "base/work/slice.h"
#include "proc/files/files.h"
#include "proc/read/stat.h"
#include "symbol/madecode/code_map.h"
#include "symbol/madecode/jitdump.h"
#include "symbol/text_line.h"

#define LINE_BYTES ((size_t)PERF_MAP_NAME_BYTES + 40)
/* how many bytes one refresh reads at most; the next refresh reads on */
#define REFRESH_MAX (256u << 20)
#define BLOCK_BYTES (64u << 10)

/*
 * How much of the thread's slice of work (base/work/slice.h) an entry takes. WORK_ENTRY: the entry
 * is read, sorted, and laid over other entries. WORK_COPY: the map already has the entry, which is
 * only copied.
 */
#define WORK_ENTRY 300
#define WORK_COPY  8

struct perf_map {
	int text;	 /* descriptor of perf-PID.map; -1: there is no such file */
	uint64_t offset; /* how many bytes of the perf map have been read */
	struct str line; /* the beginning of the perf map's last line, which isn't complete yet */
	/* the jitdump, whose .fd this struct owns; -1: there is no jitdump */
	struct jitdump dump;
	struct map indices; /* index of code in the jitdump -> offset of its name in .names */
	struct str names;   /* names of all entries, each NUL-terminated */
	struct code_map code;
	struct perf_map_stats stats;
	/*
	 * this refresh has already made room for new entries once, which takes as much work as
	 * reading a million lines
	 */
	bool was_full;
};

struct perf_map *perf_map_new(void)
{
	struct perf_map *m = calloc(1, sizeof(*m));

	if (m)
		m->text = m->dump.fd = -1;
	return m;
}

static void forget(struct perf_map *m)
{
	code_map_fini(&m->code);
	str_fini(&m->names);
	str_clear(&m->line);
	m->offset = 0;
	m->dump = (struct jitdump){.fd = m->dump.fd};
	map_fini(&m->indices);
	m->stats = (struct perf_map_stats){};
}

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	forget(m);
	str_fini(&m->line);
	if (m->text >= 0)
		close(m->text);
	if (m->dump.fd >= 0)
		close(m->dump.fd);
	free(m);
}

static void perf_map_freep(struct perf_map **m)
{
	perf_map_free(*m);
}

/* Returns the offset of a copy of @name in .names; UINT32_MAX: there is no room. */
static uint32_t add_name(struct perf_map *m, const char *name, size_t n)
{
	uint32_t at = (uint32_t)m->names.n;

	n = strnlen(name, MIN(n, (size_t)PERF_MAP_NAME_BYTES));
	if (m->names.n + n + 1 > PERF_MAP_NAMES_MAX)
		return UINT32_MAX;
	str_add_n(&m->names, name, n);
	str_add_c(&m->names, '\0');
	return at;
}

static int add_range(struct perf_map *m, uint64_t start, uint64_t size, uint32_t name)
{
	/*
	 * code_map_settle() drops entries that later ones cover, but calling it for every entry
	 * would take too long.
	 */
	if (m->code.list.n >= PERF_MAP_ENTRIES_MAX &&
	    m->code.list.n - m->code.sorted >= PERF_MAP_ENTRIES_MAX / 4) {
		if (code_map_settle(&m->code) < 0)
			return -ENOMEM;
		m->was_full = true;
	}
	if (m->code.list.n >= PERF_MAP_ENTRIES_MAX || name == UINT32_MAX) {
		m->stats.dropped++;
		return 0;
	}
	return m->names.failed ? -ENOMEM : code_map_add(&m->code, start, size, name);
}

/* Adds a line "7f2c8a3c2000 5c py::f:/srv/app.py" of @n bytes, without the newline. */
static int add_line(struct perf_map *m, const char *line, size_t n)
{
	const char *p = line, *end = line + n;
	uint64_t start, size;

	if (!take_hex(&p, end, ' ', &start) || !take_hex(&p, end, ' ', &size) || p == end ||
	    !size || start + size < start) {
		m->stats.malformed++;
		return 0;
	}
	return add_range(m, start, size, add_name(m, p, (size_t)(end - p)));
}

/*
 * Adds @n bytes of one line. @whole: the line ends with these bytes; else its end isn't there yet.
 */
static int feed_line(struct perf_map *m, const char *text, size_t n, bool whole)
{
	int r = 0;

	if (whole && !m->line.n)
		return add_line(m, text, n);
	str_add_n(&m->line, text, MIN(n, LINE_BYTES - m->line.n));
	if (m->line.failed)
		return -ENOMEM;
	if (whole) {
		r = add_line(m, str_cstr(&m->line), m->line.n);
		str_clear(&m->line);
	}
	return r;
}

static int feed(struct perf_map *m, const char *text, size_t n)
{
	const char *end = text + n;
	int r = 0;

	while (text < end && !r) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;

		r = feed_line(m, text, (size_t)(stop - text), newline);
		text = stop + 1;
	}
	return r;
}

int perf_map_feed(struct perf_map *m, const char *text, size_t n)
{
	int r = feed(m, text, n), settled = code_map_settle(&m->code);

	return r ? r : settled;
}

/*
 * Skips a hole in the file, which reads as NULs. However long the hole is, at most as many NULs are
 * taken as the longest line has bytes. If the file system doesn't report holes, the NULs are read.
 */
static int skip_hole(struct perf_map *m, uint64_t end)
{
	static const char nuls[LINE_BYTES];
	off_t data =
		far_is(m->text) ? (off_t)m->offset : lseek(m->text, (off_t)m->offset, SEEK_DATA);
	uint64_t next = data < 0 ? end : MIN((uint64_t)data, end);
	size_t n;

	if ((data < 0 && errno != ENXIO) || next <= m->offset)
		return 0;
	n = MIN(next - m->offset, (uint64_t)LINE_BYTES);
	m->offset = next;
	return feed(m, nuls, n);
}

/*
 * Does the thread's slice of work (base/work/slice.h) allow to read a block, and to sort in the
 * entries of the last block?
 */
static bool may_read_block(const struct perf_map *m, size_t entries_before)
{
	return slice_spend(BLOCK_BYTES * WORK_BYTE +
			   (m->code.list.n - entries_before) * WORK_ENTRY);
}

/*
 * Reads the perf map from where the last reading stopped to its current @end. Stops when the map is
 * full or the thread's slice of work (base/work/slice.h) is used up.
 */
static int read_text(struct perf_map *m, uint64_t end)
{
	_cleanup_free_ char *block = malloc(BLOCK_BYTES);
	size_t entries = m->code.list.n, left = REFRESH_MAX;
	int r = 0;

	if (!block)
		return -ENOMEM;
	while (m->offset < end && left && !r && !m->was_full && may_read_block(m, entries)) {
		size_t want;
		ssize_t n;

		entries = m->code.list.n;
		r = skip_hole(m, end);
		want = MIN(left, (size_t)BLOCK_BYTES);
		want = MIN(end - m->offset, (uint64_t)want);
		n = far_pread(m->text, block, want, (off_t)m->offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		m->offset += (uint64_t)n;
		left -= (size_t)n;
		r = r ? r : feed(m, block, (size_t)n);
	}
	return r;
}

static int add_code(void *arg, const struct jitdump_code *code)
{
	struct perf_map *m = arg;
	const uint64_t *known = map_get(&m->indices, code->index);
	uint32_t name = known ? (uint32_t)*known : UINT32_MAX;

	if (code->name)
		name = add_name(m, code->name, code->name_n);
	if (code->name && name != UINT32_MAX && map_put(&m->indices, code->index, name) < 0)
		return -ENOMEM;
	return add_range(m, code->start, code->size, name);
}

/* Returns the current size of the file @fd; @before if the size can't be found out. */
static uint64_t file_size(int fd, uint64_t before)
{
	struct stat st;

	return fd < 0 || far_stat(fd, &st) ? before : (uint64_t)st.st_size;
}

int perf_map_refresh(struct perf_map *m)
{
	uint64_t text = file_size(m->text, m->offset), dump = file_size(m->dump.fd, m->dump.offset);
	int r = 0, settled;

	if (text < m->offset || dump < m->dump.offset)
		forget(m);
	m->was_full = false;
	if (!slice_spend(m->code.list.n * WORK_COPY))
		return 0;
	if (text > m->offset)
		r = read_text(m, text);
	if (!r && dump > m->dump.offset)
		r = jitdump_read(&m->dump, dump, add_code, m);
	settled = code_map_settle(&m->code);
	r = r ? r : settled;
	return r ? err_sys(r, "can't read the perf map") : 0;
}

int perf_map_add_dump(struct perf_map *m, int fd)
{
	_cleanup_close_ int dump = fd;

	if (m->dump.fd >= 0)
		return err_set(-EEXIST, "krait reads only one jitdump of a process");
	m->dump.fd = TAKE_FD(dump);
	return perf_map_refresh(m);
}

/* Reads from /proc/PID/status the ids that the process has in its own namespaces. */
static int read_status(const struct proc *proc, struct proc_status *ret)
{
	int r = proc_status_read(proc->dirfd, "status", ret);

	return r ? err_sys(r, "can't read the status of process %d", (int)proc->tgid) : 0;
}

/*
 * Was the file last written before @since_ns (CLOCK_MONOTONIC)? The kernel stamps a file with the
 * time of its last tick. So a file that is written only in the first ticks after an exec counts as
 * older.
 */
static bool is_before(struct timespec time, uint64_t since_ns)
{
	uint64_t wall_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);

	return since_ns && timespec_ns(time) < wall_ns + since_ns;
}

/*
 * Opens a perf map or jitdump of a process. Returns a descriptor, or -errno + message; -EACCES: the
 * file belongs to another user.
 */
static int open_file(const struct proc *proc, uint64_t since_ns, const struct proc_status *status,
		     const char *form)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char path[40];

	snprintf(path, sizeof(path), form, (int)(status->ns_tgid ? status->ns_tgid : proc->tgid));
	fd = file_open_in_root(proc->dirfd, path);
	if (fd < 0)
		return fd;
	if (far_stat(fd, &st))
		return err_sys(-errno, "%s", path);
	if (st.st_uid != status->uid)
		return err_set(-EACCES, "%s isn't read: it belongs to user %u, the process to %u",
			       path, (unsigned)st.st_uid, (unsigned)status->uid);
	/*
	 * the file belongs to an earlier process with the same number, or to the program that this
	 * process ran before an exec
	 */
	if (file_is_older(proc->dirfd, st.st_mtim) || is_before(st.st_mtim, since_ns))
		return -ENOENT;
	return TAKE_FD(fd);
}

int perf_map_open(const struct proc *proc, uint64_t since_ns, struct perf_map **ret)
{
	_cleanup_(perf_map_freep) struct perf_map *m = perf_map_new();
	struct proc_status status;
	int r;

	if (!m)
		return err_sys(-ENOMEM, "can't read the perf map");
	r = read_status(proc, &status);
	if (r)
		return r;
	/*
	 * Anybody may make a file with such a name. So if either of the two files is refused, the
	 * other one may still be the process's own.
	 */
	m->dump.fd = open_file(proc, since_ns, &status, "/tmp/jit-%d.dump");
	if (m->dump.fd < 0 && m->dump.fd != -ENOENT)
		log_info("%s", err_msg());
	m->text = open_file(proc, since_ns, &status, "/tmp/perf-%d.map");
	if (m->text < 0 && m->dump.fd < 0)
		return m->text != -ENOENT ? m->text : m->dump.fd;
	if (m->text < 0 && m->text != -ENOENT)
		log_info("%s", err_msg());
	r = perf_map_refresh(m);
	if (!r)
		*ret = TAKE_PTR(m);
	return r;
}

const char *perf_map_find(const struct perf_map *m, uint64_t addr, uint64_t *start)
{
	const struct code_range *e = code_map_find(&m->code, addr);

	if (!e)
		return NULL;
	if (start)
		*start = e->first;
	return m->names.s + e->name;
}

size_t perf_map_bytes(const struct perf_map *m)
{
	return m->names.cap + m->code.list.cap * sizeof(*m->code.list.v);
}

struct perf_map_stats perf_map_stats(const struct perf_map *m)
{
	struct perf_map_stats ret = m->stats;

	ret.malformed += m->dump.malformed + m->dump.broken;
	ret.entries = m->code.list.n;
	ret.unread = !m->dump.broken && file_size(m->dump.fd, 0) > m->dump.offset;
	ret.unread |= file_size(m->text, 0) > m->offset;
	return ret;
}
