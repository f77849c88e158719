/* SPDX-License-Identifier: BSD-2-Clause */
/* The sampler: makes frames of what is sampled, and sends them to the writer; see agent.h. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/limit.h"
#include "agent/pieces.h"
#include "agent/pipe.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/clock.h"
#include "base/system/log.h"
#include "record/command/signals.h"
#include "store/numbering.h"

#define FRAME_NS   NSEC_PER_SEC
#define PIPE_BYTES (1 << 20)	/* what the kernel holds, if it allows so much */
#define OUT_BYTES  (4u << 20)	/* what waits in the sampler for room in the pipe */
#define LAST_MS	   10000	/* how long the end waits for the writer */
#define STEP_NS	   NSEC_PER_SEC /* the wall clock was set if it is off by more */

/* A segment ends when it has so much. More bytes a segment are fewer bytes a sample. */
#define SEGMENT_NS	(600 * NSEC_PER_SEC)
#define SEGMENT_SAMPLES (128u << 10)
#define SEGMENT_BYTES	((size_t)24 << 20) /* of the profile's tables */

struct agent {
	struct session *s;
	const struct agent_options *o;
	pid_t writer;
	int out, answers; /* the pipe to the writer, and its answers */
	struct numbering numbering;
	struct blob_place place;       /* of the frame that is being filled */
	struct str waiting;	       /* frames that aren't in the pipe yet */
	size_t sent;		       /* bytes of .waiting that are */
	uint64_t frame_ns, segment_ns; /* when they began, CLOCK_MONOTONIC */
	uint64_t segment_samples;
	int64_t wall_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC */
	unsigned condensed;
	struct limit limit;
	struct pieces pieces;
	bool anew; /* a new segment has to begin: a frame was dropped, or the rate has changed */
};

static int64_t wall_shift(void)
{
	return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC));
}

/* The wall clock at a time of CLOCK_MONOTONIC, rounded to ms. */
static int64_t wall_ms(const struct agent *a, int64_t ns)
{
	return (ns + a->wall_ns + (int64_t)NSEC_PER_MSEC / 2) / (int64_t)NSEC_PER_MSEC;
}

static void begin_frame(struct agent *a, uint64_t now)
{
	a->place.samples = 0;
	a->place.first_ms = a->place.last_ms = wall_ms(a, (int64_t)now);
	a->frame_ns = now;
}

/* Puts a sample into the frame. */
static int put(void *ctx, const struct profile_sample *s)
{
	struct agent *a = ctx;
	struct blob_place *place = &a->place;
	int64_t ms = wall_ms(a, (int64_t)a->s->start_ns + s->time_ns);

	place->first_ms = MIN(place->first_ms, ms);
	place->last_ms = MAX(place->last_ms, ms);
	place->samples++;
	return numbering_add(&a->numbering, a->s->profile, s, ms);
}

/* Called for each sample that joins the profile. */
static int added(void *ctx, const struct profile_sample *s)
{
	struct agent *a = ctx;
	struct profile_sample rest = *s;

	pieces_take_off(&a->pieces, &rest);
	return put(a, &rest);
}

/* Moves what waits to the beginning of its memory, once that saves much. */
static void forget_sent(struct agent *a)
{
	if (a->sent < OUT_BYTES / 4)
		return;
	a->waiting.n -= a->sent;
	memmove(a->waiting.s, a->waiting.s + a->sent, a->waiting.n);
	a->sent = 0;
}

/* Writes as much as the pipe takes. 0 or -errno + message: the writer is gone. */
static int push(struct agent *a)
{
	while (a->sent < a->waiting.n) {
		ssize_t n = write(a->out, a->waiting.s + a->sent, a->waiting.n - a->sent);

		if (n < 0 && errno == EAGAIN) {
			forget_sent(a);
			return 0;
		}
		if (n < 0 && errno != EINTR)
			return err_sys(-errno, "the writer of the agent is gone");
		a->sent += n > 0 ? (size_t)n : 0;
	}
	str_clear(&a->waiting);
	a->sent = 0;
	return 0;
}

static int64_t writer_cpu(const struct agent *a)
{
	clockid_t clock;

	return clock_getcpuclockid(a->writer, &clock) ? 0 : (int64_t)clock_ns(clock);
}

static void take_figures(struct agent *a)
{
	int64_t *f = a->numbering.batch.figures;
	struct sampler_stats kernel;

	sampler_stats(a->s->sampler, &kernel);
	f[BATCH_SAMPLER_CPU] = (int64_t)clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	f[BATCH_WRITER_CPU] = writer_cpu(a);
	f[BATCH_LOST] = (int64_t)sampler_lost(&kernel);
	f[BATCH_SAMPLES] += a->place.samples;
	f[BATCH_HZ] = limit_hz(&a->limit);
	f[BATCH_ASKED_HZ] = a->limit.asked.hz;
	f[BATCH_LOWERED] = a->limit.lowered;
}

