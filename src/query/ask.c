/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends requests to the agent's server of queries; see ask.h. */
#include "query/ask.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"

#define BLOCK_BYTES (64u << 10)

static int open_socket(const char *path, int *ret)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct timeval limit = {.tv_sec = ASK_SECONDS};

	if (strlen(path) >= sizeof(at.sun_path))
		return err_set(-ENAMETOOLONG, "the socket's path %s is too long", path);
	memcpy(at.sun_path, path, strlen(path) + 1);
	*ret = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*ret < 0)
		return err_sys(-errno, "can't make a socket");
	(void)setsockopt(*ret, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(*ret, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(*ret, (struct sockaddr *)&at, sizeof(at)))
		return err_sys(-errno,
			       "no server answers at %s; root starts one with "
			       "`krait agent serve`",
			       path);
	return 0;
}

static int cut(const char *path)
{
	return err_set(-EPIPE, "the server at %s ended before its answer did", path);
}

static int send_all(int fd, const char *path, const struct str *request)
{
	size_t at = 0;

	while (at < request->n) {
		ssize_t n = send(fd, request->s + at, request->n - at, MSG_NOSIGNAL);

		/*
		 * the server was busy and ended the connection; its answer, which says so, is read
		 * next
		 */
		if (n < 0 && errno == EPIPE)
			return 0;
		if (n < 0 && errno != EINTR)
			return cut(path);
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/*
 * Reads some bytes and appends them to @to. Returns 1; 0 if the connection has ended; or -errno +
 * message.
 */
static int read_some(int fd, const char *path, struct str *to)
{
	_cleanup_free_ char *block = malloc(BLOCK_BYTES);
	ssize_t n;

	if (!block)
		return err_nomem();
	do
		n = recv(fd, block, BLOCK_BYTES, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return err_set(-ETIMEDOUT, "the server at %s doesn't answer", path);
	if (n < 0)
		return cut(path);
	str_add_n(to, block, (size_t)n);
	return to->failed ? err_nomem() : n > 0;
}

static int read_answer(int fd, const char *path, struct str *ret)
{
	_cleanup_str_ struct str all = {};
	uint64_t bytes = 0;
	const char *end = NULL;
	size_t head;
	int r = 1;

	while (r > 0 && !(end = all.n ? memchr(all.s, '\n', all.n) : NULL) &&
	       all.n <= QUERY_HEAD_BYTES)
		r = read_some(fd, path, &all);
	if (r < 0)
		return r;
	head = end ? (size_t)(end - all.s) + 1 : 0;
	r = all.n ? query_read_head(str_cstr(&all), head ? head - 1 : all.n, &bytes) : cut(path);
	if (!r && bytes > ASK_MAX_BYTES)
		r = err_set(-EMSGSIZE, "the answer is too long; ask for a shorter window");
	for (r = r ? r : 1; r > 0 && all.n - head < bytes;)
		r = read_some(fd, path, &all) ?: cut(path);
	if (r > 0)
		str_add_n(ret, all.s + head, bytes);
	return r < 0 ? r : ret->failed ? err_nomem() : 0;
}

int ask(const char *socket, const struct query *q, struct str *ret)
{
	_cleanup_str_ struct str request = {};
	_cleanup_close_ int fd = -1;
	int r = query_write(q, &request);

	r = r ? r : open_socket(socket, &fd);
	r = r ? r : send_all(fd, socket, &request);
	return r ? r : read_answer(fd, socket, ret);
}
