/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends frames (each has the samples of about a second) to the writer, and has the writer started
 * again when it dies; see link.h.
 */
#include "agent/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/nomem.h"
#include "base/system/clock.h"
#include "base/system/log.h"

/* size of the pipe to the writer, if the kernel permits that size */
#define PIPE_BYTES (1 << 20)
/* the most bytes of samples that wait in the sampler for room in the pipe */
#define OUT_BYTES      (4u << 20)
#define LAST_MS	       10000 /* how many ms the sampler waits for the writer at the end */

#define FIRST_DELAY_NS (100 * NSEC_PER_MSEC)
#define MOST_DELAY_NS  (30 * NSEC_PER_SEC)
/*
 * A writer that has lived for this long counts as healthy: if it dies later, the next writer is
 * started after FIRST_DELAY_NS, the shortest delay.
 */
#define LIVED_NS (60 * NSEC_PER_SEC)

static void close_pipes(struct link *l)
{
	if (l->out >= 0)
		close(l->out);
	if (l->answers >= 0)
		close(l->answers);
	l->out = l->answers = -1;
}

int64_t link_cpu(struct link *l)
{
	clockid_t clock;

	if (l->writer && !clock_getcpuclockid(l->writer, &clock))
		l->cpu_ns = MAX(l->cpu_ns, (int64_t)clock_ns(clock));
	return l->cpu_before + l->cpu_ns;
}

/*
 * Call it when the writer has ended. Samples that it hadn't stored are lost. Another writer is
 * started later.
 */
static void lose(struct link *l, const char *why)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now - l->began_ns >= LIVED_NS)
		l->delay_ns = FIRST_DELAY_NS;
	log_warn("the writer of the agent ended%s%s; it is started again in %.1f s",
		 *why ? ": " : "", why, (double)l->delay_ns / NSEC_PER_SEC);
	l->again_ns = now + l->delay_ns;
	l->delay_ns = MIN(2 * l->delay_ns, MOST_DELAY_NS);
	l->cpu_before += l->cpu_ns;
	l->cpu_ns = 0;
	l->writer = 0;
	l->lost += l->unkept;
	l->unkept = 0;
	l->broke = true;
	str_clear(&l->waiting);
	l->sent = 0;
	close_pipes(l);
}

/* Frees the beginning of .waiting that is sent already, once that saves much memory. */
static void forget_sent(struct link *l)
{
	if (l->sent < OUT_BYTES / 4)
		return;
	l->waiting.n -= l->sent;
	memmove(l->waiting.s, l->waiting.s + l->sent, l->waiting.n);
	l->sent = 0;
}

/*
 * Writes as many of the waiting bytes as the pipe has room for. Errors are ignored: take_answers()
 * notices when the writer has ended.
 */
static void push(struct link *l)
{
	while (l->out >= 0 && l->sent < l->waiting.n) {
		ssize_t n = write(l->out, l->waiting.s + l->sent, l->waiting.n - l->sent);

		if (n < 0 && errno != EINTR) {
			forget_sent(l);
			return;
		}
		l->sent += n > 0 ? (size_t)n : 0;
	}
	str_clear(&l->waiting);
	l->sent = 0;
}

static void take(struct link *l, const struct agent_answer *answer)
{
	switch (answer->kind) {
	case ANSWER_READY:
		l->writer = answer->writer;
		l->confined = answer->confined;
		return;
	case ANSWER_MARK:
		if (l->n_marks < LINK_MARKS)
			memcpy(l->marks[l->n_marks++], answer->text, PIN_WORDS_BYTES);
		else
			log_warn("too many marks came at once: '%s' isn't pinned", answer->text);
		return;
	case ANSWER_DROPPED:
		l->dropped += answer->samples;
		l->anew = true;
		break;
	default:
		break;
	}
	l->unkept -= MIN(l->unkept, (uint64_t)answer->samples);
}

/* Reads the answers that the writer has sent. If the pipe has ended, the writer has ended. */
static void take_answers(struct link *l)
{
	struct agent_answer answer;
	ssize_t n;

	while (l->answers >= 0 && (n = read(l->answers, &answer, sizeof(answer))) >= 0) {
		if (n != (ssize_t)sizeof(answer))
			lose(l, "");
		else if (answer.kind == ANSWER_FAILED)
			lose(l, answer.text);
		else
			take(l, &answer);
	}
}

/*
 * Indexes in an array of descriptors: the two ends of the pipe for frames, and the two of the pipe
 * for answers.
 */
enum { FRAMES_IN, FRAMES_OUT, ANSWERS_IN, ANSWERS_OUT };

