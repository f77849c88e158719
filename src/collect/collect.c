/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes records in, hands samples on when their stacks can be named; see collect.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/worker.h"
#include "collect/internal.h"
#include "symbol/elf/debuginfod.h"
#include "symbol/kernel_names.h"

void collect_begin(struct collect *c, uint64_t start_ns)
{
	c->config.start_ns = start_ns;
	c->began = true;
	c->start_boot_ns = clock_ns(CLOCK_BOOTTIME);
}

struct collect *collect_new(const struct collect_config *config)
{
	struct collect *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->start_boot_ns = clock_ns(CLOCK_BOOTTIME);
	c->config = *config;
	c->profile = config->profile;
	c->flushes = 1;
	jit_flush(c);
	c->known = known_new();
	if (!c->known || (config->unwind && worker_open(&c->worker))) {
		free(c->known);
		free(c);
		return NULL;
	}
	c->marks = profile_mapping(
		c->profile, &(struct profile_mapping){.name = profile_string(c->profile, "[krait]"),
						      .kind = KIND_MARK});
	return c;
}

static void raw_stack_fini(struct raw_stack *raw)
{
	free(raw->frames);
	free(raw->native);
}

/* What threads read: files. */
static void files_fini(struct collect *c)
{
	vec_foreach(native, &c->natives)
		native_file_free(*native);
	vec_fini(&c->natives);
	vec_foreach(root, &c->roots)
		close(root->fd);
	vec_fini(&c->roots);
}

bool collect_free(struct collect *c)
{
	bool freed;

	if (!c)
		return true;
	foresee_remember(c);
	free(c->command);
	vec_fini(&c->taught_programs);
	freed = native_work_fini(c);
	freed &= absent_fini(c);
	vec_foreach(p, &c->processes)
		process_fini(c, p);
	vec_foreach(raw, &c->raw)
		raw_stack_fini(raw);
	map_fini(&c->native_index);
	map_fini(&c->rowless);
	map_fini(&c->registered);
	map_fini(&c->spaces);
	vec_fini(&c->trampolines);
	vec_foreach(native, &c->unpaired)
		free(*native);
	vec_fini(&c->unpaired);
	kernel_names_free(c->kernel);
	vec_foreach(file, &c->files)
		image_file_free(*file);
	vec_fini(&c->files);
	vec_fini(&c->processes);
	vec_fini(&c->live);
	vec_fini(&c->forgotten);
	vec_fini(&c->free_processes);
	vec_fini(&c->threads);
	vec_fini(&c->free_threads);
	vec_fini(&c->ends);
	vec_fini(&c->raw);
	vec_fini(&c->waiting);
	bodies_fini(c);
	together_fini(c);
	vec_fini(&c->unsupported);
	map_fini(&c->file_index);
	map_fini(&c->taught);
	map_fini(&c->others);
	map_fini(&c->by_key);
	map_fini(&c->by_tgid);
	map_fini(&c->execs);
	map_fini(&c->stacks);
	sent_fini(c);
	look_fini(c);
	crowd_fini(c);
	free(c->known);
	if (!freed)
		return false;
	files_fini(c);
	free(c);
	return true;
}

static void broken(struct collect *c)
{
	c->stats.broken_records++;
}

static void keep_code(struct collect *c, struct process *p, struct py_code *code)
{
	if (vec_push(&p->codes, code)) {
		c->no_memory = true;
		py_code_free(code);
		return;
	}
	if (map_put(&p->code_index, code_key(code->addr, code->check), p->codes.n))
		c->no_memory = true;
	code->round = c->round;
	code->serial = ++c->serial;
	c->code_bytes += py_code_bytes(code);
	c->stats.codes++;
	if (c->config.met_file && code->file && !p->unwanted)
		c->config.met_file(c->config.ctx, p->key.tgid, p->start_boot_ns, code->file);
	together_met(c, p, code);
}

