/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends messages to the service manager; see notify.h. */
#include "agent/notify.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/system/clock.h"

/*
 * If the service manager hears nothing for the time WATCHDOG_USEC, it takes the agent for hung.
 * Returns half of that time; 0: no such time is set for this process.
 */
static uint64_t watchdog_ns(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!us || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	return strtoull(us, NULL, 10) * 1000 / 2;
}

void notify_open(struct notify *n)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path ? strlen(path) : 0;

	*n = (struct notify){.fd = -1};
	if (!len || len >= sizeof(to.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(to.sun_path, path, len);
	/* the name of an abstract socket begins with a NUL, which is written as @ */
	if (*path == '@')
		to.sun_path[0] = '\0';
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->fd < 0)
		return;
	if (connect(n->fd, (struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)))
		notify_close(n);
	else
		n->every_ns = watchdog_ns();
}

void notify_close(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

void notify_say(const struct notify *n, const char *lines)
{
	if (n->fd >= 0)
		(void)!send(n->fd, lines, strlen(lines), MSG_NOSIGNAL);
}

void notify_alive(struct notify *n, uint64_t now)
{
	if (!n->every_ns || now - n->last_ns < n->every_ns)
		return;
	n->last_ns = now;
	notify_say(n, "WATCHDOG=1");
}