static int start_writer(struct link *l)
{
	int fds[4] = {-1, -1, -1, -1}, r;

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(-errno, "can't make a pipe");
	l->out = fds[FRAMES_OUT];
	if (pipe2(fds + ANSWERS_IN, O_CLOEXEC)) {
		close(fds[FRAMES_IN]);
		return err_sys(-errno, "can't make a pipe");
	}
	l->answers = fds[ANSWERS_IN];
	(void)fcntl(l->out, F_SETPIPE_SZ, PIPE_BYTES);
	r = starter_ask(l->starter_fd, fds[FRAMES_IN], fds[ANSWERS_OUT]);
	close(fds[FRAMES_IN]);
	close(fds[ANSWERS_OUT]);
	if (r)
		return err_sys(r, "the process that starts the agent's writer has ended");
	l->began_ns = clock_ns(CLOCK_MONOTONIC);
	return 0;
}

static int stop_blocking(struct link *l)
{
	return fcntl(l->out, F_SETFL, O_NONBLOCK) || fcntl(l->answers, F_SETFL, O_NONBLOCK)
		       ? err_sys(-errno, "can't use the pipe to the writer")
		       : 0;
}

/* Waits for the writer's first answer, which says whether the store is open. */
static int wait_until_ready(struct link *l, int64_t figures[BATCH_FIGURES])
{
	struct agent_answer answer = {};

	if (read(l->answers, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
		return err_set(-EPIPE, "the writer of the agent ended before the store was open");
	take(l, &answer);
	memcpy(figures, answer.figures, sizeof(answer.figures));
	return answer.kind == ANSWER_READY ? 0 : err_set(answer.error, "%s", answer.text);
}

int link_begin(struct link *l, const struct agent_options *o, int64_t figures[BATCH_FIGURES])
{
	int r;

	*l = (struct link){
		.o = o, .starter_fd = -1, .out = -1, .answers = -1, .delay_ns = FIRST_DELAY_NS};
	r = starter_begin(o, &l->starter, &l->starter_fd);
	r = r ? r : start_writer(l);
	r = r ? r : wait_until_ready(l, figures);
	return r ? r : stop_blocking(l);
}

int link_turn(struct link *l, uint64_t now)
{
	int r = 0;

	take_answers(l);
	if (l->out < 0 && now >= l->again_ns) {
		l->restarts++;
		r = start_writer(l);
		r = r ? r : stop_blocking(l);
	}
	push(l);
	return r;
}

/*
 * Puts a frame (the samples of about a second) behind those that wait for room in the pipe. If too
 * many wait already, the frame is dropped.
 */
int link_send(struct link *l, const struct blob_place *place, const struct str *columns)
{
	struct agent_frame f = {.place = *place, .bytes = columns->n};

	if (l->out < 0) {
		l->lost += place->samples;
		l->broke = true;
		return 0;
	}
	if (l->waiting.n - l->sent + columns->n > OUT_BYTES) {
		log_warn("the disk is too slow: the %u samples of one second are dropped",
			 place->samples);
		l->dropped += place->samples;
		l->anew = true;
		return 0;
	}
	str_add_n(&l->waiting, &f, sizeof(f));
	str_add_n(&l->waiting, columns->s, columns->n);
	l->unkept += place->samples;
	push(l);
	return l->waiting.failed ? err_nomem() : 0;
}

bool link_send_pin(struct link *l, const struct pin *p)
{
	struct agent_frame f = {.is_pin = true, .bytes = sizeof(*p)};

	if (l->out < 0)
		return false;
	str_add_n(&l->waiting, &f, sizeof(f));
	str_add_n(&l->waiting, p, sizeof(*p));
	push(l);
	return !l->waiting.failed;
}

/*
 * Sends the frames (batches of samples) that still wait. Gives up if the writer takes nothing for
 * LAST_MS.
 */
static int finish(struct link *l)
{
	struct pollfd fd = {.fd = l->out, .events = POLLOUT};

	while (l->out >= 0 && l->waiting.n) {
		if (poll(&fd, 1, LAST_MS) <= 0)
			return err_set(
				-ETIMEDOUT,
				"the disk is too slow: the samples of the last seconds are lost");
		take_answers(l);
		push(l);
	}
	return 0;
}

/* Waits until the writer ends. The writer ends once it has written everything that was sent. */
static int wait_for_writer(struct link *l, int error)
{
	struct agent_answer answer;

	if (l->out >= 0)
		close(l->out);
	l->out = -1;
	if (l->answers < 0 || fcntl(l->answers, F_SETFL, 0))
		return error;
	while (read(l->answers, &answer, sizeof(answer)) == (ssize_t)sizeof(answer)) {
		take(l, &answer);
		if (answer.kind == ANSWER_FAILED && !error)
			error = err_set(answer.error, "%s", answer.text);
	}
	if (l->unkept && !error)
		error = err_set(-EPIPE, "the writer of the agent ended by itself, so the last "
					"second is lost");
	return error;
}

int link_end(struct link *l, int error)
{
	int r = wait_for_writer(l, error ? error : finish(l));

	close_pipes(l);
	if (l->starter_fd >= 0)
		close(l->starter_fd);
	if (l->starter > 0)
		waitpid(l->starter, NULL, 0);
	str_fini(&l->waiting);
	return r;
}