/* Index of the process that a record is of, -ENOMEM. */
static long owner_of(struct collect *c, const struct proc_key *key)
{
	long p = process_of(c, key);

	c->no_memory |= p < 0;
	crowd_turn(c, p < 0 ? NULL : &c->processes.v[p]);
	return p;
}

#define LINES_LEFT 4096

/* What only the process itself still has: texts that weren't resident, the class. */
static void look_into(struct collect *c, struct py_code *code, const struct rec_code *rec,
		      const struct py_layout *layout)
{
	uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);

	if (collect_is_full(c)) /* until what is rare was summed up */
		py_code_cut_lines(code, LINES_LEFT);
	if (c->asked_ns > ASKED_NS || collect_is_full(c))
		return;
	if (code->missing)
		(void)!py_code_fill_from_process(code, rec->proc.tgid, layout);
	if (rec->self_obj)
		(void)!py_code_qualify(code, rec->proc.tgid, layout, rec->self_obj, rec->self_type);
	c->asked_ns += clock_ns(CLOCK_MONOTONIC) - began_ns;
}

static void on_code(struct collect *c, const struct rec_code *rec, size_t n)
{
	const struct py_layout *layout = c->config.ops->layout(c->config.ctx, rec->layout);
	long p = owner_of(c, &rec->proc);
	struct py_code *code = NULL;
	const uint64_t *known;
	int r = -EINVAL;

	if (p >= 0)
		sent_code(c, (uint32_t)p, rec->code, rec->check);
	known = p >= 0 ? map_get(&c->processes.v[p].code_index, code_key(rec->code, rec->check))
		       : NULL;
	if (known) { /* sent again: the kernel's list of sent ones has forgotten it */
		c->processes.v[p].codes.v[*known - 1]->round = c->round;
		return;
	}
	if (layout && p >= 0)
		r = py_code_from_record(rec, n, layout->version, &code);
	if (r) {
		c->no_memory |= r == -ENOMEM;
		broken(c);
		return;
	}
	look_into(c, code, rec, layout);
	c->news = true;
	if (!c->processes.v[p].version)
		process_is_python(c, &c->processes.v[p], layout->version);
	if (rec->globals && !c->config.interpreter_frames && !collect_is_full(c) &&
	    py_code_has_module(code, layout))
		bodies_met(c, (uint32_t)p, code, rec);
	else
		bodies_left_out(c, &c->processes.v[p], code);
	keep_code(c, &c->processes.v[p], code);
}

/* Unwinding stopped at a file whose rows the kernel program doesn't have. */
static void want_rows(struct collect *c, const struct raw_native *native)
{
	uint64_t vaddr, pc = native->pc[native->n_kernel + native->n - 1];
	struct native_file *f = space_find(c, native->version, NO_PROCESS, pc, &vaddr);

	if (!f) {
		guarded_want(c, native->version, pc);
		return;
	}
	(void)!map_put(&c->rowless, native->id, f->index);
	native_rows_want(c, f);
}

/* A stack that was sent before: the rows may have been given up since. */
static void want_rows_again(struct collect *c, uint64_t stack)
{
	const uint64_t *file = map_get(&c->rowless, stack);

	if (file)
		native_rows_want(c, c->natives.v[*file - 1]);
}

/* A stack's record comes next after it in its ring; but a reader may come in between, and go on with another ring. */
#define UNPAIRED_MOST 256

static struct raw_native *take_unpaired(struct collect *c, uint64_t stack)
{
	for (size_t i = c->unpaired.n; i-- > 0;) {
		struct raw_native *native = c->unpaired.v[i];

		if (native->id != stack)
			continue;
		memmove(&c->unpaired.v[i], &c->unpaired.v[i + 1],
			(--c->unpaired.n - i) * sizeof(native));
		return native;
	}
	return NULL;
}

