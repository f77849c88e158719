/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers one request, in a process of its own. The whole answer is first written to a temporary
 * file, so its length is known. A client that reads slowly then takes no memory, and doesn't hold
 * the lock that lets one process at a time make an answer.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/confine/confine.h"
#include "agent/serve/internal.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "base/system/temporary.h"
#include "format/pprof/pprof.h"
#include "profile/comments.h"
#include "query/facts.h"
#include "query/http.h"
#include "query/query.h"
#include "store/pins/marks.h"
#include "store/store.h"

/* When one of these times is over, SIGALRM ends the process, and so the connection. */
#define REQUEST_SECONDS 5 /* seconds in which the request must come */
/*
 * seconds in which the process must get its turn and make its answer; one process at a time makes
 * an answer
 */
#define TURN_SECONDS 20
#define SEND_SECONDS 20
/* how many seconds a client may go on sending after it got the answer */
#define LINGER_SECONDS 1
#define CPU_SECONDS    10
/* how many bytes of memory the process may take, in addition to what it has at its beginning */
#define MEMORY ((rlim_t)64 << 20)
#define BLOCK  (16u << 10)

struct question {
	const struct server *s;
	const struct peer *peer;
	struct query query;
	bool all; /* the answer has everything, not only what ran as the peer's user */
	FILE *body;
};

