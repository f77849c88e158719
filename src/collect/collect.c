/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes records in, hands samples on when their stacks can be named; see collect.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "collect/internal.h"

struct collect *collect_new(const struct collect_config *config)
{
	struct collect *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->config = *config;
	c->profile = config->profile;
	c->marks = profile_mapping(
		c->profile, &(struct profile_mapping){.name = profile_string(c->profile, "[krait]"),
						      .kind = KIND_MARK});
	return c;
}

static void process_fini(struct process *p)
{
	free(p->name);
	free(p->cgroup);
	free(p->container);
	vec_foreach(code, &p->codes)
		py_code_free(*code);
	vec_fini(&p->codes);
	vec_fini(&p->stack_ids);
	map_fini(&p->code_index);
	map_fini(&p->threads);
}

void collect_free(struct collect *c)
{
	if (!c)
		return;
	vec_foreach(p, &c->processes)
		process_fini(p);
	vec_foreach(raw, &c->raw)
		free(raw->frames);
	vec_foreach(file, &c->files)
		free(*file);
	vec_fini(&c->files);
	vec_fini(&c->processes);
	vec_fini(&c->live);
	vec_fini(&c->threads);
	vec_fini(&c->raw);
	vec_fini(&c->waiting);
	vec_fini(&c->unsupported);
	map_fini(&c->file_index);
	map_fini(&c->taught);
	map_fini(&c->by_key);
	map_fini(&c->by_tgid);
	map_fini(&c->stacks);
	free(c);
}

static void broken(struct collect *c)
{
	c->stats.broken_records++;
}

static void keep_code(struct collect *c, struct process *p, struct py_code *code)
{
	if (vec_push(&p->codes, code)) {
		py_code_free(code);
		return;
	}
	(void)!map_put(&p->code_index, code_key(code->addr, code->check), p->codes.n);
	c->stats.codes++;
}

static void on_code(struct collect *c, const struct rec_code *rec, size_t n)
{
	const struct py_layout *layout = c->config.ops->layout(c->config.ctx, rec->layout);
	long p = process_of(c, &rec->proc);
	struct py_code *code = NULL;

	if (p >= 0 && map_get(&c->processes.v[p].code_index, code_key(rec->code, rec->check)))
		return; /* sent again: the kernel's list of sent ones has forgotten it */
	if (!layout || p < 0 || py_code_from_record(rec, n, layout->version, &code)) {
		broken(c);
		return;
	}
	if (code->missing)
		(void)!py_code_fill_from_process(code, rec->proc.tgid, layout);
	if (rec->self_obj)
		(void)!py_code_qualify(code, rec->proc.tgid, layout, rec->self_obj);
	keep_code(c, &c->processes.v[p], code);
}

static void on_stack(struct collect *c, const struct rec_stack *rec, size_t n)
{
	size_t bytes = (size_t)rec->n * sizeof(struct wire_frame);
	struct raw_stack raw = {.id = rec->stack, .n = rec->n, .outcome = rec->outcome};
	long p = process_of(c, &rec->proc);

	if (p < 0 || !rec->n || n < sizeof(*rec) + bytes || rec->outcome >= WALK_OUTCOME_MAX) {
		broken(c);
		return;
	}
	/* Sent again: not all its code objects were taken, or the kernel's list has forgotten it. */
	if (map_get(&c->stacks, rec->stack))
		return;
	raw.process = p;
	raw.frames = malloc(bytes);
	if (!raw.frames || map_put(&c->stacks, rec->stack, STACK_UNNAMED)) {
		free(raw.frames);
		return;
	}
	memcpy(raw.frames, rec + 1, bytes);
	if (vec_push(&c->raw, raw)) {
		free(raw.frames);
		map_del(&c->stacks, rec->stack);
	}
}

static void on_sample(struct collect *c, const struct rec_sample *rec)
{
	long p = process_of(c, &rec->proc);

	if (p < 0 || rec->outcome >= WALK_OUTCOME_MAX ||
	    vec_push(&c->waiting, (struct waiting){*rec, p})) {
		broken(c);
		return;
	}
	c->processes.v[p].walked |= rec->stack != 0;
	c->processes.v[p].seen_ns = MAX(c->processes.v[p].seen_ns, rec->time_ns);
}

static void on_proc(struct collect *c, const struct rec_proc *rec)
{
	long p = process_of(c, &rec->proc);

	if (p >= 0)
		process_met(c, p, rec);
}

void collect_record(struct collect *c, const void *data, size_t n)
{
	static const size_t least[] = {[REC_SAMPLE] = sizeof(struct rec_sample),
				       [REC_STACK] = sizeof(struct rec_stack),
				       [REC_CODE] = sizeof(struct rec_code),
				       [REC_PROC] = sizeof(struct rec_proc)};
	uint8_t type = n ? *(const uint8_t *)data : 0;

	if (type >= ARRAY_SIZE(least) || n < least[type]) {
		broken(c);
		return;
	}
	switch (type) {
	case REC_SAMPLE:
		on_sample(c, data);
		break;
	case REC_STACK:
		on_stack(c, data, n);
		break;
	case REC_CODE:
		on_code(c, data, n);
		break;
	case REC_PROC:
		on_proc(c, data);
		break;
	default:
		broken(c);
	}
}

