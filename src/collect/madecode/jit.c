/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code made at run time that the process names in its perf map or jitdump. These files are opened
 * while the process runs and stay open, so that the names written last can be read after the
 * process has ended.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/far.h"
#include "base/system/log.h"
#include "collect/madecode/made.h"
#include "proc/files/files.h"
#include "proc/read/stat.h"
#include "symbol/madecode/perf_map.h"

/*
 * A missing perf map is looked for again after OPEN_SOON_NS, and then each time after twice the
 * time before, up to OPEN_APART_NS.
 */
#define OPEN_SOON_NS  (50 * NSEC_PER_MSEC)
#define OPEN_APART_NS NSEC_PER_SEC
/*
 * time between two readings of a perf map, because reading what was appended takes time
 * (perf_map.h)
 */
#define REFRESH_APART_NS (50 * NSEC_PER_MSEC)

/*
 * Limits of the work. Programs decide how large these files are, and large files must not keep
 * krait from other samples. Each collect_flush() reads a limited amount of all these files
 * together; stacks that need more of these files wait for later calls. In the last call, in which
 * nothing else has to be done, the limit is higher. The time between two readings of a process's
 * perf map is READ_SHARE times the time that a reading takes. All readings share a budget of CPU
 * time.
 */
#define FLUSH_WORK (20 * SLICE_MS)
#define LAST_WORK  (1000 * SLICE_MS)
#define READ_SHARE 10
#define ALL_BYTES  ((size_t)512 << 20)

/* What reading the perf maps and jitdumps of all processes may cost, and what it has cost. */
struct jit_reading {
	struct budget budget;
	/* work (base/work/slice.h) that may still be spent in this collect_flush() */
	uint64_t left;
};

static const struct budget_limit of_all = {2 * NSEC_PER_SEC, 20};

static void flush(struct collect *c)
{
	c->made->maps->left = c->last && !c->config.prompt ? LAST_WORK : FLUSH_WORK;
}

static bool init(struct collect *c)
{
	c->made->maps = calloc(1, sizeof(struct jit_reading));
	if (c->made->maps)
		flush(c);
	return c->made->maps;
}

static void fini(struct collect *c)
{
	free(c->made->maps);
}

static bool may_read(const struct collect *c, const struct process *p, uint64_t now)
{
	const struct jit_reading *all = c->made->maps;

	return (now >= p->made->jit.due_ns || process_has_ended(p) || c->last) &&
	       c->kept.maps < MIN(memory_for_names(c) / 2, ALL_BYTES) && all->left &&
	       (c->last || budget_is_left(&all->budget, of_all, now));
}

/* One reading of one process's files, within the work that is left in this collect_flush(). */
struct reading_slice {
	struct slice slice;
	uint64_t began_ns; /* CPU time of this thread when the reading of a file began */
};

static void begin_reading(const struct collect *c, struct reading_slice *s)
{
	s->began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	slice_begin(&s->slice, c->made->maps->left);
}

static void end_reading(struct collect *c, struct process *p, struct reading_slice *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - s->began_ns;
	size_t bytes = p->made->jit.map ? perf_map_bytes(p->made->jit.map) : 0;

	slice_end(&s->slice);
	c->made->maps->left = s->slice.left;
	budget_spend(&c->made->maps->budget, now, took);
	c->kept.maps += bytes - p->made->jit.bytes;
	p->made->jit.bytes = bytes;
	p->made->jit.due_ns = now + READ_SHARE * took;
}

static bool is_too_soon(const struct process *p, uint64_t now)
{
	unsigned again = MIN(p->made->jit.tries, 8u);

	return again &&
	       now - p->made->jit.looked_ns < MIN(OPEN_SOON_NS << (again - 1), OPEN_APART_NS);
}

static void jit_open(struct collect *c, struct process *p, const struct proc *proc)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct reading_slice slice;
	int r;

	if (p->made->jit.map || p->made->jit.refused || is_too_soon(p, now) || !may_read(c, p, now))
		return;
	p->made->jit.looked_ns = now;
	p->made->jit.tries += p->made->jit.tries < UINT8_MAX;
	begin_reading(c, &slice);
	r = perf_map_open(proc, process_exec_ns(c, p->key.tgid), &p->made->jit.map);
	if (r && r != -ENOENT) {
		log_info("process %u: no names of code made at run time: %s", p->key.tgid,
			 err_msg());
		p->made->jit.refused = true;
	}
	if (r)
		p->made->jit.map = NULL;
	end_reading(c, p, &slice);
}

static bool is_dump_name(const char *path)
{
	const char *name = path_base(path);

	return strlen(name) > strlen("jit-.dump") && str_starts(name, "jit-") &&
	       str_ends(name, ".dump");
}

/*
 * Is @fd a regular file that belongs to the process's user? perf_map_open() makes the same check.
 */
