/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the service manager how the agent is (sd_notify(3), Type=notify), by datagrams to the
 * socket that the variable NOTIFY_SOCKET names. The agent opens the socket once, before the sampler
 * loses the right to open sockets.
 */
#ifndef AGENT_NOTIFY_H
#define AGENT_NOTIFY_H

#include "base/util.h"

struct notify {
	int fd; /* socket of the service manager; -1: the manager wants no messages */
	/* how often the service manager wants to hear that the agent is alive; 0: never */
	uint64_t every_ns;
	uint64_t last_ns; /* when a message last said that the agent is alive, CLOCK_MONOTONIC */
};

/*
 * Reads the variables NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. Without these, the functions
 * below do nothing.
 */
void notify_open(struct notify *n);
void notify_close(struct notify *n);

/* Sends lines like "READY=1". A message that can't be sent is left out. */
void notify_say(const struct notify *n, const char *lines);

/* Says that the agent is alive, if .every_ns have passed since it last did. */
void notify_alive(struct notify *n, uint64_t now);

#endif
