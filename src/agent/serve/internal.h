/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of src/agent/serve share. */
#ifndef AGENT_SERVE_INTERNAL_H
#define AGENT_SERVE_INTERNAL_H

#include <sys/types.h>
#include "agent/serve/serve.h"
#include "base/vec.h"

#define TOKEN_BYTES 256

/* The process at the other end of a connection. */
struct peer {
	/* connected by TCP: the kernel doesn't know whose process it is, and .uid isn't set */
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
	bool own_socket; /* krait made the socket's file, and removes it at the end */
	char token[TOKEN_BYTES];
	gid_t group; /* id of the group SERVE_GROUP; (gid_t)-1: there is no such group */
	uid_t owner; /* of the store */
	/* descriptor of a file whose lock is held by the process that is making an answer */
	int turn;
};

/* listen.c: fills .listeners, .own_socket. 0 or -errno + message. */
_must_use_ int serve_listen(struct server *s);

/*
 * Finds out which user's process has connected to @l. Returns 0, or -errno if the connection can't
 * be used.
 */
_must_use_ int serve_peer(const struct server *s, const struct listener *l, int fd,
			  struct peer *ret);

/* answer.c: reads one request from @fd and answers it, in a process of its own. */
_Noreturn void serve_answer(const struct server *s, const struct listener *l,
			    const struct peer *peer, int fd);

/* Answers that too many requests are being answered at present. Doesn't block. */
void serve_refuse(const struct listener *l, int fd);

#endif