static bool is_own_file(const struct proc *proc, int fd)
{
	struct proc_status status;
	struct stat st;

	return fd >= 0 && !far_stat(fd, &st) && S_ISREG(st.st_mode) &&
	       !proc_status_read(proc->dirfd, "status", &status) && st.st_uid == status.uid;
}

/*
 * Opens a jitdump. A program that writes a jitdump maps the file's first page executable, so that
 * profilers find the file in whatever directory it is
 * (tools/perf/Documentation/jitdump-specification.txt). V8 writes it in the directory in which V8
 * was started.
 */
static void jit_mapped(struct collect *c, struct process *p, const struct proc *proc,
		       const struct mapping *m, const char *path)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct reading_slice slice;
	int fd;

	if (p->made->jit.dumped || !is_dump_name(path) || !may_read(c, p, now))
		return;
	p->made->jit.dumped = true;
	jit_open(c, p, proc);
	fd = file_open_mapping(proc->dirfd, m, path, NULL);
	if (!is_own_file(proc, fd)) {
		cleanup_close(&fd);
		return;
	}
	begin_reading(c, &slice);
	if (!p->made->jit.map)
		p->made->jit.map = perf_map_new();
	if (!p->made->jit.map)
		cleanup_close(&fd);
	else if (perf_map_add_dump(p->made->jit.map, fd))
		log_debug("%s: %s", path, err_msg());
	end_reading(c, p, &slice);
}

/* Looks again for a perf map that was missing: the process may have made it in the meantime. */
static void open_late(struct collect *c, struct process *p)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;

	if (!process_has_ended(p) && !p->made->jit.refused && !proc_open(&proc, p->key.tgid))
		jit_open(c, p, &proc);
}

/*
 * Reads what was appended to the files since the last reading. Returns the name that the code at
 * @pc has by now; NULL: it has none.
 */
static const char *look_again(struct collect *c, struct process *p, uint64_t pc, uint64_t *start)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct reading_slice slice;

	if (may_read(c, p, now)) {
		p->made->jit.looked_ns = now;
		begin_reading(c, &slice);
		if (perf_map_refresh(p->made->jit.map))
			log_debug("process %u: %s", p->key.tgid, err_msg());
		end_reading(c, p, &slice);
	}
	return perf_map_find(p->made->jit.map, pc, start);
}

const char *jit_name(struct collect *c, struct process *p, uint64_t pc, uint64_t *start)
{
	const char *name;

	if (!p->made->jit.map)
		open_late(c, p);
	if (!p->made->jit.map)
		return NULL;
	name = clock_ns(CLOCK_MONOTONIC) - p->made->jit.looked_ns < REFRESH_APART_NS
		       ? perf_map_find(p->made->jit.map, pc, start)
		       : NULL;
	/* if the code has no name, the map is read again, because a stack is named only once */
	return name ? name : look_again(c, p, pc, start);
}

static void add_stats(const struct process *p, struct collect_stats *ret)
{
	struct perf_map_stats of = {};

	if (p->made->jit.map)
		of = perf_map_stats(p->made->jit.map);
	ret->map_malformed += of.malformed;
	ret->map_dropped += of.dropped;
	ret->maps_unread += of.unread;
}

static void jit_close(struct collect *c, struct process *p)
{
	add_stats(p, &c->stats);
	c->kept.maps -= p->made->jit.bytes;
	p->made->jit.bytes = 0;
	perf_map_free(p->made->jit.map);
	p->made->jit.map = NULL;
}

static void met(struct collect *c, struct process *p, const struct proc *proc,
		const struct mapping *m, const char *path, bool is_file)
{
	jit_mapped(c, p, proc, m, path);
	if (!is_file)
		jit_open(c, p, proc);
}

/*
 * Names the code at @pc. If the stack's mappings aren't known any more, the code gets no name,
 * because it may be in a file.
 */
static bool name(struct collect *c, const struct raw_stack *raw, uint64_t pc, struct made_name *ret)
{
	if (space_at(c, raw->native->version))
		ret->text = jit_name(c, process_at(c, raw->process), pc, &ret->start);
	return ret->text;
}

/*
 * May a stack with the code at @pc be named? Its name may come late: programs write perf maps
 * through buffers, and the last part when they end. With config.prompt no stack waits for names.
 */
static bool ready(struct collect *c, const struct raw_stack *raw, uint64_t pc)
{
	struct process *p = process_at(c, raw->process);
	uint64_t start;

	return !p->made->jit.map || process_has_ended(p) || c->config.prompt ||
	       !space_at(c, raw->native->version) || jit_name(c, p, pc, &start);
}

const struct code_source jit_source = {.init = init,
				       .fini = fini,
				       .met = met,
				       .name = name,
				       .ready = ready,
				       .flush = flush,
				       .stats = add_stats,
				       .close = jit_close};