/* Until its stack comes. Those whose stacks were lost make room. */
static int keep_unpaired(struct collect *c, struct raw_native *native)
{
	free(take_unpaired(c, native->id));
	if (c->unpaired.n >= UNPAIRED_MOST)
		free(take_unpaired(c, c->unpaired.v[0]->id));
	return vec_push(&c->unpaired, native);
}

static void on_stack(struct collect *c, const struct rec_stack *rec, size_t n)
{
	size_t bytes = (size_t)rec->n * sizeof(struct wire_frame);
	struct raw_stack raw = {
		.id = rec->stack, .n = rec->n, .outcome = rec->outcome, .flush = c->flushes};
	struct raw_native *native = take_unpaired(c, rec->stack);
	long p = owner_of(c, &rec->proc);
	const uint64_t *known;

	if (p < 0 || n < sizeof(*rec) + bytes || rec->outcome >= WALK_OUTCOME_MAX) {
		free(native);
		broken(c);
		return;
	}
	/* Sent again: not all its code objects were taken, or the kernel's list has forgotten it. */
	known = map_get(&c->stacks, rec->stack);
	if (known) {
		if (*known != STACK_UNNAMED)
			sent_stack(c, rec->stack);
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
	if (!raw.frames || map_put(&c->stacks, rec->stack, STACK_UNNAMED)) {
		c->no_memory = true;
		raw_stack_fini(&raw);
		return;
	}
	memcpy(raw.frames, rec + 1, bytes);
	if (vec_push(&c->raw, raw)) {
		c->no_memory = true;
		raw_stack_fini(&raw);
		map_del(&c->stacks, rec->stack);
	}
}

static void on_native(struct collect *c, const struct rec_native *rec, size_t n)
{
	size_t frames = (size_t)rec->n + rec->n_kernel;
	struct raw_native *native;

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
		want_rows(c, native);
}

static void on_sample(struct collect *c, const struct rec_sample *rec)
{
	long p = owner_of(c, &rec->proc);

	if (p < 0 || rec->outcome >= WALK_OUTCOME_MAX || rec->native >= NATIVE_OUTCOME_MAX ||
	    rec->gil >= GIL_STATE_MAX) {
		broken(c);
		return;
	}
	if (vec_push(&c->waiting, (struct waiting){*rec, p, c->flushes})) {
		c->no_memory = true;
		broken(c);
		return;
	}
	c->processes.v[p].walked |= rec->stack != 0;
	if (rec->native == NATIVE_NO_SPACE || rec->native == NATIVE_UNMAPPED)
		space_wanted(c, &c->processes.v[p],
			     rec->native == NATIVE_UNMAPPED ? SPACE_ODD : SPACE_GONE);
	if (rec->native == NATIVE_NO_ROWS)
		want_rows_again(c, rec->stack);
	/* What a thread does in do_exit() comes after the side band's word that it has ended. */
	if (rec->type != REC_SAMPLE_END)
		c->processes.v[p].seen_ns = MAX(c->processes.v[p].seen_ns, rec->time_ns);
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
				       [REC_ABSENT] = sizeof(struct rec_absent)};
	uint8_t type = n ? *(const uint8_t *)data : 0;

	if (type >= ARRAY_SIZE(least) || n < least[type]) {
		broken(c);
		return;
	}
	switch (type) {
	case REC_SAMPLE:
	case REC_SAMPLE_END:
		on_sample(c, data);
		break;
	case REC_STACK:
		on_stack(c, data, n);
		break;
	case REC_CODE:
		on_code(c, data, n);
		break;
	case REC_NATIVE:
		crowd_turn(c, NULL); /* whose it is isn't looked up */
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

static int keep_stack(struct collect *c, const struct raw_stack *raw, uint64_t id)
{
	if (map_put(&c->stacks, raw->id, id))
		return err_set(-ENOMEM, "out of memory for stacks");
	sent_stack(c, raw->id);
	raw_stack_fini((struct raw_stack *)raw);
	c->stats.stacks++;
	return 0;
}

/* A value of collect.stacks, 0 = it isn't complete yet. A stack that is too many for memory has a mark instead. */
static uint64_t name_stack(struct collect *c, const struct raw_stack *raw, bool last)
{
	enum native_outcome native = NATIVE_NONE;
	uint32_t mark;

	if (!collect_is_full(c)) {
		uint64_t id = stack_name(c, raw, last, &native);

		return id ? id | (uint64_t)native << STACK_NATIVE_SHIFT : 0;
	}
	mark = stack_mark(c, "[no memory for more stacks]");
	return profile_stack(c->profile, &mark, 1);
}

/* Looking up lines takes its time too. */
static void ask_to_go_on(struct collect *c, size_t done)
{
	if (!c->hurried && c->config.wait &&
	    !c->config.wait(c->config.ctx, "lines of native code", (unsigned)done))
		c->hurried = true;
}

/* Names the stacks that can be named; @last: all of them. After an error the others are kept. */
static int name_stacks(struct collect *c, bool last)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < c->raw.n; i++) {
		struct raw_stack raw = c->raw.v[i];
		uint64_t id;

		if (last)
			ask_to_go_on(c, i);
		crowd_turn(c, &c->processes.v[raw.process]);
		id = r ? 0 : name_stack(c, &raw, last);
		if (id)
			r = keep_stack(c, &raw, id);
		if (!id || r)
			c->raw.v[kept++] = raw;
	}
	c->raw.n = kept;
	return r;
}

