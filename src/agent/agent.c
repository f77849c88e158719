/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampler: collects the samples of each second in a frame, and sends the frames to the writer;
 * see agent.h.
 */
#include "agent/agent.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/confine/confine.h"
#include "agent/hook.h"
#include "agent/limit.h"
#include "agent/link.h"
#include "agent/notify.h"
#include "agent/pieces.h"
#include "agent/trigger.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/clock.h"
#include "base/system/log.h"
#include "record/command/signals.h"
#include "store/numbering.h"

#define FRAME_NS NSEC_PER_SEC
/* if the wall clock moves by more than this against CLOCK_MONOTONIC, somebody set it */
#define STEP_NS NSEC_PER_SEC

/*
 * A segment is a run of frames, each of which has the samples of about a second. Samples refer by
 * number to strings, functions and stacks. A number means the same in the whole segment, so a frame
 * has only those strings, functions and stacks that earlier frames of the segment lack. The longer
 * a segment is, the fewer bytes its samples take. A segment ends when it reaches one of these
 * limits.
 */
#define SEGMENT_NS	(600 * NSEC_PER_SEC)
#define SEGMENT_SAMPLES (128u << 10)
/* when the profile's tables take this many bytes of memory, the segment ends */
#define SEGMENT_BYTES ((size_t)24 << 20)

struct agent {
	struct session *s;
	const struct agent_options *o;
	struct link link; /* to the writer */
	struct notify notify;
	struct numbering numbering;
	/*
	 * the frame (the samples of about a second) that is being filled: its times, its number,
	 * its count of samples
	 */
	struct blob_place place;
	/*
	 * when the present frame (a second of samples) and the present segment (a run of frames)
	 * began, CLOCK_MONOTONIC
	 */
	uint64_t frame_ns, segment_ns;
	uint64_t segment_samples;
	int64_t wall_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC */
	unsigned condensed;
	struct limit limit;
	struct pieces pieces;
	struct triggers triggers;
	int hook;	   /* hook_begin() */
	unsigned confined; /* how the sampler is confined: bits of enum confined */
};

static int64_t wall_shift(void)
{
	return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC));
}

/* Returns the wall clock's time, in ms, at time @ns of CLOCK_MONOTONIC. */
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

/* Puts a sample into the present frame, which has the samples of about a second. */
static int put(void *ctx, const struct profile_sample *s)
{
	struct agent *a = ctx;
	struct blob_place *place = &a->place;
	int64_t ms = wall_ms(a, (int64_t)a->s->start_ns + s->time_ns);

	place->first_ms = MIN(place->first_ms, ms);
	place->last_ms = MAX(place->last_ms, ms);
	place->samples++;
	triggers_sample(&a->triggers, a->s->profile, s);
	return numbering_add(&a->numbering, a->s->profile, s, ms);
}

/* The recording session calls this for each sample that joins the profile. */
static int added(void *ctx, const struct profile_sample *s)
{
	struct agent *a = ctx;
	struct profile_sample rest = *s;

	pieces_take_off(&a->pieces, &rest);
	return put(a, &rest);
}

/* The recording session calls this for each process that ends with a status other than 0. */
static void failed(void *ctx, uint32_t tgid, const char *name, int status)
{
	struct agent *a = ctx;

	triggers_ended(&a->triggers, tgid, name, status);
}

static void take_figures(struct agent *a)
{
	int64_t *f = a->numbering.batch.figures;

	f[BATCH_SAMPLER_CPU] = (int64_t)clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	f[BATCH_WRITER_CPU] = link_cpu(&a->link);
	f[BATCH_LOST] = (int64_t)sampler_lost_now(a->s->sampler);
	f[BATCH_SAMPLES] += a->place.samples;
	f[BATCH_HZ] = limit_hz(&a->limit);
	f[BATCH_ASKED_HZ] = a->limit.asked.hz;
	f[BATCH_LOWERED] = a->limit.lowered;
	f[BATCH_DROPPED] = (int64_t)a->link.dropped;
	f[BATCH_WRITER_LOST] = (int64_t)a->link.lost;
	f[BATCH_RESTARTS] = a->link.restarts;
	f[BATCH_CONFINED] = a->confined & a->link.confined;
}

static int send_frame(struct agent *a, uint64_t now)
{
	_cleanup_str_ struct str columns = {};
	int r;

	a->place.last_ms = MAX(a->place.last_ms, wall_ms(a, (int64_t)now));
	take_figures(a);
	r = numbering_end(&a->numbering, a->s->profile);
	r = r ? r : batch_encode(&a->numbering.batch, &columns);
	r = r ? r : link_send(&a->link, &a->place, &columns);
	a->segment_samples += a->place.samples;
	a->place.sequence++;
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
	a->link.anew = a->link.broke = false;
	a->wall_ns = wall_shift();
	begin_frame(a, now);
}

static bool segment_is_full(const struct agent *a, uint64_t now)
{
	return now - a->segment_ns >= SEGMENT_NS || a->segment_samples >= SEGMENT_SAMPLES ||
	       profile_bytes(a->s->profile) >= SEGMENT_BYTES;
}

/*
 * Begins a new segment, in which strings, functions and stacks are numbered anew. (A segment is a
 * run of frames, each of which has the samples of about a second.) Removes everything from the
 * profile but what later samples refer to.
 */
