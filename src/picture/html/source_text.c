/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the lines of one source file, and checks that it hasn't changed; see source_text.h. */
#include "picture/html/source_text.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/system/far.h"

/* the largest source file that is read, in bytes; files that people write are smaller */
enum { MAX_FILE = 4 << 20 };

/*
 * By how much two times may be off when they are compared: a file's time of change is that of the
 * last clock tick, and a process's start is given in hundredths of a second.
 */
#define CLOCK_STEPS (20 * NSEC_PER_MSEC)

static int read_all(struct source_text *t, int fd)
{
	char buf[1 << 14];
	ssize_t n;

	str_clear(&t->text);
	for (off_t at = 0; (n = far_pread(fd, buf, sizeof(buf), at)) > 0; at += n) {
		str_add_n(&t->text, buf, n);
		if (t->text.failed)
			return -ENOMEM;
		if (t->text.n > MAX_FILE)
			return -EFBIG;
	}
	return n < 0 ? -errno : 0;
}

/*
 * Tells whether the file changed after @since_ns. Looks at ctime, because mtime can be set to any
 * time, and package managers set it. Each change of mtime updates ctime too.
 */
static int check_age(int fd, int64_t since_ns)
{
	struct stat st;

	if (far_stat(fd, &st))
		return -errno;
	return (int64_t)timespec_ns(st.st_ctim) > since_ns + (int64_t)CLOCK_STEPS ? -ESTALE : 0;
}

int source_text_read(struct source_text *t, int fd, int64_t since_ns)
{
	int r = read_all(t, fd);

	/*
	 * The age is checked after reading, so that a change of the file during the reading is
	 * noticed.
	 */
	if (!r)
		r = check_age(fd, since_ns);
	t->lines.n = 0;
	if (!r && vec_push(&t->lines, 0))
		r = -ENOMEM;
	for (size_t i = 0; !r && i < t->text.n; i++) {
		if (t->text.s[i] == '\n' && vec_push(&t->lines, i + 1))
			r = -ENOMEM;
	}
	return r;
}

void source_text_fini(struct source_text *t)
{
	str_fini(&t->text);
	vec_fini(&t->lines);
}

const char *source_text_line(const struct source_text *t, int32_t line, size_t *n)
{
	size_t start, end;

	if (line < 1 || (size_t)line > t->lines.n || !t->text.n)
		return NULL;
	start = t->lines.v[line - 1];
	end = (size_t)line < t->lines.n ? t->lines.v[line] - 1 : t->text.n;
	if (end > start && t->text.s[end - 1] == '\r')
		end--;
	*n = end - start;
	return t->text.s + start;
}

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

bool source_line_begins(const char *line, size_t n, const char *name)
{
	const char *last = last_part(name);

	return *last == '<' || memmem(line, n, last, strlen(last)) || memchr(line, '@', n);
}

bool source_text_begins(const struct source_text *t, const char *name, int32_t start)
{
	const char *line;
	size_t n;

	if (start <= 0 || *last_part(name) == '<')
		return true;
	line = source_text_line(t, start, &n);
	return line && source_line_begins(line, n, name);
}