/* What isn't understood may exec the same again: that is one process all the same. */
static bool is_reported(const struct collect *c, const struct process *p)
{
	if (p->reported)
		return true;
	vec_foreach(other, &c->processes)
		if (other->reported && other->key.tgid == p->key.tgid &&
		    other->key.start_ns == p->key.start_ns)
			return true;
	return false;
}

static void count_unsupported(struct collect *c, struct process *p)
{
	vec_foreach(u, &c->unsupported) {
		if (!streq(u->reason, p->unsupported))
			continue;
		u->samples++;
		u->processes += !is_reported(c, p);
		p->reported = true;
		return;
	}
	struct collect_unsupported u = {.samples = 1, .processes = 1};

	memcpy(u.reason, p->unsupported, sizeof(u.reason));
	p->reported = true;
	(void)!vec_push(&c->unsupported, u);
}

/*
 * Stack to show for a sample, 0 = wait for it, or for the process to be known. @native: how its native part ended, by
 * the kernel program; becomes what is shown.
 */
static uint32_t stack_of(struct collect *c, struct waiting *w, struct process *p, bool last,
			 uint8_t *native)
{
	const struct rec_sample *rec = &w->rec;
	uint64_t *id;

	if (!rec->stack)
		return stack_mark_only(c, rec->outcome, p);
	id = map_get(&c->stacks, rec->stack);
	if (id && *id != STACK_UNNAMED) {
		uint32_t stack;

		*native = (uint8_t)(*id >> STACK_NATIVE_SHIFT);
		stack = registered_stack(c, w, (uint32_t)*id, native);
		if (stack)
			sent_stack(c, rec->stack);
		return stack;
	}
	if (!last)
		return 0;
	c->stats.lost_stacks++;
	return stack_mark_only(c, WALK_STACK_LOST, p);
}

/*
 * A process is examined by number: between its sample and the look at /proc it may have exec'ed, of which the side
 * band tells until the next flush. What its own samples showed is certain.
 */
static bool is_proved(const struct collect *c, const struct process *p)
{
	return (p->state == PROC_UNSUPPORTED && !p->replaced) || p->state == PROC_NATIVE ||
	       (p->state == PROC_PYTHON && p->walked);
}

static bool is_newest(const struct collect *c, uint32_t process)
{
	const uint64_t *i = map_get(&c->by_tgid, c->processes.v[process].key.tgid);

	return i && *i - 1 == process;
}