static int end_segment(struct agent *a, uint64_t now)
{
	struct profile *window = NULL;
	int r = session_window(a->s, &window);

	profile_free(window);
	if (!r)
		begin_segment(a, now);
	return r;
}

/*
 * Tells whether somebody set the wall clock: whether it moved by more than STEP_NS against
 * CLOCK_MONOTONIC since the last call. Smaller differences are allowed for, because the two clocks
 * may run at different speeds.
 */
static bool clock_was_set(struct agent *a)
{
	int64_t shift = wall_shift(), off = shift - a->wall_ns;

	if (off > -(int64_t)STEP_NS && off < (int64_t)STEP_NS)
		a->wall_ns = shift;
	return a->wall_ns != shift;
}

static struct effort effort(const struct agent *a)
{
	return (struct effort){a->o->session->freq_hz, a->o->session->wait_budget_ppm,
			       a->o->max_cpu_ppm};
}

/* Adopts the settings that changed in the configuration. */
static void reload(struct agent *a)
{
	struct effort asked;

	a->o->reload(a->o->reload_ctx);
	asked = effort(a);
	if (!memcmp(&asked, &a->limit.asked, sizeof(asked)))
		return;
	if (limit_ask(&a->limit, &asked))
		log_error("%s; the sampling rate didn't change", err_msg());
	else
		a->link.anew = true;
}

/*
 * Keeps the agent's CPU time below the limit: the agent samples less often if necessary, and more
 * often again when it can.
 */
static int keep_to_limit(struct agent *a, uint64_t now)
{
	const int64_t *f = a->numbering.batch.figures;
	int r = limit_turn(&a->limit, now, (uint64_t)(f[BATCH_SAMPLER_CPU] + f[BATCH_WRITER_CPU]));

	a->link.anew |= r > 0;
	return MIN(r, 0);
}

/*
 * Checks the conditions of the triggers. If one is met, the samples of the minutes around now are
 * kept for longer (they are pinned), and the agent samples more often.
 */
static int pin(struct agent *a, uint64_t now)
{
	bool holds = triggers_turn(&a->triggers, now, wall_ms(a, (int64_t)now));
	int r = limit_raise(&a->limit, holds);

	a->link.anew |= r > 0;
	return MIN(r, 0);
}

/*
 * The recording's loop calls this again and again. If rare code was summed up to save memory
 * (condensing), all ids of the profile have changed. Then a new segment of the store begins,
 * because the frames that were stored in the present segment have the old ids.
 */
static int turn(void *ctx, uint64_t now)
{
	struct agent *a = ctx;
	int r = link_turn(&a->link, now);

	notify_alive(&a->notify, now);
	r = r ? r : pin(a, now);
	if (signals_reload() && a->o->reload)
		reload(a);

	if (!r && a->condensed != a->s->condensed) {
		a->condensed = a->s->condensed;
		numbering_forget(&a->numbering);
		r = send_frame(a, now);
		begin_segment(a, now);
	}
	if (r || (now - a->frame_ns < FRAME_NS && !a->link.broke))
		return r;
	r = pieces_turn(&a->pieces, now) ?: send_frame(a, now);
	r = r ? r : keep_to_limit(a, now);
	if (!r && (a->link.anew || a->link.broke || clock_was_set(a)))
		begin_segment(a, now);
	return r || !segment_is_full(a, now) ? r : end_segment(a, now);
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
			    .hook = -1,
			    .pieces = {.s = s, .add = put, .ctx = a, .off_cpu = -1}};
	r = link_begin(&a->link, o, a->numbering.batch.figures);
	r = r ? r : hook_begin(o, &a->hook);
	notify_open(&a->notify);
	a->numbering.batch.figures[BATCH_BEGAN_MS] =
		(int64_t)(clock_ns(CLOCK_REALTIME) / NSEC_PER_MSEC);
	a->numbering.batch.figures[BATCH_LIMIT] = (int64_t)o->max_bytes;
	s->added = added;
	s->failed = o->pin_failures ? failed : NULL;
	s->added_ctx = a;
	return r;
}

void agent_confine(struct agent *a)
{
	a->confined = confine_sampler() | CONFINED_FILES;
}

void agent_confine_loaded(struct agent *a)
{
	a->confined &= confine_loaded() | CONFINED_FILES;
}

int agent_run(struct agent *a)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct effort asked = effort(a);
	int r;

	pieces_begin(&a->pieces, now);
	limit_begin(&a->limit, a->s, &asked, now);
	triggers_begin(&a->triggers, &a->link, a->s->profile, a->o->pin_cpu_ppm, a->o->pin_wait_ppm,
		       now);
	a->triggers.hook = a->hook;
	a->wall_ns = wall_shift();
	a->segment_ns = now;
	begin_frame(a, now);
	notify_say(&a->notify, "READY=1\nSTATUS=recording");
	r = session_run(a->s, turn, a);
	notify_say(&a->notify, "STOPPING=1");
	return r;
}

int agent_end(struct agent *a, int error)
{
	int r = error;

	if (!r && a->frame_ns)
		r = send_frame(a, clock_ns(CLOCK_MONOTONIC));
	r = link_end(&a->link, r);
	notify_close(&a->notify);
	if (a->hook >= 0)
		close(a->hook);
	a->s->added = NULL;
	a->s->failed = NULL;
	pieces_fini(&a->pieces);
	numbering_fini(&a->numbering);
	free(a);
	return r;
}
