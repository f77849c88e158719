/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends marks (orders to pin the time around now) to the agent through a named pipe; see marks.h.
 */
#include "store/pins/marks.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/clock.h"
#include "store/internal.h"

#define FILE_NAME "marks"
/* how long the sender of a mark waits for the agent to pin the time that was marked */
#define WAIT_NS (10 * NSEC_PER_SEC)
#define LOOK_MS 100

/*
 * What is written into the pipe. It is at most PIPE_BUF bytes, which the kernel writes in one
 * piece.
 */
struct mark {
	char words[PIN_WORDS_BYTES]; /* the text ends with a NUL, and zeros fill the rest */
};
_Static_assert(sizeof(struct mark) <= PIPE_BUF, "");

static bool path_of(const char *dir, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/" FILE_NAME, dir) < PATH_MAX;
}

/*
 * Opens the pipe. If a file of that name isn't a pipe, it isn't used. Returns a descriptor or
 * -errno.
 */
static int open_pipe(const char *dir, int flags)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct stat st;

	if (!path_of(dir, path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return S_ISFIFO(st.st_mode) ? TAKE_FD(fd) : -ENXIO;
}

int marks_open(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;

	if (!path_of(dir, path) || stat(dir, &st) || st.st_uid != geteuid())
		return -1;
	(void)mkfifo(path, 0600);
	return MAX(open_pipe(dir, O_RDWR), -1);
}

bool marks_take(int fd, char words[PIN_WORDS_BYTES])
{
	struct mark m;

	while (fd >= 0 && read(fd, &m, sizeof(m)) == (ssize_t)sizeof(m))
		if (!pin_words(m.words, strnlen(m.words, sizeof(m.words)), words))
			return true;
	return false;
}

void marks_end(const char *dir)
{
	char path[PATH_MAX];

	if (path_of(dir, path))
		(void)unlink(path);
}

static int send_mark(const char *dir, const struct mark *m)
{
	_cleanup_close_ int fd = open_pipe(dir, O_WRONLY);

	if (fd == -ENXIO || fd == -ENOENT)
		return err_set(-ESRCH, "no agent records into %s now, so nothing was marked", dir);
	if (fd < 0)
		return err_sys(fd, "can't send the mark to the agent of %s", dir);
	if (write(fd, m, sizeof(*m)) == (ssize_t)sizeof(*m))
		return 0;
	return errno == EAGAIN ? err_set(-EBUSY, "too many marks wait already; try again")
			       : err_sys(-errno, "can't send the mark to the agent of %s", dir);
}

/*
 * Looks for a pin that was made by a mark with these @words, and whose number is higher than
 * @after. Returns 1 if there is one, 0 if not, or -errno.
 */
static int look(struct store *s, const char *words, int64_t after, struct pin *ret)
{
	_cleanup_(pins_fini) struct pins pins = {};
	int r = store_read_pins(s, &pins);

	vec_foreach(p, &pins.list)
		if (!r && p->id > after && streq(p->cause, PIN_BY_MARK) && streq(p->words, words)) {
			*ret = *p;
			return 1;
		}
	return r;
}

static int newest(struct store *s, int64_t *ret)
{
	_cleanup_(pins_fini) struct pins pins = {};
	int r = store_read_pins(s, &pins);

	*ret = pins.list.n ? pins.list.v[pins.list.n - 1].id : 0;
	return r;
}

static int wait_for_pin(struct store *s, const char *words, int64_t after, struct pin *ret)
{
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
	const struct timespec pause = {.tv_nsec = LOOK_MS * (long)NSEC_PER_MSEC};
	int r;

	while (!(r = look(s, words, after, ret)) && clock_ns(CLOCK_MONOTONIC) < until)
		nanosleep(&pause, NULL);
	return r > 0 ? 0
	       : r   ? r
		     : err_set(-ETIMEDOUT,
			       "the mark was sent, but the agent didn't pin it within %d s",
			       (int)(WAIT_NS / NSEC_PER_SEC));
}

static int send(struct store *s, const struct mark *m, struct pin *ret)
{
	int64_t after;
	int r = newest(s, &after);

	r = r ? r : send_mark(s->dir, m);
	return r ? r : wait_for_pin(s, m->words, after, ret);
}

int marks_send_to(struct store *s, const char *text, struct pin *ret)
{
	struct mark m = {};

	return pin_words(text, strlen(text), m.words) ?: send(s, &m, ret);
}

int marks_send(const char *dir, const char *text, struct pin *ret)
{
	struct mark m = {};
	struct store *s = NULL;
	/*
	 * the words are checked first, so that their error is reported even if the store can't be
	 * opened
	 */
	int r = pin_words(text, strlen(text), m.words);

	r = r ? r : store_open(dir, 0, &s);
	r = r ? r : send(s, &m, ret);
	store_close(s);
	return r;
}