#define NOTES 8 /* of a kind that a recording tells of processes with samples */

/* As a comment, once. */
static void note(struct collect *c, const char *key, const char *value)
{
	size_t k = strlen(key);
	unsigned n = 0;

	vec_foreach(text, &profile_meta(c->profile)->comments.list) {
		if (strncmp(*text, key, k) || !str_starts(*text + k, ": "))
			continue;
		if (streq(*text + k + 2, value))
			return;
		n++;
	}
	if (n < NOTES)
		profile_add_comment(c->profile, key, value);
}

static void note_process(struct collect *c, const struct process *p)
{
	char name[128];

	if (p->directory)
		note(c, "cwd", p->directory);
	for (const char *s = p->entry; s && *s; s += *s == ' ') {
		size_t n = strcspn(s, " ");

		if (n < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)n, s);
			note(c, COMMENTS_ENTRY, name);
		}
		s += n;
	}
}

/* 1 if the sample is dealt with, 0 if it has to wait, -errno. */
static int hand_on(struct collect *c, struct waiting *w, bool last)
{
	struct process *p = &c->processes.v[w->process];
	struct profile_sample s = {};
	uint8_t native = w->rec.native;
	int r;

	crowd_turn(c, p);
	if (p->unwanted) /* the kernel program knew it before krait had looked */
		return 1;
	if (w->rec.outcome == WALK_PENDING && !is_proved(c, p)) {
		if (!last && !process_has_ended(p) && p->state != PROC_IGNORED &&
		    p->state != PROC_CROWDED && is_newest(c, w->process))
			return 0;
		if (p->state == PROC_IGNORED)
			c->stats.not_python++;
		else if (p->state == PROC_CROWDED)
			c->stats.crowded.samples++;
		else
			c->stats.unknown++;
		return 1;
	}
	/* Each CPU has a ring of its own: what the process is may be in one that was read before. */
	if ((p->state == PROC_PENDING || p->expected) && !p->samples && w->flush == c->flushes &&
	    !last)
		return 0;
	if (w->rec.outcome == WALK_PENDING && p->state == PROC_UNSUPPORTED) {
		if (w->flush == c->flushes && !last)
			return 0;
		w->rec.outcome = WALK_UNSUPPORTED;
	}
	s.stack = stack_of(c, w, p, last, &native);
	if (!s.stack) {
		thread_meet(c, w->process, &w->rec);
		return 0;
	}
	s.labels = thread_labels(c, w->process, &w->rec);
	if (profile_failed(c->profile))
		return err_set(-ENOMEM, "out of memory for the profile");
	s.time_ns = w->rec.time_ns > c->config.start_ns
			    ? (int64_t)(w->rec.time_ns - c->config.start_ns)
			    : 0;
	s.values[0] = 1;
	s.values[1] = (int64_t)w->rec.weight;
	r = profile_add(c->profile, &s);
	if (!r && c->config.added)
		r = c->config.added(c->config.ctx, &s);
	if (r)
		return r;
	if (p->state == PROC_UNSUPPORTED)
		count_unsupported(c, p);
	if (!p->samples)
		note_process(c, p);
	c->stats.samples++;
	c->stats.weight += w->rec.weight;
	c->stats.outcomes[w->rec.outcome]++;
	c->stats.native[native]++;
	c->stats.processes += !p->samples++;
	return 1;
}

bool collect_want_rows(struct collect *c, uint32_t version, uint64_t pc)
{
	uint64_t vaddr;
	struct native_file *f = space_find(c, version, NO_PROCESS, pc, &vaddr);

	if (!f)
		return false;
	native_rows_want(c, f);
	return native_rows_coming(f);
}

bool collect_rows_coming(const struct collect *c)
{
	vec_foreach(f, &c->natives)
		if (native_rows_coming(*f))
			return true;
	return false;
}

void collect_await(struct collect *c)
{
	native_work_take(c, true);
}

