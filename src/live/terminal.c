/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles raw mode, keys and size of the terminal; see terminal.h. */
#include "live/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>

#include "base/error.h"

/* an escape sequence may come over a slow line: how many ms to wait for the rest of it */
#define ESCAPE_MS 30

/*
 * enter[] turns on the alternate screen, and turns off the cursor and line wrapping; leave[] undoes
 * this
 */
static const char enter[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char leave[] = "\033[0m\033[?7h\033[?25h\033[?1049l";

static int watch_size(struct terminal *t)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return err_sys(-errno, "terminal");
	t->resized_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return t->resized_fd < 0 ? err_sys(-errno, "terminal") : 0;
}

int terminal_open(struct terminal *t)
{
	struct termios raw;
	struct str bytes = {.s = (char *)enter, .n = sizeof(enter) - 1};
	int r;

	*t = (struct terminal){.in = STDIN_FILENO, .out = STDOUT_FILENO, .resized_fd = -1};
	if (tcgetattr(t->in, &t->before))
		return err_sys(-errno, "terminal");
	r = watch_size(t);
	if (r)
		return r;
	raw = t->before;
	raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
	/*
	 * Ctrl-Z is turned off. If it stopped krait, the screen would stay as it is, and krait
	 * would fall behind in reading samples.
	 */
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	t->raw = true; /* from this line on, terminal_restore() may be called at any time */
	if (tcsetattr(t->in, TCSAFLUSH, &raw))
		return err_sys(-errno, "terminal");
	return terminal_write(t, &bytes);
}

void terminal_close(struct terminal *t)
{
	struct str bytes = {.s = (char *)leave, .n = sizeof(leave) - 1};

	if (t->raw) {
		(void)!terminal_write(t, &bytes);
		tcsetattr(t->in, TCSAFLUSH, &t->before);
	}
	t->raw = false;
	if (t->resized_fd >= 0)
		close(t->resized_fd);
	t->resized_fd = -1;
}

static bool has_room(int fd)
{
	return poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 0) == 1;
}

void terminal_restore(void *terminal)
{
	const struct terminal *t = terminal;

	if (!t->raw)
		return;
	tcsetattr(t->in, TCSANOW, &t->before);
	/*
	 * If the terminal accepts no output, perhaps because nobody reads it, drops the output that
	 * still waits.
	 */
	if (!has_room(t->out))
		tcflush(t->out, TCOFLUSH);
	if (has_room(t->out))
		(void)!write(t->out, leave, sizeof(leave) - 1);
}

void terminal_size(const struct terminal *t, int *rows, int *cols)
{
	struct winsize w = {};

	*rows = 24;
	*cols = 80;
	if (ioctl(t->out, TIOCGWINSZ, &w) || !w.ws_row || !w.ws_col)
		return;
	*rows = w.ws_row;
	*cols = w.ws_col;
}

bool terminal_resized(struct terminal *t)
{
	struct signalfd_siginfo info;
	bool any = false;

	while (read(t->resized_fd, &info, sizeof(info)) == sizeof(info))
		any = true;
	return any;
}

static bool read_more(struct terminal *t)
{
	ssize_t n = read(t->in, t->input + t->n, sizeof(t->input) - t->n);

	if (n > 0)
		t->n += (size_t)n;
	return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

bool terminal_read(struct terminal *t)
{
	struct pollfd p = {.fd = t->in, .events = POLLIN};

	if (t->n == sizeof(t->input))
		return true;
	if (!read_more(t))
		return false;
	if (t->n == 1 && t->input[0] == KEY_ESCAPE && poll(&p, 1, ESCAPE_MS) > 0)
		return read_more(t);
	return true;
}

static void take(struct terminal *t, size_t n)
{
	n = MIN(n, t->n);
	memmove(t->input, t->input + n, t->n - n);
	t->n -= n;
}

/* Parses an escape sequence such as ESC [ 1 ; 5 A, ESC O A, or ESC [ 5 ~. */
static int sequence(struct terminal *t)
{
	static const struct {
		char final;
		unsigned number; /* number before the ~ of an escape sequence */
		int key;
	} known[] = {{'A', 0, KEY_UP},	     {'B', 0, KEY_DOWN},      {'C', 0, KEY_RIGHT},
		     {'D', 0, KEY_LEFT},     {'H', 0, KEY_HOME},      {'F', 0, KEY_END},
		     {'Z', 0, KEY_BACK_TAB}, {'~', 1, KEY_HOME},      {'~', 4, KEY_END},
		     {'~', 5, KEY_PAGE_UP},  {'~', 6, KEY_PAGE_DOWN}, {'~', 7, KEY_HOME},
		     {'~', 8, KEY_END}};
	unsigned number = 0;
	size_t i = 2;
	char final;

	while (i < t->n && t->input[i] >= 0x20 && t->input[i] < 0x40) {
		if (t->input[i] >= '0' && t->input[i] <= '9' && number < 100)
			number = number * 10 + t->input[i] - '0';
		i++;
	}
	final = i < t->n ? (char)t->input[i] : 0;
	take(t, i + 1);
	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].final == final && (final != '~' || known[i].number == number))
			return known[i].key;
	return KEY_OTHER;
}

static int character(struct terminal *t)
{
	unsigned char c = t->input[0];
	size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
	int code = n == 1 ? c : c & (0x7f >> n);

	if (c >= 0x80 && (n == 1 || n > t->n)) {
		take(t, 1);
		return KEY_OTHER;
	}
	for (size_t i = 1; i < n; i++)
		code = code << 6 | (t->input[i] & 0x3f);
	take(t, n);
	return code;
}

int terminal_key(struct terminal *t)
{
	int key;

	if (!t->n)
		return KEY_NONE;
	if (t->input[0] == KEY_ESCAPE && t->n > 1 && (t->input[1] == '[' || t->input[1] == 'O'))
		return sequence(t);
	key = character(t);
	if (key == '\n')
		return KEY_ENTER;
	return key == '\b' ? KEY_BACKSPACE : key ? key : KEY_OTHER;
}

int terminal_write(const struct terminal *t, const struct str *bytes)
{
	size_t done = 0;

	while (done < bytes->n) {
		ssize_t n = write(t->out, bytes->s + done, bytes->n - done);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return err_sys(-errno, "terminal");
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

bool terminal_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}
