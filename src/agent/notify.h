/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the service manager how the agent is (sd_notify(3), Type=notify): a datagram to the socket
 * that it names in NOTIFY_SOCKET. The socket is opened once, before the sampler may open none.
 */
#ifndef AGENT_NOTIFY_H
#define AGENT_NOTIFY_H

#include "base/util.h"

struct notify {
	int fd;		   /* -1: no service manager wants to know */
	uint64_t every_ns; /* how often it wants to hear that the agent is alive; 0: never */
	uint64_t last_ns;  /* when it heard so, CLOCK_MONOTONIC */
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID. Without them the functions do nothing. */
void notify_open(struct notify *n);
void notify_close(struct notify *n);

/* Sends lines like "READY=1". One that can't be sent is left out. */
void notify_say(const struct notify *n, const char *lines);

/* Says that the agent is alive, when it is time to. */
void notify_alive(struct notify *n, uint64_t now);

#endif
