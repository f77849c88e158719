/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the server's sockets, or takes over those that systemd opened. Finds out who has connected.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/serve/internal.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/text/str.h"

#define FIRST_FD 3 /* sd_listen_fds(3) */
#define MAX_FDS	 4
#define BACKLOG	 16
#define GROUPS	 1024 /* how many groups of a connected user are looked at */

static int add(struct server *s, int fd, unsigned port)
{
	return vec_push(&s->listeners, ((struct listener){fd, port})) ? err_nomem() : 0;
}

static bool is_loopback(const struct sockaddr_storage *at, unsigned *port)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)at;

	*port = ntohs(at->ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
	if (at->ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return at->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Takes over a socket that systemd has opened. */
static int take_fd(struct server *s, int fd)
{
	struct sockaddr_storage at = {};
	socklen_t n = sizeof(at);
	unsigned port = 0;

	if (getsockname(fd, (struct sockaddr *)&at, &n))
		return err_sys(-errno, "descriptor %d of LISTEN_FDS is no socket", fd);
	if (at.ss_family != AF_UNIX && !is_loopback(&at, &port))
		return err_set(-EACCES,
			       "descriptor %d of LISTEN_FDS is open to other machines; let the "
			       "socket listen on 127.0.0.1 or [::1]",
			       fd);
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	return add(s, fd, port);
}

/* Returns how many sockets systemd has opened for this process. */
static int given(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");

	if (!pid || !n || strtol(pid, NULL, 10) != (long)getpid())
		return 0;
	return (int)MAX(MIN(strtol(n, NULL, 10), (long)MAX_FDS), 0L);
}

/* Removes the socket file at @path if its server has ended. Any other file at @path stays. */
static int make_way(const char *path, const struct sockaddr_un *at)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : err_sys(-errno, "can't make the socket %s", path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(-EEXIST,
			       "%s exists and isn't a socket; remove it, or choose another path",
			       path);
	if (fd < 0 || !connect(fd, (const struct sockaddr *)at, sizeof(*at)) || errno == EAGAIN)
		return err_set(-EADDRINUSE, "another server listens at %s", path);
	return unlink(path) ? err_sys(-errno, "can't replace the socket %s", path) : 0;
}

static int make_folder(const char *path)
{
	_cleanup_free_ char *folder = strdup(path);
	char *end = folder ? strrchr(folder, '/') : NULL;

	if (!folder)
		return err_nomem();
	if (!end || end == folder)
		return 0;
	*end = '\0';
	if (mkdir(folder, 0755) && errno != EEXIST)
		return err_sys(-errno, "can't make the directory %s", folder);
	return 0;
}

/* Opens the Unix socket. Everybody may connect; the answer depends on who asks. */
static int open_unix(struct server *s)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const char *path = s->o->socket;
	mode_t mask;
	int fd, r;

	if (strlen(path) >= sizeof(at.sun_path))
		return err_set(-ENAMETOOLONG, "the socket's path %s is too long", path);
	memcpy(at.sun_path, path, strlen(path) + 1);
	r = make_folder(path) ?: make_way(path, &at);
	if (r)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mask = umask(0111);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, BACKLOG))
		r = err_sys(-errno, "can't listen at %s", path);
	umask(mask);
	s->own_socket = !r;
	r = r ? r : add(s, fd, 0);
	if (r && fd >= 0)
		close(fd);
	return r;
}

/* Reads "127.0.0.1:9873" or "[::1]:9873". */
static bool read_address(const char *text, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	const char *colon = strrchr(text, ':');
	char host[64] = "", *end;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (!port || port > 65535 || *end || n < 2 || n >= sizeof(host))
		return false;
	memcpy(host, text, n);
	if (*host == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		*v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
					    .sin6_port = htons((uint16_t)port)};
		return inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1;
	}
	*v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	return inet_pton(AF_INET, host, &v4->sin_addr) == 1;
}

static int open_tcp(struct server *s)
{
	struct sockaddr_storage at = {};
	unsigned port;
	int fd, r = 0;

	if (!read_address(s->o->metrics, &at) || !is_loopback(&at, &port))
		return err_set(-EINVAL,
			       "'%s' isn't an address that only this machine can reach; write "
			       "127.0.0.1:9873 or [::1]:9873",
			       s->o->metrics);
	fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&at,
		 at.ss_family == AF_INET ? sizeof(struct sockaddr_in)
					 : sizeof(struct sockaddr_in6)) ||
	    listen(fd, BACKLOG))
		r = err_sys(-errno, "can't listen at %s", s->o->metrics);
	r = r ? r : add(s, fd, port);
	if (r && fd >= 0)
		close(fd);
	return r;
}

int serve_listen(struct server *s)
{
	int n = given(), r = 0;

	for (int i = 0; !r && i < n; i++)
		r = take_fd(s, FIRST_FD + i);
	if (n)
		return r;
	r = open_unix(s);
	return r || !s->o->metrics ? r : open_tcp(s);
}

static bool is_member(const struct server *s, int fd, gid_t primary)
{
	gid_t groups[GROUPS];
	socklen_t n = sizeof(groups);

	if (s->group == (gid_t)-1)
		return false;
	if (primary == s->group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &n))
		return false;
	for (size_t i = 0; i < n / sizeof(*groups); i++)
		if (groups[i] == s->group)
			return true;
	return false;
}

int serve_peer(const struct server *s, const struct listener *l, int fd, struct peer *ret)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	*ret = (struct peer){.tcp = l->port != 0};
	if (l->port)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) || who.uid == (uid_t)-1)
		return -EPERM;
	ret->uid = who.uid;
	ret->may_all = !who.uid || who.uid == s->owner || is_member(s, fd, who.gid);
	return 0;
}