static void drop(struct agent *a, uint32_t samples)
{
	a->numbering.batch.figures[BATCH_DROPPED] += samples;
	a->anew = true;
}

/* Puts the frame where it waits for room in the pipe, if there it has room. */
static int queue(struct agent *a, const struct str *columns)
{
	struct agent_frame f = {.place = a->place, .bytes = columns->n};

	if (a->waiting.n - a->sent + columns->n > OUT_BYTES) {
		log_warn("the disk is too slow: a second of %u samples is dropped",
			 a->place.samples);
		drop(a, a->place.samples);
		return 0;
	}
	str_add_n(&a->waiting, &f, sizeof(f));
	str_add_n(&a->waiting, columns->s, columns->n);
	a->segment_samples += a->place.samples;
	a->place.sequence++;
	return a->waiting.failed ? err_nomem() : 0;
}

static int send_frame(struct agent *a, uint64_t now)
{
	_cleanup_str_ struct str columns = {};
	int r;

	a->place.last_ms = MAX(a->place.last_ms, wall_ms(a, (int64_t)now));
	take_figures(a);
	r = numbering_end(&a->numbering, a->s->profile);
	r = r ? r : batch_encode(&a->numbering.batch, &columns);
	r = r ? r : queue(a, &columns);
	r = r ? r : push(a);
	batch_clear(&a->numbering.batch);
	begin_frame(a, now);
	return r;
}

static void begin_segment(struct agent *a, uint64_t now)
{
	numbering_begin(&a->numbering);
	a->place.segment++;
	a->place.sequence = 0;
	a->segment_samples = 0;
	a->segment_ns = now;
	a->anew = false;
	a->wall_ns = wall_shift();
	begin_frame(a, now);
}

static bool segment_is_full(const struct agent *a, uint64_t now)
{
	return now - a->segment_ns >= SEGMENT_NS || a->segment_samples >= SEGMENT_SAMPLES ||
	       profile_bytes(a->s->profile) >= SEGMENT_BYTES;
}

/* The profile's contents aren't needed any more, except what samples to come refer to. */
static int end_segment(struct agent *a, uint64_t now)
{
	struct profile *window = NULL;
	int r = session_window(a->s, &window);

	profile_free(window);
	if (!r)
		begin_segment(a, now);
	return r;
}

/* The wall clock runs at its own speed, and may be set. */
static bool clock_was_set(struct agent *a)
{
	int64_t shift = wall_shift(), off = shift - a->wall_ns;

	if (off > -(int64_t)STEP_NS && off < (int64_t)STEP_NS)
		a->wall_ns = shift;
	return a->wall_ns != shift;
}

static int take_answers(struct agent *a)
{
	struct agent_answer answer;

	while (read(a->answers, &answer, sizeof(answer)) == (ssize_t)sizeof(answer)) {
		if (answer.kind == ANSWER_DROPPED)
			drop(a, answer.samples);
		if (answer.kind == ANSWER_FAILED)
			return err_set(answer.error, "%s", answer.text);
	}
	return 0;
}

static struct effort effort(const struct agent *a)
{
	return (struct effort){a->o->session->freq_hz, a->o->session->wait_budget_ppm,
			       a->o->max_cpu_ppm};
}

/* What changed in the configuration is taken over. */
static void reload(struct agent *a)
{
	struct effort asked;

	a->o->reload(a->o->reload_ctx);
	asked = effort(a);
	if (!memcmp(&asked, &a->limit.asked, sizeof(asked)))
		return;
	if (limit_ask(&a->limit, &asked))
		log_error("%s; the rate is as it was", err_msg());
	else
		a->anew = true;
}

/* Keeps within the CPU time that the agent may take. */
static int keep_to_limit(struct agent *a, uint64_t now)
{
	const int64_t *f = a->numbering.batch.figures;
	int r = limit_turn(&a->limit, now, (uint64_t)(f[BATCH_SAMPLER_CPU] + f[BATCH_WRITER_CPU]));

	a->anew |= r > 0;
	return MIN(r, 0);
}

