/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads /proc/PID/maps into a list. The format (fs/proc/task_mmu.c, show_map_vma()):
 *	start-end perms offset major:minor inode            path
 * All numbers but the inode are hexadecimal.
 */
#include "proc/read/maps.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "proc/read/aside.h"

/*
 * How many bytes are read at once, which is also the length of the longest line that can be read.
 * Such a line has room for a path of PATH_MAX bytes, each of them escaped as four.
 */
#define READ_BYTES (128u << 10)

#define DELETED	   " (deleted)"

struct cursor {
	const char *p, *end;
};

/* Reads a number of @base that ends with the byte @term, and steps over that byte as well. */
static bool take_number(struct cursor *c, int base, char term, uint64_t *ret)
{
	const char *first = c->p;
	uint64_t v = 0;

	for (; c->p < c->end; c->p++) {
		char ch = *c->p;
		int d = ch >= '0' && ch <= '9'	 ? ch - '0'
			: ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
						 : base;

		if (d >= base)
			break;
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)d, &v))
			return false;
	}
	if (c->p == first || c->p == c->end || *c->p != term)
		return false;
	c->p++;
	*ret = v;
	return true;
}

static bool take_perms(struct cursor *c, struct mapping *e)
{
	static const char set[3] = "rwx";
	static const uint8_t bit[3] = {PROT_READ, PROT_WRITE, PROT_EXEC};

	if (c->end - c->p < 5)
		return false;
	for (int i = 0; i < 3; i++) {
		if (c->p[i] == set[i])
			e->prot |= bit[i];
		else if (c->p[i] != '-')
			return false;
	}
	e->shared = c->p[3] == 's';
	if ((c->p[3] != 's' && c->p[3] != 'p') || c->p[4] != ' ')
		return false;
	c->p += 5;
	return true;
}

/* Reads all fields before the path. After that, @c is at the path's first byte. */
static bool take_fields(struct cursor *c, struct mapping *e)
{
	uint64_t major, minor;

	if (!take_number(c, 16, '-', &e->start) || !take_number(c, 16, ' ', &e->end) ||
	    !take_perms(c, e) || !take_number(c, 16, ' ', &e->offset) ||
	    !take_number(c, 16, ':', &major) || !take_number(c, 16, ' ', &minor))
		return false;
	if (e->start >= e->end || major >= 1u << 12 || minor >= 1u << 20)
		return false;
	e->dev = major << 20 | minor;
	/* A blank follows the inode even if there is no path ("... 0 \n"). */
	if (!take_number(c, 10, ' ', &e->ino))
		return false;
	while (c->p < c->end && *c->p == ' ')
		c->p++;
	return true;
}

static bool fits(const struct mapping *e, unsigned want)
{
	return (want & MAPS_ALL) || ((want & MAPS_EXEC) && (e->prot & PROT_EXEC)) ||
	       ((want & MAPS_FILE) && e->ino);
}

/* Appends a mapping's path. Only newlines in it are escaped (seq_path(m, path, "\n")). */
static void add_path(struct str *text, const char *p, const char *end)
{
	for (const char *q; p < end; p = q + 4) {
		q = memmem(p, (size_t)(end - p), "\\012", 4);
		if (!q) {
			str_add_n(text, p, (size_t)(end - p));
			break;
		}
		str_add_n(text, p, (size_t)(q - p));
		str_add_c(text, '\n');
	}
	str_add_n(text, "", 1);
}

/*
 * Stores the path of a mapping. If the preceding mapping has the same path, as it often does, both
 * share one stored path.
 */
static uint32_t intern_path(struct maps *m, const char *p, const char *end)
{
	size_t at = m->text.n;
	uint32_t last = m->list.n ? m->list.v[m->list.n - 1].path : 0;

	if (p == end)
		return 0;
	add_path(&m->text, p, end);
	if (!m->text.failed && streq(m->text.s + last, m->text.s + at)) {
		m->text.n = at;
		return last;
	}
	return (uint32_t)at;
}

int maps_add(struct maps *m, struct mapping *e, const char *path, size_t n)
{
	size_t dn = strlen(DELETED);

	if (m->list.n >= MAPS_MAX_LIST) {
		m->truncated = true;
		return 0;
	}
	if (e->ino && n > dn && !memcmp(path + n - dn, DELETED, dn)) {
		e->deleted = true;
		n -= dn;
	}
	e->path = intern_path(m, path, path + n);
	if (m->text.failed)
		return -ENOMEM;
	return vec_push(&m->list, *e);
}

