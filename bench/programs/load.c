/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load PORT CONNECTIONS RATE: sends RATE lines a second, over all connections together, to an echo
 * server on this machine. Each line is sent when it is due, over the next free connection. RATE 0:
 * each connection sends its next line when it has the answer to the last one. For each line on
 * stdin it prints "ANSWERS MEDIAN P99" since the line before; the times are in ns and count from
 * when a line was due. The program ends when stdin ends. It is written in C, so that it takes
 * little of the CPUs that it shares with the server.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC	 1000000000ll
#define MOST_CONNECTIONS 64
#define LINE		 "0123456789abcdef0123456789abcde\n"
#define LINE_BYTES	 (sizeof(LINE) - 1)
#define MOST_ANSWERS	 (1 << 20)

static struct connection {
	/*
	 * when the line was due for which this connection waits for an answer; 0: the connection is
	 * free
	 */
	int64_t due_ns;
	size_t got; /* how many bytes of the answer have come so far */
} connections[MOST_CONNECTIONS];

/* The first entry is stdin, entry i + 1 belongs to connection i. */
static struct pollfd polled[MOST_CONNECTIONS + 1];
static unsigned n_connections;
/* time from one line to the next; 0: lines are sent as fast as answers come */
static int64_t step_ns;
static int64_t next_ns; /* when the next line is due */

static uint64_t taken_ns[MOST_ANSWERS];
static size_t n_taken;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * If the next line was due longer ago than this, because the server couldn't take lines in time,
 * the missed lines are left out.
 */
#define LATE_NS (NSEC_PER_SEC / 50)

static void report(void)
{
	qsort(taken_ns, n_taken, sizeof(*taken_ns), compare);
	printf("%zu %llu %llu\n", n_taken, n_taken ? (unsigned long long)taken_ns[n_taken / 2] : 0,
	       n_taken ? (unsigned long long)taken_ns[n_taken * 99 / 100] : 0);
	fflush(stdout);
	n_taken = 0;
	if (next_ns < now_ns() - LATE_NS)
		next_ns = now_ns();
}

static void send_line(unsigned i, int64_t due_ns)
{
	connections[i] = (struct connection){.due_ns = due_ns};
	if (write(polled[i + 1].fd, LINE, LINE_BYTES) != (ssize_t)LINE_BYTES)
		errx(1, "the server doesn't take a line");
}

/* Reads from connection @i. If the answer is whole, the connection is free. */
static void receive(unsigned i)
{
	struct connection *c = &connections[i];
	char data[LINE_BYTES];
	ssize_t n = read(polled[i + 1].fd, data, sizeof(data) - c->got);

	if (n <= 0)
		errx(1, "the server has closed a connection");
	c->got += (size_t)n;
	if (c->got < LINE_BYTES)
		return;
	if (n_taken < MOST_ANSWERS)
		taken_ns[n_taken++] = (uint64_t)(now_ns() - c->due_ns);
	c->due_ns = 0;
}

/*
 * Sends all lines that are due, as long as a connection is free. Returns whether a connection is
 * still free afterwards.
 */
static int send_due(void)
{
	static unsigned last;

	for (unsigned tried = 0; tried < n_connections; tried++) {
		int64_t now = now_ns();
		unsigned i = (last + 1) % n_connections;

		if (step_ns && now < next_ns)
			return 1;
		last = i;
		if (connections[i].due_ns)
			continue;
		send_line(i, step_ns ? next_ns : now);
		next_ns += step_ns;
		tried = 0;
	}
	return 0;
}

static void wait_for_events(int is_free)
{
	int64_t left = next_ns - now_ns();
	struct timespec t = {};

	if (left > 0)
		t = (struct timespec){left / NSEC_PER_SEC, left % NSEC_PER_SEC};
	ppoll(polled, n_connections + 1, step_ns && is_free ? &t : NULL, NULL);
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		err(1, "port %u", port);
	return fd;
}

static void prepare(char **argv)
{
	double rate = atof(argv[3]);

	n_connections = (unsigned)atoi(argv[2]);
	if (!n_connections || n_connections > MOST_CONNECTIONS)
		errx(2, "1 to %d connections", MOST_CONNECTIONS);
	for (unsigned i = 0; i < n_connections; i++)
		polled[i + 1] = (struct pollfd){connect_to((uint16_t)atoi(argv[1])), POLLIN, 0};
	polled[0] = (struct pollfd){0, POLLIN, 0};
	step_ns = rate > 0 ? (int64_t)(NSEC_PER_SEC / rate) : 0;
	next_ns = now_ns();
	prctl(PR_SET_TIMERSLACK, 1);
}

int main(int argc, char **argv)
{
	char command[64];

	if (argc != 4)
		errx(2, "usage: load PORT CONNECTIONS RATE");
	prepare(argv);
	for (;;) {
		wait_for_events(send_due());
		for (unsigned i = 0; i < n_connections; i++)
			if (polled[i + 1].revents)
				receive(i);
		if (!polled[0].revents)
			continue;
		if (read(0, command, sizeof(command)) <= 0)
			return 0;
		report();
	}
}
