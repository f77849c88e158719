/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes in the records of the kernel programs; see collect.h. */
#include <errno.h>
#include <stdlib.h>

#include "collect/budget/absent.h"
#include "collect/budget/asked.h"
#include "collect/budget/crowd.h"
#include "collect/code/same.h"
#include "collect/code/together.h"
#include "collect/internal.h"
#include "collect/stack/bodies.h"
#include "collect/thread/on.h"
#include "collect/thread/thread.h"
#include "collect/thread/wait_state.h"

void intake_fini(struct collect *c)
{
	struct intake *in = c->intake;

	if (!in)
		return;
	vec_foreach(native, &in->unpaired)
		free(*native);
	vec_fini(&in->unpaired);
	vec_fini(&in->waiting);
	vec_fini(&in->accounts);
	vec_fini(&in->unsupported);
	map_fini(&in->taught);
	free(in);
}

/* from this many waiting samples on, memory that they no longer need is given back */
#define SHRINK_FROM 4096

void intake_shrink(struct intake *in)
{
	if (in->waiting.cap <= SHRINK_FROM || in->waiting.n > in->waiting.cap / 4)
		return;
	if (in->waiting.n)
		vec_shrink(&in->waiting);
	else
		vec_fini(&in->waiting);
}

static void broken(struct collect *c)
{
	c->stats.broken_records++;
}

static void keep_code(struct collect *c, struct process *p, struct py_code *code)
{
	if (!code_keep(c, p, code))
		return;
	if (c->config.met_file && code->file && !p->unwanted)
		c->config.met_file(c->config.ctx, p->key.tgid, p->start_boot_ns, code->file);
	together_met(c, p, code);
}

/* Returns the index of the process that a record belongs to, or -ENOMEM. */
static long owner_of(struct collect *c, const struct proc_key *key)
{
	long p = process_of(c, key);

	c->no_memory |= p < 0;
	crowd_turn(c, p < 0 ? NULL : process_at(c, p));
	return p;
}

#define LINES_LEFT 4096

/*
 * Reads from the process what the record lacks: texts of the code object that weren't resident, and
 * the name of its class.
 */
static void look_into(struct collect *c, struct py_code *code, const struct rec_code *rec,
		      const struct py_layout *layout)
{
	uint64_t began_ns;

	/*
	 * memory is full: until the profile is condensed (what is rare is summed up), krait keeps
	 * only some lines of new code objects
	 */
	if (collect_is_full(c))
		py_code_cut_lines(code, LINES_LEFT);
	if ((!code->missing && !rec->self_obj) || !asked_may(c) || collect_is_full(c))
		return;
	began_ns = asked_begin();
	if (code->missing)
		(void)!py_code_fill_from_process(code, rec->proc.tgid, layout);
	if (rec->self_obj)
		(void)!py_code_qualify(code, rec->proc.tgid, layout, rec->self_obj, rec->self_type);
	asked_end(c, began_ns);
}

static int make_code(struct collect *c, const struct process *p, const struct rec_code *rec,
		     size_t n, unsigned version, struct py_code **ret)
{
	return p->start_boot_ns > c->start_boot_ns ? same_code(c, rec, n, version, ret)
						   : py_code_from_record(rec, n, version, ret);
}

static void on_code(struct collect *c, const struct rec_code *rec, size_t n)
{
	const struct py_layout *layout = c->config.ops->layout(c->config.ctx, rec->layout);
	long p = owner_of(c, &rec->proc);
	struct py_code *code = NULL;
	int r = -EINVAL;

	/*
	 * The code object has come before, but the kernel program has forgotten that it has sent
	 * it.
	 */
	if (p >= 0 && code_met(c, (uint32_t)p, rec->code, rec->check))
		return;
	if (layout && p >= 0)
		r = make_code(c, process_at(c, p), rec, n, layout->version, &code);
	if (r) {
		c->no_memory |= r == -ENOMEM;
		broken(c);
		return;
	}
	look_into(c, code, rec, layout);
	c->news = true;
	if (!process_at(c, p)->version)
		process_is_python(c, process_at(c, p), layout->version);
	if (rec->globals && !c->config.interpreter_frames && !collect_is_full(c) &&
	    py_code_has_module(code, layout))
		bodies_met(c, (uint32_t)p, code, rec, n);
	else
		bodies_left_out(c, process_at(c, p), code);
	keep_code(c, process_at(c, p), code);
}