static int add_line(struct maps *m, const char *line, size_t n, unsigned want)
{
	struct cursor c = {line, line + n};
	struct mapping e = {};

	if (!take_fields(&c, &e)) {
		m->malformed++;
		return 0;
	}
	return fits(&e, want) ? maps_add(m, &e, c.p, (size_t)(c.end - c.p)) : 0;
}

/* Parses the complete lines of @text. *@ret_used: the length of these lines in bytes. */
static int add_lines(struct maps *m, const char *text, size_t n, unsigned want, size_t *ret_used)
{
	size_t at = 0;
	int r;

	for (const char *nl; (nl = memchr(text + at, '\n', n - at)); at = (size_t)(nl - text) + 1) {
		r = add_line(m, text + at, (size_t)(nl - text) - at, want);
		if (r)
			return r;
	}
	*ret_used = at;
	return 0;
}

int maps_init(struct maps *m)
{
	*m = (struct maps){};
	str_add_n(&m->text, "", 1); /* puts the empty path at offset 0 */
	return m->text.failed ? -ENOMEM : 0;
}

void maps_fini(struct maps *m)
{
	vec_fini(&m->list);
	str_fini(&m->text);
}

int maps_parse(const char *text, size_t n, unsigned want, struct maps *ret)
{
	size_t used = 0;
	int r;

	r = maps_init(ret);
	if (!r && n)
		r = add_lines(ret, text, n, want, &used);
	if (!r && used < n)
		ret->malformed++; /* the text is cut off in the middle of this line */
	return r;
}

/*
 * Skips the rest of a line that is too long: a target could have chosen a path whose end looks like
 * another line.
 */
static size_t skip_line(char *buf, size_t have, bool *skipping)
{
	char *nl = memchr(buf, '\n', have);
	size_t drop = nl ? (size_t)(nl - buf) + 1 : have;

	*skipping = !nl;
	memmove(buf, buf + drop, have - drop);
	return have - drop;
}

static int read_all(int fd, char *buf, unsigned want, struct maps *m)
{
	size_t have = 0, total = 0, used;
	bool skipping = false;
	ssize_t got;
	int r;

	while ((got = read(fd, buf + have, READ_BYTES - have)) > 0) {
		have += (size_t)got;
		total += (size_t)got;
		if (skipping)
			have = skip_line(buf, have, &skipping);
		used = 0;
		r = have ? add_lines(m, buf, have, want, &used) : 0;
		if (r)
			return r;
		have -= used;
		memmove(buf, buf + used, have);
		if (have == READ_BYTES) {
			m->malformed++;
			skipping = true;
			have = 0;
		}
		m->truncated |= total > MAPS_MAX_BYTES;
		if (m->truncated)
			return 0;
	}
	return got < 0 ? -errno : 0;
}

int maps_read_fd(int fd, unsigned want, struct maps *ret)
{
	_cleanup_free_ char *buf = NULL;
	int r = maps_init(ret);

	if (r || (want == MAPS_EXEC && maps_query_exec(fd, ret)))
		return r;
	buf = malloc(READ_BYTES);
	return buf ? read_all(fd, buf, want, ret) : -ENOMEM;
}

int maps_read_of(int procdir, pid_t pid, unsigned want, struct maps *ret)
{
	_cleanup_close_ int fd = -1;
	int r = maps_init(ret);

	r = r ? r : aside_maps(procdir, pid, want, ret);
	if (!r)
		return 0;
	if (r == -ETIMEDOUT)
		return err_set(r, "reading a process's mappings took too long");
	maps_fini(ret);
	*ret = (struct maps){};
	fd = openat(procdir, "maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(-errno, "can't open a process's mappings");
	r = maps_read_fd(fd, want, ret);
	return r ? err_sys(r, "can't read a process's mappings") : 0;
}

int maps_read(int procdir, unsigned want, struct maps *ret)
{
	return maps_read_of(procdir, aside_pid_of(procdir), want, ret);
}

const char *maps_path(const struct maps *m, const struct mapping *e)
{
	return m->text.s + e->path;
}

const struct mapping *maps_find(const struct maps *m, uint64_t addr)
{
	size_t i = count_upto(m->list.v, m->list.n, end, addr);

	return i < m->list.n && m->list.v[i].start <= addr ? &m->list.v[i] : NULL;
}
