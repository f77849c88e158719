/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the service manager that the agent is ready, alive or ending (sd_notify(3), Type=notify).
 * It sends datagrams to the socket that the environment variable NOTIFY_SOCKET names. The agent
 * opens the socket once, before the sampler loses the right to open sockets.
 */
#ifndef AGENT_NOTIFY_H
#define AGENT_NOTIFY_H

#include "base/util.h"

struct notify {
	int fd; /* the service manager's socket; -1: the manager wants no messages */
	/* how often the service manager wants to hear that the agent is alive; 0: never */
	uint64_t every_ns;
	uint64_t last_ns; /* when a message last said that the agent is alive, CLOCK_MONOTONIC */
};

/*
 * Reads the environment variables NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. If they aren't
 * set, the functions below do nothing.
 */
void notify_open(struct notify *n);
void notify_close(struct notify *n);

/* Sends lines like "READY=1". If that fails, the message is left out. */
void notify_say(const struct notify *n, const char *lines);

/* Says that the agent is alive, if .every_ns have passed since it last said so. */
void notify_alive(struct notify *n, uint64_t now);

#endif