/* After condensing all ids of the profile are others: what was sent is all that can be. */
static int turn(void *ctx, uint64_t now)
{
	struct agent *a = ctx;
	int r = take_answers(a) ?: push(a);

	if (signals_reload() && a->o->reload)
		reload(a);

	if (!r && a->condensed != a->s->condensed) {
		a->condensed = a->s->condensed;
		numbering_forget(&a->numbering);
		r = send_frame(a, now);
		begin_segment(a, now);
	}
	if (r || now - a->frame_ns < FRAME_NS)
		return r;
	r = pieces_turn(&a->pieces, now) ?: send_frame(a, now);
	r = r ? r : keep_to_limit(a, now);
	if (!r && (a->anew || clock_was_set(a)))
		begin_segment(a, now);
	return r || !segment_is_full(a, now) ? r : end_segment(a, now);
}

/* Waits for the writer's first answer: is the store open? */
static int wait_until_ready(struct agent *a)
{
	struct agent_answer answer = {};

	if (read(a->answers, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
		return err_set(-EPIPE, "the writer of the agent ended before the store was open");
	memcpy(a->numbering.batch.figures, answer.figures, sizeof(answer.figures));
	return answer.kind == ANSWER_READY ? 0 : err_set(answer.error, "%s", answer.text);
}

/* The pipes' ends, and which of them are the writer's. */
enum { FRAMES_IN, FRAMES_OUT, ANSWERS_IN, ANSWERS_OUT };

static int start_writer(struct agent *a)
{
	int fds[4] = {-1, -1, -1, -1};
	pid_t self = getpid();

	if (pipe2(fds, O_CLOEXEC) || pipe2(fds + ANSWERS_IN, O_CLOEXEC))
		return err_sys(-errno, "can't make a pipe");
	a->writer = fork();
	if (a->writer < 0)
		return err_sys(-errno, "can't start the writer of the agent");
	if (!a->writer) {
		close(fds[FRAMES_OUT]);
		close(fds[ANSWERS_IN]);
		agent_write(a->o, self, fds[FRAMES_IN], fds[ANSWERS_OUT]);
	}
	close(fds[FRAMES_IN]);
	close(fds[ANSWERS_OUT]);
	a->out = fds[FRAMES_OUT];
	a->answers = fds[ANSWERS_IN];
	(void)fcntl(a->out, F_SETPIPE_SZ, PIPE_BYTES);
	return wait_until_ready(a);
}

int agent_begin(struct session *s, const struct agent_options *o, struct agent **ret)
{
	struct agent *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_nomem();
	*ret = a;
	*a = (struct agent){.s = s,
			    .o = o,
			    .out = -1,
			    .answers = -1,
			    .pieces = {.s = s, .add = put, .ctx = a, .off_cpu = -1}};
	r = start_writer(a);
	if (!r && (fcntl(a->out, F_SETFL, O_NONBLOCK) || fcntl(a->answers, F_SETFL, O_NONBLOCK)))
		r = err_sys(-errno, "can't use the pipe to the writer");
	a->numbering.batch.figures[BATCH_BEGAN_MS] =
		(int64_t)(clock_ns(CLOCK_REALTIME) / NSEC_PER_MSEC);
	a->numbering.batch.figures[BATCH_LIMIT] = (int64_t)o->max_bytes;
	s->added = added;
	s->added_ctx = a;
	return r;
}

int agent_run(struct agent *a)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct effort asked = effort(a);

	pieces_begin(&a->pieces, now);
	limit_begin(&a->limit, a->s, &asked, now);
	a->wall_ns = wall_shift();
	a->segment_ns = now;
	begin_frame(a, now);
	return session_run(a->s, turn, a);
}

/* Sends what is left, as long as the writer takes some within LAST_MS. */
static int finish(struct agent *a)
{
	struct pollfd fd = {.fd = a->out, .events = POLLOUT};
	int r = send_frame(a, clock_ns(CLOCK_MONOTONIC));

	while (!r && a->waiting.n) {
		if (poll(&fd, 1, LAST_MS) <= 0)
			return err_set(-ETIMEDOUT,
				       "the disk is too slow: the last seconds are lost");
		r = push(a);
	}
	return r;
}

int agent_end(struct agent *a, int error)
{
	int r = error, status = 0;

	if (!r && a->frame_ns)
		r = finish(a);
	if (a->out >= 0)
		close(a->out);
	if (a->writer > 0 && waitpid(a->writer, &status, 0) == a->writer && status && !r)
		r = take_answers(a) ?: err_set(-EPIPE, "the writer of the agent ended by itself");
	if (a->answers >= 0)
		close(a->answers);
	a->s->added = NULL;
	pieces_fini(&a->pieces);
	numbering_fini(&a->numbering);
	str_fini(&a->waiting);
	free(a);
	return r;
}
