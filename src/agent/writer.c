/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer is the process that owns the store. It has no capabilities, and opens no file outside
 * of the store. It only stores the frames (each has the samples of about a second) that the sampler
 * made. See agent.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/confine/confine.h"
#include "agent/pipe.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "store/pins/marks.h"

/*
 * at most this many marks, by which users ask to keep the samples of now, are passed to the sampler
 * after each second of samples
 */
#define MOST_MARKS 16
/*
 * The store's size is checked before a frame is written if this many frames, or frames of this many
 * bytes, were written since the last check. A check takes a quarter of the CPU time that writing a
 * small frame takes.
 */
#define CHECK_FRAMES 8
#define CHECK_BYTES  ((size_t)256 << 10)

struct writer {
	const struct agent_options *o;
	struct store *store;
	int in, out;
	unsigned confined; /* enum confined bits */
	/*
	 * The sampler numbers segments (runs of frames) from 0. A segment's number in the store is
	 * the sampler's number + .first.
	 */
	uint64_t first;
	/* the sampler's number of the segment that is being written */
	uint64_t segment;
	bool begun; /* a frame has come */
	/* samples of this segment were dropped, so later frames of the segment couldn't be read */
	bool broken;
	/*
	 * the pipe through which users ask to keep the samples of the time around now; -1: there is
	 * none
	 */
	int marks;
	struct str columns;
	/* how many frames, and how many bytes of them, were written since store_keep_to() */
	unsigned unchecked;
	size_t unchecked_bytes;
	/* counters that are sums over the earlier agents that used this store */
	int64_t earlier[BATCH_FIGURES];
};

static void answer(const struct writer *w, enum agent_answer_kind kind, uint32_t samples, int error)
{
	struct agent_answer a = {.kind = kind,
				 .samples = samples,
				 .error = error,
				 .writer = getpid(),
				 .confined = w->confined};

	memcpy(a.figures, w->earlier, sizeof(a.figures));
	if (kind == ANSWER_FAILED)
		snprintf(a.text, sizeof(a.text), "%s", err_msg());
	(void)!write(w->out, &a, sizeof(a));
}

/*
 * Passes users' marks (requests to keep the samples of the time around now) to the sampler,
 * MOST_MARKS at a time.
 */
static void hand_on_marks(const struct writer *w)
{
	struct agent_answer a = {.kind = ANSWER_MARK};

	for (int i = 0; i < MOST_MARKS && marks_take(w->marks, a.text); i++)
		(void)!write(w->out, &a, sizeof(a));
}

/* Reads @n bytes. Returns 1; 0 if the pipe has ended; or -errno + message. */
static int take(int fd, void *to, size_t n)
{
	uint8_t *at = to;

	while (n) {
		ssize_t got = read(fd, at, n);

		if (!got)
			return 0;
		if (got < 0 && errno != EINTR)
			return err_sys(-errno, "can't read the sampler's pipe");
		at += got > 0 ? got : 0;
		n -= got > 0 ? (size_t)got : 0;
	}
	return 1;
}

/*
 * Reads the next frame (the samples of about a second), and puts its columns into .columns. Returns
 * 1; 0 if the pipe has ended; or -errno + message.
 */
static int take_frame(struct writer *w, struct agent_frame *f)
{
	int r = take(w->in, f, sizeof(*f));

	if (r <= 0)
		return r;
	if (f->bytes > BATCH_MAX_BYTES)
		return err_set(-EBADMSG,
			       "the sampler sent more bytes for one second than the store accepts");
	str_clear(&w->columns);
	if (w->columns.cap < f->bytes + 1) {
		str_fini(&w->columns);
		w->columns.s = malloc(f->bytes + 1);
		w->columns.cap = w->columns.s ? f->bytes + 1 : 0;
		if (!w->columns.s)
			return err_nomem();
	}
	w->columns.n = f->bytes;
	return take(w->in, w->columns.s, f->bytes);
}

/*
 * Call it when the sampler has begun a new segment. Seals all earlier segments: replaces the frames
 * (seconds of samples) of each by blocks, one block for each service. That is possible because
 * these segments are complete.
 */
