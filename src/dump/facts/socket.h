/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out what a socket is connected to, in the lists of sockets of the process's network
 * namespace (/proc/PID/net).
 */
#ifndef DUMP_FACTS_SOCKET_H
#define DUMP_FACTS_SOCKET_H

#include "base/util.h"

#define SOCKET_TEXT_BYTES 128

/*
 * Describes the socket that descriptor link @link ("socket:[1234]") names: "tcp 10.0.0.5:5432",
 * "tcp listening on [::1]:80", "unix /run/x.sock", cut to fit. A Unix socket's path may have any
 * bytes. Writes "" if @link is no socket or the socket isn't found. @procdir: descriptor of
 * /proc/PID. A list may have 100,000 lines, so *budget_ns limits the CPU time of all these calls
 * together: each call subtracts what it used.
 */
void socket_peer(int procdir, const char *link, uint64_t *budget_ns,
		 char ret[static SOCKET_TEXT_BYTES]);

/*
 * Parse one line of a list: socket_inet_line() one of tcp, tcp6, udp or udp6 (@kind is "tcp" or
 * "udp"), socket_unix_line() one of unix. If the line is that of socket @inode, they return true
 * and describe the socket in @ret.
 */
bool socket_inet_line(const char *line, const char *kind, uint64_t inode,
		      char ret[static SOCKET_TEXT_BYTES]);
bool socket_unix_line(const char *line, uint64_t inode, char ret[static SOCKET_TEXT_BYTES]);

#endif
