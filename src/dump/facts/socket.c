/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the lists of sockets in /proc/PID/net; see socket.h.
 * Documentation/networking/proc_net_tcp.rst of Linux describes them.
 */
#include "dump/facts/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"

#define STATE_LISTEN 10 /* the number of TCP's state "listening" (include/net/tcp_states.h) */

/*
 * Parses an address such as "0100007F:1F90". Before the colon are 8 or 32 hexadecimal digits, the
 * words of the address in host byte order. After it is the port.
 */
static bool take_address(const char *text, struct in6_addr *addr, bool *six, unsigned *port)
{
	size_t n = strcspn(text, ":");
	char word[9] = "";

	*addr = (struct in6_addr){};
	if ((n != 8 && n != 32) || sscanf(text + n, ":%x", port) != 1)
		return false;
	*six = n == 32;
	for (size_t i = 0; i < n; i += 8) {
		uint32_t value;

		memcpy(word, text + i, 8);
		value = (uint32_t)strtoul(word, NULL, 16);
		memcpy(addr->s6_addr + i / 2, &value, sizeof(value));
	}
	return true;
}

static void put_address(const struct in6_addr *addr, bool six, unsigned port, const char *before,
			char ret[static SOCKET_TEXT_BYTES])
{
	bool four = !six || IN6_IS_ADDR_V4MAPPED(addr);
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(four ? AF_INET : AF_INET6, six && four ? addr->s6_addr + 12 : addr->s6_addr, text,
		  sizeof(text));
	snprintf(ret, SOCKET_TEXT_BYTES, four ? "%s %s:%u" : "%s [%s]:%u", before, text, port);
}

bool socket_inet_line(const char *line, const char *kind, uint64_t inode,
		      char ret[static SOCKET_TEXT_BYTES])
{
	unsigned state, own_port, peer_port;
	char own[48], peer[48], before[32];
	unsigned long long found;
	struct in6_addr own_addr, peer_addr;
	bool six;

	/* Columns of /proc/net/tcp: sl local rem st tx:rx tr:when retrnsmt uid timeout inode */
	if (sscanf(line, " %*u: %47s %47s %x %*s %*s %*s %*u %*u %llu", own, peer, &state,
		   &found) != 4 ||
	    found != inode)
		return false;
	if (!take_address(own, &own_addr, &six, &own_port) ||
	    !take_address(peer, &peer_addr, &six, &peer_port))
		return false;
	if (peer_port) {
		put_address(&peer_addr, six, peer_port, kind, ret);
		return true;
	}
	snprintf(before, sizeof(before), "%s %s", kind,
		 streq(kind, "tcp") && state == STATE_LISTEN ? "listening on" : "on");
	put_address(&own_addr, six, own_port, before, ret);
	return true;
}

bool socket_unix_line(const char *line, uint64_t inode, char ret[static SOCKET_TEXT_BYTES])
{
	unsigned long long found;
	int path = 0;

	/* Columns of /proc/net/unix: Num: RefCount Protocol Flags Type St Inode Path */
	if (sscanf(line, "%*x: %*x %*x %*x %*x %*x %llu%n", &found, &path) != 1 || !path ||
	    found != inode)
		return false;
	snprintf(ret, SOCKET_TEXT_BYTES, "unix%s", line + path);
	ret[strcspn(ret, "\n")] = '\0';
	return true;
}

static bool find_in(int procdir, const char *name, uint64_t inode, uint64_t until,
		    char ret[static SOCKET_TEXT_BYTES])
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[32], line[512], kind[4];
	int fd;

	snprintf(path, sizeof(path), "net/%s", name);
	snprintf(kind, sizeof(kind), "%.3s", name);
	fd = openat(procdir, path, O_RDONLY | O_CLOEXEC);
	f = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!f && fd >= 0)
		close(fd);
	while (f && fgets(line, sizeof(line), f) && clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		if (streq(name, "unix") ? socket_unix_line(line, inode, ret)
					: socket_inet_line(line, kind, inode, ret))
			return true;
	return false;
}

void socket_peer(int procdir, const char *link, uint64_t *budget_ns,
		 char ret[static SOCKET_TEXT_BYTES])
{
	static const char *const lists[] = {"tcp", "tcp6", "unix", "udp", "udp6"};
	uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID), took;
	unsigned long long inode;

	*ret = '\0';
	if (!*budget_ns || sscanf(link, "socket:[%llu]", &inode) != 1)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (find_in(procdir, lists[i], inode, began + *budget_ns, ret))
			break;
	took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
	*budget_ns -= MIN(took, *budget_ns);
}