static int begin_segment(struct writer *w, uint64_t segment)
{
	int r = store_seal_rest(w->store);

	/*
	 * the disk is full: krait tries again to seal the earlier segments when the next segment
	 * begins
	 */
	if (r == -ENOSPC)
		log_warn("%s", err_msg());
	/*
	 * Without the summaries for long windows of time, the samples can still be read. krait
	 * tries to make the summaries again when the next segment begins.
	 */
	if (!r && store_roll_up(w->store))
		log_warn("can't make the summary for long windows of time, and tries again later: "
			 "%s",
			 err_msg());
	w->segment = segment;
	w->broken = false;
	w->unchecked = 0;
	return r == -ENOSPC ? 0 : r;
}

/* Makes room in the store for the frame in .columns, if the store's size is to be checked now. */
static int keep_to_size(struct writer *w)
{
	bool checks = !w->unchecked || w->unchecked == CHECK_FRAMES ||
		      w->unchecked_bytes + w->columns.n > CHECK_BYTES;
	int r = checks ? store_keep_to(w->store, w->o->max_bytes) : 0;

	if (checks)
		w->unchecked = w->unchecked_bytes = 0;
	if (!r) {
		w->unchecked++;
		w->unchecked_bytes += w->columns.n;
	}
	return r;
}

static int append(struct writer *w, const struct agent_frame *f)
{
	struct blob_place place = f->place;
	int r = keep_to_size(w);

	place.segment += w->first;
	return r ? r : store_append(w->store, &place, w->columns.s, w->columns.n);
}

/*
 * Writes a frame (the samples of about a second). If the disk is full, drops this frame and the
 * rest of its segment.
 */
static int write_frame(struct writer *w, const struct agent_frame *f)
{
	int r = 0;

	/*
	 * The sampler may have sent earlier segments to a writer that died. So the
	 * first segment that this writer gets may have any number.
	 */
	if (!w->begun) {
		w->begun = true;
		w->first -= f->place.segment;
		w->segment = f->place.segment;
	}
	if (f->place.segment != w->segment)
		r = begin_segment(w, f->place.segment);
	if (!r && !w->broken)
		r = append(w, f);
	if (!r && !w->broken)
		answer(w, ANSWER_KEPT, f->place.samples, 0);
	if (r != -ENOSPC && !w->broken)
		return r;
	if (r)
		log_warn("%s: the samples of the newest second are dropped", err_msg());
	w->broken = true;
	answer(w, ANSWER_DROPPED, f->place.samples, r);
	return 0;
}

/*
 * Writes a pin (an order to keep a window of time). If that fails, only warns, because the samples
 * are in the store all the same.
 */
static void write_pin(const struct writer *w)
{
	struct pin p;

	if (w->columns.n != sizeof(p))
		return;
	memcpy(&p, w->columns.s, sizeof(p));
	if (store_add_pin(w->store, &p))
		log_warn("%s: '%s' isn't pinned", err_msg(), p.words);
}

static int write_all(struct writer *w)
{
	struct agent_frame f;
	int r;

	do {
		r = take_frame(w, &f);
		if (r <= 0)
			break;
		if (f.is_pin) {
			write_pin(w);
			continue;
		}
		r = write_frame(w, &f) ?: 1;
		hand_on_marks(w);
	} while (r > 0);
	return r;
}

static int open_store(struct writer *w, pid_t sampler)
{
	int r = store_open(w->o->store, sampler, &w->store);

	r = r ? r : store_seal_rest(w->store);
	r = r ? r : store_count_functions(w->store, w->o->functions, w->o->n_functions);
	r = r ? r : store_earlier_figures(w->store, w->earlier);
	return r ? r : store_next_segment(w->store, &w->first);
}

void agent_write(const struct agent_options *o, pid_t sampler, unsigned confined, int marks,
		 const int fds[2])
{
	struct writer w = {
		.o = o, .confined = confined, .marks = marks, .in = fds[0], .out = fds[1]};
	int r;

	(void)confine_writer();
	r = open_store(&w, sampler);
	if (!r) {
		answer(&w, ANSWER_READY, 0, 0);
		r = write_all(&w);
	}
	if (r)
		answer(&w, ANSWER_FAILED, 0, r);
	else
		marks_end(o->store);
	store_close(w.store);
	str_fini(&w.columns);
	/* exit() would also run the sampler's atexit() functions */
	_exit(r ? 1 : 0);
}