/*
 * The most native parts of stacks that wait for the record of their stack. In its ring buffer, a
 * stack's record comes right after the record of its native part. But krait may stop reading
 * between the two, and go on later with another buffer.
 */
#define UNPAIRED_MOST 256

static struct raw_native *take_unpaired(struct collect *c, uint64_t stack)
{
	for (size_t i = c->intake->unpaired.n; i-- > 0;) {
		struct raw_native *native = c->intake->unpaired.v[i];

		if (native->id != stack)
			continue;
		memmove(&c->intake->unpaired.v[i], &c->intake->unpaired.v[i + 1],
			(--c->intake->unpaired.n - i) * sizeof(native));
		return native;
	}
	return NULL;
}

/*
 * Keeps the native part of a stack until the stack's own record comes. If too many native parts
 * wait, the oldest is dropped, because its stack's record was lost.
 */
static int keep_unpaired(struct collect *c, struct raw_native *native)
{
	free(take_unpaired(c, native->id));
	if (c->intake->unpaired.n >= UNPAIRED_MOST)
		free(take_unpaired(c, c->intake->unpaired.v[0]->id));
	return vec_push(&c->intake->unpaired, native);
}

static void on_stack(struct collect *c, const struct rec_stack *rec, size_t n)
{
	size_t bytes = (size_t)rec->n * sizeof(struct wire_frame);
	struct raw_stack raw = {
		.id = rec->stack, .n = rec->n, .outcome = rec->outcome, .flush = c->flushes};
	struct raw_native *native = take_unpaired(c, rec->stack);
	long p = owner_of(c, &rec->proc);

	if (p < 0 || n < sizeof(*rec) + bytes || rec->outcome >= WALK_OUTCOME_MAX) {
		free(native);
		broken(c);
		return;
	}
	/*
	 * The stack was sent again, because some of its code objects were lost, or because the
	 * kernel programs have forgotten that they sent it.
	 */
	if (stack_is_there(c, rec->stack)) {
		free(native);
		return;
	}
	if (!rec->n && !native) {
		broken(c);
		return;
	}
	raw.process = p;
	raw.native = native;
	raw.frames = malloc(bytes + 1);
	if (raw.frames)
		memcpy(raw.frames, rec + 1, bytes);
	if (!raw.frames || stack_add(c, &raw)) {
		c->no_memory = true;
		raw_stack_fini(&raw);
	}
}

static void on_native(struct collect *c, const struct rec_native *rec, size_t n)
{
	size_t frames = (size_t)rec->n + rec->n_kernel;
	struct raw_native *native;

	crowd_turn(c, process_known(c, &rec->proc));
	if (rec->n > ABI_MAX_NATIVE || rec->n_kernel > ABI_MAX_KERNEL ||
	    rec->outcome >= NATIVE_OUTCOME_MAX ||
	    n < sizeof(*rec) + frames * sizeof(native->pc[0])) {
		broken(c);
		return;
	}
	native = malloc(sizeof(*native) + frames * sizeof(native->pc[0]));
	if (!native) {
		c->no_memory = true;
		return;
	}
	*native = (struct raw_native){.id = rec->stack,
				      .version = rec->version,
				      .n = rec->n,
				      .n_kernel = rec->n_kernel,
				      .outcome = rec->outcome};
	memcpy(native->pc, rec + 1, frames * sizeof(native->pc[0]));
	if (keep_unpaired(c, native)) {
		free(native);
		c->no_memory = true;
		return;
	}
	if (rec->outcome == NATIVE_NO_ROWS && rec->n)
		stack_wants_rows(c, native);
}

bool intake_is_broken(const struct collect *c, const struct rec_sample *rec)
{
	return rec->outcome >= WALK_OUTCOME_MAX || rec->native >= NATIVE_OUTCOME_MAX ||
	       rec->gil >= GIL_STATE_MAX || rec->source >= c->config.n_sources;
}

void intake_forget_told(const struct process *p, struct rec_sample *rec)
{
	if (p->forgotten)
		rec->ready_ns = rec->stolen_ns = 0;
}

/*
 * Takes in the sample @w. The caller has set all members of @w but .process, .flush and .round,
 * which this function sets. Returns false if the sample was dropped.
 */
