/* SPDX-License-Identifier: BSD-2-Clause */
/* What a socket is connected to, by the lists of its process's own network namespace: /proc/PID/net. */
#ifndef DUMP_SOCKET_H
#define DUMP_SOCKET_H

#include "base/util.h"

#define SOCKET_TEXT_BYTES 128

/*
 * Of the socket that descriptor link @link ("socket:[1234]") names: "tcp 10.0.0.5:5432", "tcp listening on [::1]:80",
 * "unix /run/x.sock", cut to fit; "" for what is no socket or isn't found. @procdir: /proc/PID. @budget_ns: CPU time that
 * all such looks may still take together; each look takes its own off, as lists may have 100,000 lines. The path of a Unix
 * socket may hold any bytes.
 */
void socket_peer(int procdir, const char *link, uint64_t *budget_ns,
		 char ret[static SOCKET_TEXT_BYTES]);

/* One line of /proc/net/tcp, tcp6, udp, udp6 (@kind: "tcp" or "udp"), or unix. True: it is of socket @inode. */
bool socket_inet_line(const char *line, const char *kind, uint64_t inode,
		      char ret[static SOCKET_TEXT_BYTES]);
bool socket_unix_line(const char *line, uint64_t inode, char ret[static SOCKET_TEXT_BYTES]);

#endif
