/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out what a thread is doing, from its state and by the rules of proc/wait_rules.h; see
 * wait.h.
 */
#include "dump/facts/wait.h"

#include <string.h>

#include "base/text/str.h"

/*
 * Returns what the thread is doing, as far as the letter of its state tells. For WAIT_BLOCKED, the
 * rules of proc/wait_rules.h tell more.
 */
static enum wait_kind by_state(char state)
{
	switch (state) {
	case 'R':
		return WAIT_RUNNING;
	case 'T':
		return WAIT_STOPPED;
	case 't':
		return WAIT_TRACED;
	case 'Z':
	case 'X':
	case 'x':
		return WAIT_ENDED;
	}
	return WAIT_BLOCKED;
}

/*
 * Tells whether the thread waits for a pipe, by the kernel function in which it sleeps. The path of
 * the open file doesn't tell that, because a FIFO's path looks like that of any other file.
 */
static bool waits_in_pipe(const char *wchan)
{
	return strstr(wchan, "pipe_") || str_starts(wchan, "wait_for_partner") ||
	       str_starts(wchan, "fifo_open");
}

static enum wait_target target_of(const char *target, const char *wchan)
{
	if (str_starts(target, "socket:"))
		return TARGET_SOCKET;
	if (str_starts(target, "pipe:") || waits_in_pipe(wchan))
		return TARGET_PIPE;
	return *target == '/' && !str_starts(target, "/dev/") ? TARGET_FILE : TARGET_UNKNOWN;
}

void wait_tell_io(struct wait *w, const struct task_place *place, const char *target)
{
	if (w->kind == WAIT_IO)
		w->kind = place->call == TASK_NO_CALL
				  ? WAIT_PAGE_FAULT
				  : wait_kind_of_io(target_of(target, place->wchan), w->disk);
}

struct wait wait_of(const struct task_look *look, const struct task_place *place)
{
	struct wait w = {.kind = by_state(look->state), .fd = -1, .disk = look->state == 'D'};
	const struct wait_rule *r;

	if (place->runs && w.kind == WAIT_BLOCKED)
		w.kind = WAIT_RUNNING;
	if (w.kind != WAIT_BLOCKED)
		return w;
	r = wait_rule_of(place->call, place->arg, place->wchan);
	w.kind = r->kind;
	if (r->call_name) {
		w.call = r->call_name;
		w.fd = r->fd < 0 ? -1 : (int)place->arg[r->fd];
	}
	return w;
}
