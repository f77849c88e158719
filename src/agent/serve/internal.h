/* SPDX-License-Identifier: BSD-2-Clause */
/* Structs and functions that the files in src/agent/serve share. */
#ifndef AGENT_SERVE_INTERNAL_H
#define AGENT_SERVE_INTERNAL_H

#include <sys/types.h>
#include "agent/serve/serve.h"
#include "base/vec.h"

#define TOKEN_BYTES 256

/* The process at the other end of a connection. */
struct peer {
	/*
	 * the peer connected by TCP: the kernel doesn't know whose process it is, and .uid isn't
	 * set
	 */
	bool tcp;
	bool may_all; /* may ask everything */
	uid_t uid;
};

struct listener {
	int fd;
	unsigned port; /* of TCP; 0: a Unix socket */
};

struct server {
	const struct serve_options *o;
	VEC(struct listener) listeners;
	bool own_socket; /* krait made the socket's file, and removes it when the server ends */
	char token[TOKEN_BYTES];
	gid_t group; /* id of the group SERVE_GROUP; (gid_t)-1: there is no such group */
	uid_t owner; /* of the store */
	/* descriptor of a file; the process that makes an answer holds its lock */
	int turn;
};

/* listen.c: opens the sockets, and sets .listeners and .own_socket. 0 or -errno + message. */
_must_use_ int serve_listen(struct server *s);

/*
 * Finds out which user's process has connected to @l. Returns 0, or -errno if the connection is
 * useless.
 */
_must_use_ int serve_peer(const struct server *s, const struct listener *l, int fd,
			  struct peer *ret);

/*
 * answer.c: reads one request from @fd and answers it. Runs in a process of its own, which ends
 * with it.
 */
_Noreturn void serve_answer(const struct server *s, const struct listener *l,
			    const struct peer *peer, int fd);

/* Tells the client that the server is answering too many requests at present. Doesn't block. */
void serve_refuse(const struct listener *l, int fd);

#endif
