/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a socket is connected to, from the lists in /proc/PID/net: those of the process's network
 * namespace.
 */
#ifndef DUMP_SOCKET_H
#define DUMP_SOCKET_H

#include "base/util.h"

#define SOCKET_TEXT_BYTES 128

/*
 * Describes the socket that descriptor link @link ("socket:[1234]") names: "tcp 10.0.0.5:5432",
 * "tcp listening on [::1]:80", "unix /run/x.sock", cut to fit. Writes "" if @link is no socket or
 * the socket isn't found. @procdir: descriptor of /proc/PID. @budget_ns: CPU time left for all such
 * calls together; each call subtracts its own, since a list may have 100,000 lines. A Unix socket's
 * path may hold any bytes.
 */
void socket_peer(int procdir, const char *link, uint64_t *budget_ns,
		 char ret[static SOCKET_TEXT_BYTES]);

/*
 * Parses one line of /proc/net/tcp, tcp6, udp, udp6 (@kind: "tcp" or "udp"), or unix. True if it
 * describes socket @inode.
 */
bool socket_inet_line(const char *line, const char *kind, uint64_t inode,
		      char ret[static SOCKET_TEXT_BYTES]);
bool socket_unix_line(const char *line, uint64_t inode, char ret[static SOCKET_TEXT_BYTES]);

#endif