int collect_fd(const struct collect *c)
{
	return c->worker ? worker_fd(c->worker) : -1;
}

/* What names the stacks of the end must be there now. */
static void await_names(struct collect *c)
{
	vec_foreach(raw, &c->raw)
		(void)merge_ready(c, raw);
	native_work_take(c, true);
}

#define MADE_CODE_NS                                                                               \
	(50 * NSEC_PER_MSEC) /* of a flush, for reading code that was made at run time */

/* Adds the samples that can be shown to the profile; the others wait on. After an error all of them do. */
static int hand_on_all(struct collect *c, bool last, int r)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->waiting.n; i++) {
		struct waiting w = c->waiting.v[i];
		int done = r ? 0 : hand_on(c, &w, last);

		if (done < 0)
			r = done;
		if (done <= 0)
			c->waiting.v[kept++] = w;
	}
	c->waiting.n = kept;
	return r;
}

/* What has come since the last flush from elsewhere than the rings. */
static void take_in(struct collect *c)
{
	first_look(c);
	native_work_take(c, false); /* symbols and rows that threads have made */
	memory_keep_to(c);	    /* before names are used: what is given up has no user yet */
	absent_take(c);
}

/* What is read anew of processes, for the flushes to come: samples don't wait for it. */
static void look_after_processes(struct collect *c, bool last)
{
	thread_names(c, last); /* of threads whose samples were handed on */
	process_look_again(c);
	space_read_stale(c);
	/* What was mapped until a sample was taken is known one flush later: from here on it is. */
	c->flushes++;
	crowd_turn(c, NULL);
	registered_read(c, clock_ns(CLOCK_MONOTONIC) + MADE_CODE_NS); /* within those mappings */
	guarded_read(c);
	together_look(c);
}

/* One round: what can be named and shown is, the rest waits for the next one. */
int collect_flush(struct collect *c, bool last)
{
	int r;

	c->last = last;
	crowd_turn(c, NULL);
	bodies_find(c); /* the frames of imports are named after modules */
	c->asked_ns = 0;
	jit_flush(c);
	take_in(c);
	if (last)
		await_names(c);
	r = hand_on_all(c, last, name_stacks(c, last));
	look_after_processes(c, last);
	native_rows_given_up(c);
	process_forget_ended(c); /* nothing of this flush refers to them */
	crowd_tell(c);		 /* last: all that it cost has an owner */
	if (!r && (profile_failed(c->profile) || c->no_memory))
		r = err_set(-ENOMEM, "out of memory for the profile");
	c->no_memory = false;
	return r;
}

bool collect_news(struct collect *c)
{
	bool news = c->news || c->waiting.n || c->raw.n;

	c->news = false;
	return news;
}

/* What a stack wanted and didn't get until the end. */
static void count_unread(const struct collect *c, struct collect_stats *ret)
{
	ret->unread_kernel = c->kernel_asked;
	vec_foreach(f, &c->natives) {
		size_t n = strlen((*f)->path);

		if ((*f)->named != NAMES_ASKED || ret->unread_files++)
			continue;
		snprintf(ret->unread_file, sizeof(ret->unread_file), "%s",
			 (*f)->path + n - MIN(n, sizeof(ret->unread_file) - 1));
	}
}

void collect_stats(struct collect *c, struct collect_stats *ret)
{
	*ret = c->stats;
	if (c->last)
		count_unread(c, ret);
	ret->unfetched = debuginfod_unfetched();
	ret->unreadable = reader_stats();
	ret->kept.stacks = c->stacks.n;
	ret->kept.threads = c->threads.n;
	ret->kept.codes = 0;
	vec_foreach(i, &c->live) {
		ret->kept.codes += c->processes.v[*i].codes.n;
		jit_stats(&c->processes.v[*i], ret);
	}
	thread_runtimes(c, ret);
	ret->unsupported = c->unsupported.v;
	ret->n_unsupported = c->unsupported.n;
}