static void bound(void)
{
	unsigned long pages = 0;
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	struct rlimit limit;

	if (!f || fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	limit.rlim_cur = limit.rlim_max = pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY;
	(void)setrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = limit.rlim_max = CPU_SECONDS;
	(void)setrlimit(RLIMIT_CPU, &limit);
	limit.rlim_cur = limit.rlim_max = 0;
	(void)setrlimit(RLIMIT_CORE, &limit);
}

/*
 * Takes from this process the rights that an answer doesn't need, before the process reads what a
 * client sends. The temporary file is opened and the time zone is read before that, because both
 * are outside of the store.
 */
static void begin(struct question *q)
{
	int fd = temporary_file();

	q->body = fd >= 0 ? fdopen(fd, "w+e") : NULL;
	tzset();
	bound();
	(void)confine_answer(q->s->o->store);
}

static bool is_any(const char *text)
{
	return true;
}

/*
 * If the peer may see only what ran as its own user, adds that user's id to the request, as a
 * label.
 */
static int add_user(struct question *q, char text[16])
{
	struct profile_label_text user = {"uid", strlen("uid"), text};

	if (q->all)
		return 0;
	vec_foreach(l, &q->query.labels)
		if (l->key_len == user.key_len && !memcmp(l->key, user.key, l->key_len))
			return err_set(-EPERM,
				       "only root and group " SERVE_GROUP " may ask for label uid");
	snprintf(text, 16, "%u", q->peer->uid);
	return vec_push(&q->query.labels, user) ? err_nomem() : 0;
}

static int answer_profile(struct question *q, struct store *store)
{
	struct store_query wanted = {.since_ms = q->query.since_ms,
				     .until_ms = q->query.until_ms,
				     /*
				      * the store's summaries of old samples don't say which users'
				      * processes the samples are of
				      */
				     .outline = q->all && q->query.outline ? OUTLINE_SERVICES
									   : OUTLINE_NONE};
	struct profile *p = NULL;
	char uid[16];
	int r = add_user(q, uid);

	wanted.labels = q->query.labels.v;
	wanted.n_labels = q->query.labels.n;
	r = r ? r : store_read(store, &wanted, &p);
	/* comments other than warnings may tell what other users' processes run */
	if (!r && !q->all)
		comments_remove(&profile_meta(p)->comments, is_any);
	r = r ? r : pprof_write(p, q->body, PROFILE_TIMES_EXACT);
	profile_free(p);
	return r;
}

/* Makes @text the answer's body. */
static int put_text(struct question *q, const struct str *text)
{
	if (text->failed)
		return err_nomem();
	fwrite(str_cstr(text), 1, text->n, q->body);
	return 0;
}

static int answer_text(struct question *q, struct store *store, bool metrics)
{
	_cleanup_(totals_fini) struct totals totals = {};
	_cleanup_(pins_fini) struct pins pins = {};
	_cleanup_str_ struct str text = {};
	struct store_facts facts;
	int r = store_facts(store, &facts);

	if (!r && metrics && q->all)
		r = store_totals(store, &totals);
	if (!r && q->all)
		r = store_read_pins(store, &pins);
	if (r)
		return r;
	if (metrics)
		facts_prometheus(&facts, &text);
	if (metrics && q->all) {
		facts_pins(&pins, &text);
		facts_totals(&totals, &text);
	}
	if (!metrics)
		facts_json(q->s->o->store, &facts, q->all ? &pins : NULL, &text);
	return put_text(q, &text);
}

static int answer_status(struct question *q, struct store *store)
{
	return answer_text(q, store, false);
}

static int answer_metrics(struct question *q, struct store *store)
{
	return answer_text(q, store, true);
}

/*
 * Refuses requests about pins and marks (windows of time that are kept) from peers that may not see
 * everything: a pin's words may tell what other users' processes do.
 */
static int check_all(const struct question *q)
{
	return q->all ? 0
		      : err_set(-EPERM, "only root and group " SERVE_GROUP
					" may read and make pins and marks");
}

static int put_pins(struct question *q, const struct pins *pins)
{
	_cleanup_str_ struct str text = {};

	pins_write(pins, &text);
	return put_text(q, &text);
}

static int answer_pins(struct question *q, struct store *store)
{
	_cleanup_(pins_fini) struct pins pins = {};
	int r = check_all(q) ?: store_read_pins(store, &pins);

	return r ? r : put_pins(q, &pins);
}

/*
 * Hands the user's mark to the agent, which keeps the samples of the time around now (makes a pin).
 * Waits until the pin is in the store.
 */
static int answer_mark(struct question *q, struct store *store)
{
	_cleanup_(pins_fini) struct pins pins = {};
	struct pin pin;
	int r = check_all(q) ?: marks_send_to(store, q->query.words ?: "", &pin);

	if (!r && vec_push(&pins.list, pin))
		r = err_nomem();
	return r ? r : put_pins(q, &pins);
}

static int (*const answers[QUERY_N_KINDS])(struct question *, struct store *) = {
	[QUERY_PROFILE] = answer_profile, [QUERY_STATUS] = answer_status,
	[QUERY_METRICS] = answer_metrics, [QUERY_PINS] = answer_pins,
	[QUERY_MARK] = answer_mark,
};

/*
 * Makes the answer. A lock lets only one process at a time make an answer, so that the memory that
 * answers take doesn't add up. A user's mark (QUERY_MARK) is answered without the lock: it takes
 * little memory, but has to wait for the agent.
 */
static int make(struct question *q)
{
	struct flock turn = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct store *store = NULL;
	int r;

	if (!q->body)
		return err_set(-EIO, "the server can't make a temporary file");
	alarm(TURN_SECONDS);
	if (q->query.kind != QUERY_MARK)
		(void)fcntl(q->s->turn, F_SETLKW, &turn);
	r = store_open(q->s->o->store, 0, &store);
	r = r ? r : answers[q->query.kind](q, store);
	store_close(store);
	if (!r && (fflush(q->body) || ferror(q->body)))
		r = err_set(-EIO, "the server's temporary file can't be written");
	if (r == -ENOMEM)
		r = err_set(r,
			    "the answer takes more than %d MiB of memory; ask for a shorter "
			    "window",
			    (int)(MEMORY >> 20));
	(void)malloc_trim(0);
	turn.l_type = F_UNLCK;
	(void)fcntl(q->s->turn, F_SETLK, &turn);
	return r;
}

static void send_bytes(int fd, const void *from, size_t n)
{
	const char *at = from;

	while (n) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			_exit(1);
		at += sent > 0 ? sent : 0;
		n -= sent > 0 ? (size_t)sent : 0;
	}
}

static void send_body(int fd, FILE *body)
{
	char block[BLOCK];
	size_t n;

	rewind(body);
	while ((n = fread(block, 1, sizeof(block), body)))
		send_bytes(fd, block, n);
}

static void send_answer(const struct question *q, int fd, int r)
{
	_cleanup_str_ struct str head = {};

	if (r)
		str_addf(&head, "krait 1 refused %s\n", err_msg());
	else
		str_addf(&head, "krait 1 ok %lld\n", (long long)ftello(q->body));
	send_bytes(fd, head.s, head.n);
	if (!r)
		send_body(fd, q->body);
}