static bool on_sample(struct collect *c, struct waiting *w)
{
	const struct rec_sample *rec = &w->rec;
	long p = owner_of(c, &rec->proc);

	if (p < 0 || intake_is_broken(c, rec)) {
		broken(c);
		return false;
	}
	w->process = (uint32_t)p;
	w->flush = c->flushes;
	w->round = c->rounds;
	intake_forget_told(process_at(c, p), &w->rec);
	if (vec_push(&c->intake->waiting, *w)) {
		c->no_memory = true;
		broken(c);
		return false;
	}
	c->n_waiting++;
	process_at(c, p)->users++;
	process_at(c, p)->walked |= rec->stack != 0;
	if ((rec->native == NATIVE_NO_SPACE || rec->native == NATIVE_UNMAPPED) &&
	    /* a sample older than the last reading of the mappings needs no new reading */
	    rec->time_ns > process_at(c, p)->space_ns)
		space_wanted(process_at(c, p),
			     rec->native == NATIVE_UNMAPPED ? SPACE_ODD : SPACE_GONE);
	if (rec->native == NATIVE_NO_ROWS)
		stack_wants_rows_again(c, rec->stack);
	/*
	 * A REC_SAMPLE_END comes from do_exit(), where a thread still runs after perf has reported
	 * the thread's end. So it doesn't show that the process lives.
	 */
	if (rec->type != REC_SAMPLE_END)
		process_at(c, p)->seen_ns = MAX(process_at(c, p)->seen_ns, rec->time_ns);
	return true;
}

static void on_plain_sample(struct collect *c, const struct rec_sample *rec)
{
	struct waiting w = {.rec = *rec, .shown_ns = rec->time_ns};

	on_sample(c, &w);
}

/*
 * Takes in a wait and its waker (the thread that ended the wait). A thread may still wait in
 * do_exit(), after perf has reported its end. Such a wait is treated like a sample of type
 * REC_SAMPLE_END.
 */
static void on_wait(struct collect *c, const struct rec_wait *rec, size_t n)
{
	bool woken = n >= sizeof(*rec) && rec->waker.tid && !intake_is_broken(c, &rec->waker);
	struct waiting w = {.rec = rec->sample,
			    .state = wait_state_of(rec),
			    .on = on_find(c, rec->sample.proc.tgid, rec),
			    .shown_ns = rec->since_ns,
			    .gil_ns = rec->gil_ns,
			    .others_ns = rec->others_ns,
			    .gil_others_ns = rec->gil_others_ns,
			    .times = rec->times,
			    .cost_ns = rec->cost_ns,
			    .site = rec->site % WAIT_SITES,
			    .woken = woken};

	w.rec.type = rec->flags & WAIT_EXITS ? REC_SAMPLE_END : REC_SAMPLE;
	if (!on_sample(c, &w) || !woken)
		return;
	w = (struct waiting){.rec = rec->waker, .shown_ns = rec->waker.time_ns, .waker = true};
	if (!on_sample(c, &w))
		c->intake->waiting.v[c->intake->waiting.n - 1].woken = false;
}

static void on_proc(struct collect *c, const struct rec_proc *rec)
{
	long p = owner_of(c, &rec->proc);

	c->news = true;
	if (p >= 0)
		process_met(c, p, rec);
}

void collect_record(struct collect *c, const void *data, size_t n)
{
	static const size_t least[] = {[REC_SAMPLE] = sizeof(struct rec_sample),
				       [REC_SAMPLE_END] = sizeof(struct rec_sample),
				       [REC_STACK] = sizeof(struct rec_stack),
				       [REC_CODE] = sizeof(struct rec_code),
				       [REC_PROC] = sizeof(struct rec_proc),
				       [REC_NATIVE] = sizeof(struct rec_native),
				       [REC_ABSENT] = sizeof(struct rec_absent),
				       [REC_WAIT] = WAIT_BYTES,
				       [REC_ACCOUNT] = sizeof(struct rec_account)};
	uint8_t type = n ? *(const uint8_t *)data : 0;

	if (type >= ARRAY_SIZE(least) || n < least[type]) {
		broken(c);
		return;
	}
	switch (type) {
	case REC_SAMPLE:
	case REC_SAMPLE_END:
		on_plain_sample(c, data);
		break;
	case REC_WAIT:
		on_wait(c, data, n);
		break;
	case REC_ACCOUNT:
		accounts_take(c, data);
		break;
	case REC_STACK:
		on_stack(c, data, n);
		break;
	case REC_CODE:
		on_code(c, data, n);
		break;
	case REC_NATIVE:
		on_native(c, data, n);
		break;
	case REC_PROC:
		on_proc(c, data);
		break;
	case REC_ABSENT:
		crowd_turn(c, NULL);
		absent_met(c, data);
		break;
	default:
		broken(c);
	}
}
