/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The server of queries answers the requests that query/query.h describes, and GET /metrics. It
 * reads the store as the user who owns it, and has no capability. The kernel says which user has
 * connected: root, the store's owner and members of group krait may ask everything, other users
 * only what ran under their own user id. Over TCP only metrics are answered.
 *
 * For each connection, the listening process starts another process, which answers within limits of
 * memory and time and then ends. If .idle_ns is set, the listening process ends when nobody has
 * asked anything for that long; systemd starts it again on demand.
 */
#ifndef AGENT_SERVE_SERVE_H
#define AGENT_SERVE_SERVE_H

#include "base/util.h"

#define SERVE_GROUP "krait"

struct serve_options {
	const char *store, *socket;
	const char *metrics; /* ADDRESS:PORT of the loopback interface; NULL: no TCP */
	/*
	 * file with the bearer token; who sends this token may ask everything; NULL: there is no
	 * token
	 */
	const char *token_file;
	/* the server ends if nobody asks anything for this time; 0: it never ends by itself */
	uint64_t idle_ns;
};

/*
 * Listens until SIGTERM or SIGINT, or until .idle_ns have passed without a request. Sockets that
 * systemd hands over (LISTEN_FDS) replace .socket and .metrics. 0 or -errno + message.
 */
_must_use_ int serve(const struct serve_options *o);

#endif