static void answer_query(struct question *q, int fd, const struct str *request)
{
	int r = query_parse(str_cstr(request), request->n, &q->query);

	q->all = q->peer->may_all;
	if (!r && q->peer->tcp)
		r = err_set(-EPERM, "TCP is for metrics");
	r = r ? r : make(q);
	alarm(SEND_SECONDS);
	send_answer(q, fd, r);
}

/*
 * Reads the words of a user's mark (a request to keep samples), which are the body of the HTTP
 * request, as far as they aren't in @request yet.
 */
static int take_words(struct question *q, int fd, const struct http_verdict *v, struct str *request)
{
	char block[1024];
	ssize_t n;

	while (request->n < v->body_at + v->body_bytes) {
		n = recv(fd, block, sizeof(block), 0);
		if (n <= 0)
			return err_set(-EINVAL, "the mark is shorter than Content-Length says");
		str_add_n(request, block, (size_t)n);
	}
	if (request->failed)
		return err_nomem();
	q->query.kind = QUERY_MARK;
	q->query.text = strndup(request->s + v->body_at, v->body_bytes);
	q->query.words = q->query.text;
	return q->query.text ? 0 : err_nomem();
}

static unsigned status_of(int r)
{
	return r == -EPERM ? 403 : r == -EINVAL ? 400 : 503;
}

static void answer_http(struct question *q, const struct listener *l, int fd, struct str *request)
{
	const char *token = *q->s->token ? q->s->token : NULL;
	const struct http_rules rules = {l->port, token};
	_cleanup_str_ struct str head = {};
	struct http_verdict v;
	int r = 0;

	http_judge(str_cstr(request), request->n, &rules, &v);
	q->query.kind = QUERY_METRICS;
	q->all = q->peer->may_all || v.has_token;
	if (v.status == 200 && v.is_mark)
		r = take_words(q, fd, &v, request);
	if (v.status == 200)
		r = r ? r : make(q);
	if (r) {
		v.status = status_of(r);
		snprintf(v.reason, sizeof(v.reason), "%s\n", err_msg());
	}
	http_head(v.status, v.status == 200 ? (uint64_t)ftello(q->body) : strlen(v.reason), &head);
	alarm(SEND_SECONDS);
	send_bytes(fd, head.s, head.n);
	if (v.status == 200)
		send_body(fd, q->body);
	else
		send_bytes(fd, v.reason, strlen(v.reason));
}

static bool is_whole(const struct str *s)
{
	return s->n && (strstr(s->s, "\n\n") || strstr(s->s, "\r\n\r\n"));
}

/* Reads a request up to its empty line, or to the end of what the client sends. */
static int read_request(int fd, struct str *ret)
{
	char block[1024];
	ssize_t n = 1;

	alarm(REQUEST_SECONDS);
	while (n && !is_whole(ret) && ret->n <= QUERY_MAX_BYTES) {
		n = recv(fd, block, sizeof(block), 0);
		if (n < 0)
			return -errno;
		str_add_n(ret, block, (size_t)n);
	}
	return ret->failed ? -ENOMEM : 0;
}

void serve_answer(const struct server *s, const struct listener *l, const struct peer *peer, int fd)
{
	struct question q = {.s = s, .peer = peer};
	struct str request = {};

	begin(&q);
	/* errors are sent to the client; if they were logged, clients could fill the log */
	log_set_level(LOG_ERROR);
	if (read_request(fd, &request))
		_exit(1);
	if (http_is(str_cstr(&request), request.n))
		answer_http(&q, l, fd, &request);
	else
		answer_query(&q, fd, &request);
	/* if the socket is closed while the client still sends, the client loses the answer */
	(void)shutdown(fd, SHUT_WR);
	alarm(LINGER_SECONDS);
	while (recv(fd, (char[1024]){}, 1024, 0) > 0)
		;
	_exit(0);
}

void serve_refuse(const struct listener *l, int fd)
{
	static const char busy[] = "krait 1 refused the server answers too many already; try "
				   "again\n";
	_cleanup_str_ struct str head = {};

	if (l->port)
		http_head(503, 0, &head);
	else
		str_add(&head, busy);
	(void)!send(fd, str_cstr(&head), head.n, MSG_NOSIGNAL | MSG_DONTWAIT);
}