static int keep_stack(struct collect *c, const struct raw_stack *raw, uint32_t id)
{
	if (vec_push(&c->processes.v[raw->process].stack_ids, raw->id) ||
	    map_put(&c->stacks, raw->id, id))
		return err_set(-ENOMEM, "out of memory for stacks");
	free(raw->frames);
	c->stats.stacks++;
	return 0;
}

/* Names the stacks that can be named; @last: all of them. After an error the others are kept. */
static int name_stacks(struct collect *c, bool last)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < c->raw.n; i++) {
		struct raw_stack raw = c->raw.v[i];
		uint32_t id = r ? 0 : stack_name(c, &raw, last);

		if (id)
			r = keep_stack(c, &raw, id);
		if (!id || r)
			c->raw.v[kept++] = raw;
	}
	c->raw.n = kept;
	return r;
}

static void count_unsupported(struct collect *c, struct process *p)
{
	vec_foreach(u, &c->unsupported) {
		if (!streq(u->reason, p->unsupported))
			continue;
		u->samples++;
		u->processes += !p->reported;
		p->reported = true;
		return;
	}
	struct collect_unsupported u = {.samples = 1, .processes = 1};

	memcpy(u.reason, p->unsupported, sizeof(u.reason));
	p->reported = true;
	(void)!vec_push(&c->unsupported, u);
}

/* Stack to show for a sample, 0 = wait for it, or for the process to be known. */
static uint32_t stack_of(struct collect *c, const struct rec_sample *rec, struct process *p,
			 bool last)
{
	uint64_t *id;

	if (!rec->stack)
		return stack_mark_only(c, rec->outcome, p);
	id = map_get(&c->stacks, rec->stack);
	if (id && *id != STACK_UNNAMED)
		return *id;
	if (!last)
		return 0;
	c->stats.lost_stacks++;
	return stack_mark_only(c, WALK_STACK_LOST, p);
}

/*
 * A process is examined by number: between its sample and the look at /proc it may have exec'ed.
 * What its own samples showed is certain.
 */
static bool is_proved(const struct collect *c, const struct process *p)
{
	return p->state == PROC_UNSUPPORTED || (p->state == PROC_PYTHON && p->walked);
}

static bool is_newest(const struct collect *c, uint32_t process)
{
	const uint64_t *i = map_get(&c->by_tgid, c->processes.v[process].key.tgid);

	return i && *i - 1 == process;
}

/* 1 if the sample is dealt with, 0 if it has to wait, -errno. */
static int hand_on(struct collect *c, const struct waiting *w, bool last)
{
	struct process *p = &c->processes.v[w->process];
	struct profile_sample s = {};
	int r;

	if (w->rec.outcome == WALK_PENDING && !is_proved(c, p)) {
		if (!last && !p->ended && p->state != PROC_IGNORED && is_newest(c, w->process))
			return 0;
		if (p->state == PROC_IGNORED)
			c->stats.not_python++;
		else
			c->stats.unknown++;
		return 1;
	}
	s.stack = stack_of(c, &w->rec, p, last);
	if (!s.stack)
		return 0;
	s.labels = thread_labels(c, w->process, &w->rec);
	s.time_ns = w->rec.time_ns > c->config.start_ns
			    ? (int64_t)(w->rec.time_ns - c->config.start_ns)
			    : 0;
	s.values[0] = 1;
	s.values[1] = (int64_t)w->rec.weight;
	r = profile_add(c->profile, &s);
	if (r)
		return r;
	if (p->state == PROC_UNSUPPORTED)
		count_unsupported(c, p);
	c->stats.samples++;
	c->stats.weight += w->rec.weight;
	c->stats.outcomes[w->rec.outcome]++;
	c->stats.processes += !p->samples++;
	return 1;
}

int collect_flush(struct collect *c, bool last)
{
	size_t kept = 0;
	int r = name_stacks(c, last);

	for (size_t i = 0; i < c->waiting.n; i++) {
		struct waiting w = c->waiting.v[i];
		int done = r ? 0 : hand_on(c, &w, last);

		if (done < 0)
			r = done;
		if (done <= 0)
			c->waiting.v[kept++] = w;
	}
	c->waiting.n = kept;
	thread_names(c, last);
	process_forget_ended(c);
	if (!r && profile_failed(c->profile))
		r = err_set(-ENOMEM, "out of memory for the profile");
	return r;
}

void collect_stats(struct collect *c, struct collect_stats *ret)
{
	*ret = c->stats;
	ret->threads = c->threads.n;
	thread_runtimes(c, ret);
	ret->unsupported = c->unsupported.v;
	ret->n_unsupported = c->unsupported.n;
}
