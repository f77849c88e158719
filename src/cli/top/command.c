/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait top -- COMMAND`: runs the command. The terminal can't show the command's output beside the
 * screen, so the last part of that output is kept, and printed when the screen is closed. If tables
 * are printed on standard output instead of a screen, the command's output goes to standard error.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/log.h"
#include "cli/top/top.h"
#include "record/command/signals.h"

#define KEEP_BYTES (64u << 10)
/* the end of the command, and a signal that ends krait, are noticed after at most this many ms */
#define WAIT_MS 100

struct child {
	struct caller *caller;
	/*
	 * .null: becomes the command's standard input; -1: the command has krait's. .out: becomes
	 * its standard output and error; -1: its output goes to krait's standard error.
	 */
	int null, out;
};

/* Runs in the child between fork and exec: sets input, output and user of the command. */
static int prepare(void *arg)
{
	const struct child *c = arg;
	int r;

	if (c->null >= 0 && dup2(c->null, STDIN_FILENO) < 0)
		return -errno;
	r = spawn_say_to(c->out >= 0 ? c->out : STDERR_FILENO);
	if (r)
		return r;
	if (c->out >= 0 && dup2(c->out, STDERR_FILENO) < 0)
		return -errno;
	return caller_become(c->caller);
}

/* Opens what replaces the command's input and output while the terminal shows the screen. */
static int redirect(struct top *t, struct child *c)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(-errno, "can't make a pipe for the command");
	t->said_fd = fds[0];
	c->out = fds[1];
	c->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (c->null < 0 || fcntl(t->said_fd, F_SETFL, O_NONBLOCK))
		return err_sys(-errno, "can't redirect the command's input and output");
	return 0;
}

int top_command_start(struct top *t)
{
	struct session *s = t->session;
	struct child c = {.caller = &s->caller, .null = -1, .out = -1};
	int r = t->options->json || t->options->plain ? 0 : redirect(t, &c);

	r = r ? r : spawn_start(&s->spawn, s->options->cmd, prepare, &c);
	cleanup_close(&c.null);
	cleanup_close(&c.out);
	return r;
}

/* Keeps the last KEEP_BYTES of the command's output; drops what came before. */
static void keep(struct top *t, const char *bytes, size_t n)
{
	str_add_n(&t->said, bytes, n);
	if (t->said.failed)
		str_clear(&t->said);
	if (t->said.n < 2 * KEEP_BYTES)
		return;
	t->said_more = true;
	memmove(t->said.s, t->said.s + t->said.n - KEEP_BYTES, KEEP_BYTES);
	t->said.n = KEEP_BYTES;
}

void top_command_listen(struct top *t)
{
	char bytes[4096];
	ssize_t n;

	while (t->said_fd >= 0 && (n = read(t->said_fd, bytes, sizeof(bytes))) != -1)
		if (n)
			keep(t, bytes, (size_t)n);
		else
			cleanup_close(&t->said_fd), t->said_fd = -1;
}

static void show(struct top *t)
{
	if (t->said_more)
		log_note("the end of what the command said:");
	(void)!fwrite(str_cstr(&t->said), 1, t->said.n, stdout);
	fflush(stdout);
	str_clear(&t->said);
	t->said_more = false;
}

int top_command_finish(struct top *t)
{
	struct spawn *s = &t->session->spawn;

	spawn_pass_on_stop(s);
	spawn_say_goes_on(s);
	while (t->said_fd >= 0 && !spawn_ended(s)) {
		bool stopped = signals_stop();

		top_command_listen(t);
		show(t);
		poll(&(struct pollfd){.fd = t->said_fd, .events = POLLIN}, 1, WAIT_MS);
		if (!stopped)
			spawn_pass_on_stop(s);
	}
	top_command_listen(t);
	show(t);
	return spawn_wait(s);
}
