/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names stacks: turns the frames of records into profile locations, once per distinct stack, and
 * adds marks (frames like `[incomplete: ...]`) where a stack isn't complete.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/stack/stack.h"
#include "profile/remake/copy.h"

uint32_t stack_mark(struct collect *c, enum mark mark, const char *what)
{
	_cleanup_str_ struct str text = {};
	struct profile *p = c->profile;
	struct profile_function f = {};

	mark_add(&text, mark, what);
	if (text.failed)
		/*
		 * memory ran out: 0 alone would mean that the stack needs no mark (`[incomplete:
		 * ...]`)
		 */
		return profile_no_memory(p);
	f.name = profile_string(p, str_cstr(&text));
	return profile_location(p, &(struct profile_location){.mapping = c->marks,
							      .function = profile_function(p, &f)});
}

/*
 * Returns the mark (a frame like `[incomplete: ...]`) for a stack that the kernel program didn't
 * follow to the thread's beginning.
 */
static uint32_t outcome_mark(struct collect *c, uint8_t outcome, const struct process *p)
{
	return stack_mark(c, mark_of_walk(outcome),
			  outcome == WALK_UNSUPPORTED ? p->unsupported : walk_words[outcome].words);
}

static const struct py_code *find_code(const struct process *p, const struct wire_frame *f)
{
	return code_of(p, code_key(f->code, f->check));
}

/*
 * Returns the profile's id of the code object's mapping, which depends on the Python version: a
 * process may have interpreters of several versions.
 */
static uint32_t mapping_of(struct collect *c, const struct process *p, const struct py_code *code)
{
	return code->version == p->version ? p->mapping : process_mapping_of(c, code->version);
}

static uint32_t make_code_location(struct collect *c, const struct process *p,
				   const struct py_code *code, int lasti)
{
	struct py_position pos = py_code_position(code, lasti);
	bool ends = c->config.end_positions && pos.end_col >= 0;
	struct profile *prof = c->profile;
	struct profile_function f = {
		.name = profile_string(prof, code->name ? code->name : mark_text(MARK_NO_NAME)),
		.file = profile_string(prof, code->file ? code->file : ""),
		.made_in = profile_string(prof, code->made_in ? code->made_in : ""),
		.start_line = code->firstlineno,
	};

	struct profile_location l = {
		.mapping = mapping_of(c, p, code), /* 0: out of memory */
		.function = profile_function(prof, &f),
		.line = pos.line,
		.column = pos.col >= 0 ? pos.col + 1 : 0,
		.end_line = ends ? pos.end_line : 0,
		.end_column = ends ? pos.end_col + 1 : 0,
	};

	if (l.function && p->start_boot_ns && p->start_boot_ns < c->start_boot_ns)
		profile_ran_before(prof, l.function,
				   (c->start_boot_ns - p->start_boot_ns) / NSEC_PER_MSEC + 1);
	profile_check_end(&l);
	return l.mapping ? profile_location(prof, &l) : 0;
}

static uint32_t code_location(struct collect *c, const struct process *p,
			      const struct py_code *code, int lasti)
{
	struct known_python *known = known_python(c, code, lasti);

	if (known->location && p->start_boot_ns &&
	    profile_get_location(c->profile, known->location)->mapping == mapping_of(c, p, code))
		return known->location;
	known->location = make_code_location(c, p, code, lasti);
	return known->location;
}

/*
 * Returns the mark (a frame like `[incomplete: ...]`) for a missing name or line table. Its memory
 * wasn't resident when the kernel program first saw the code, and the process ended before user
 * space could read the memory.
 */
static uint32_t missing_mark(struct collect *c, unsigned missing)
{
	bool name = missing & ~(1u << CODE_LINETABLE);

	return stack_mark(c, MARK_INCOMPLETE,
			  naming_words[name ? NAMING_NAME : NAMING_LINES].words);
}

struct naming {
	struct collect *c;
	const struct process *p;
	const struct raw_stack *raw;
	struct merged merged;
	import_bodies bodies;
	/*
	 * profile id of the mapping of the stack's Python functions; all of them belong to one
	 * interpreter
	 */
	uint32_t python;
	bool importlib; /* the stack has functions of importlib, which import.c folds */
	unsigned missing;
};

static void add_python(void *arg, size_t from, size_t to)
{
	struct naming *n = arg;

	for (size_t i = from; i < to; i++) {
		const struct wire_frame *f = &n->raw->frames[i];
		const struct py_code *code = find_code(n->p, f);
		unsigned missing = code ? py_code_missing(code, f->lasti) : 0;
		uint32_t loc;

		if (code && code->internal)
			continue;
		n->missing |= missing;
		if (code && !n->python)
			n->python = mapping_of(n->c, n->p, code);
		n->c->stats.lost_names += !code || missing;
		loc = code ? code_location(n->c, n->p, code, f->lasti)
			   : stack_mark(n->c, MARK_INCOMPLETE, naming_words[NAMING_CODE].words);
		n->importlib |= code && code->file && str_starts(code->file, "<frozen importlib.");
		if (code && code->module)
			n->merged.failed |= vec_push(
				&n->bodies, (struct import_body){n->merged.loc.n, code->module});
		n->merged.failed |= !loc || vec_push(&n->merged.loc, loc);
	}
}

bool stack_has_code(const struct process *p, const struct raw_stack *raw)
{
	for (size_t i = 0; i < raw->n; i++)
		if (!find_code(p, &raw->frames[i]))
			return false;
	return true;
}

/* Returns the Python version of a stack: all its Python frames belong to one interpreter. */
static uint16_t version_of(const struct process *p, const struct raw_stack *raw)
{
	const struct py_code *code = raw->n ? find_code(p, &raw->frames[0]) : NULL;

	return code ? code->version : p->version;
}

/*
 * Returns the mark (a frame like `[incomplete: ...]`) for the stack's outermost end: the kernel
 * program didn't reach the beginning of the thread's stack, or a name is missing. 0: no mark is
 * needed.
 */
static uint32_t end_mark(struct naming *n)
{
	if (n->raw->outcome != WALK_OK)
		return outcome_mark(n->c, n->raw->outcome, n->p);
	return n->missing ? missing_mark(n->c, n->missing) : 0;
}

/* What krait keeps of a stack after naming it, besides its id in the profile. */
struct outcome {
	bool dated;
	enum native_outcome native;
};

static uint32_t make_stack(struct collect *c, const struct raw_stack *raw, bool plain,
			   struct outcome *ret)
{
	const struct process *p = process_at(c, raw->process);
	struct naming n = {.c = c, .p = p, .raw = raw, .merged.plain = plain};
	uint32_t id = 0, mark;

	merge_stack(c, raw, version_of(p, raw), add_python, &n, &n.merged);
	if (n.bodies.n && !n.merged.failed)
		n.merged.failed |= import_fold(c, n.python, &n.bodies, &n.merged);
	if (n.importlib && !c->config.interpreter_frames && !n.merged.failed)
		n.merged.failed |= import_name_builtins(c, n.python, &n.merged);
	mark = end_mark(&n);
	if (mark)
		n.merged.failed |= vec_push(&n.merged.loc, mark);
	if (!n.merged.failed && !profile_failed(c->profile))
		id = profile_stack(c->profile, n.merged.loc.v, n.merged.loc.n);
	vec_fini(&n.merged.loc);
	vec_fini(&n.bodies);
	*ret = (struct outcome){n.merged.dated, n.merged.native};
	return id;
}

/*
 * Names @raw with its first @n native frames only, as if the kernel program had had no unwind rows
 * for the last of these frames.
 */
static uint32_t make_cut_stack(struct collect *c, const struct raw_stack *raw, size_t n,
			       struct outcome *ret)
{
	size_t pcs = raw->native->n_kernel + n;
	_cleanup_free_ struct wire_frame *frames = calloc(raw->n + 1, sizeof(*frames));
	_cleanup_free_ struct raw_native *native =
		malloc(sizeof(*native) + pcs * sizeof(native->pc[0]));
	struct raw_stack cut = *raw;

	if (!frames || !native)
		return 0;
	memcpy(native, raw->native, sizeof(*native) + pcs * sizeof(native->pc[0]));
	native->n = (uint16_t)n;
	native->outcome = NATIVE_NO_ROWS;
	for (size_t i = 0; i < raw->n; i++) {
		frames[i] = raw->frames[i];
		if (frames[i].flags >> FRAME_OWNER_SHIFT > n)
			frames[i].flags &= (1u << FRAME_OWNER_SHIFT) - 1;
	}
	cut.frames = frames;
	cut.native = native;
	return make_stack(c, &cut, true, ret);
}

/*
 * Makes the plain stack of @raw (dated.c): a stack without those names and unwind rows that may
 * hold for only some samples of @raw. @until: what dated_until() returned.
 */
static uint32_t make_plain_stack(struct collect *c, const struct raw_stack *raw, size_t until,
				 struct outcome *ret)
{
	uint64_t lost_names = c->stats.lost_names;
	uint32_t id = until ? make_cut_stack(c, raw, until, ret) : make_stack(c, raw, true, ret);

	c->stats.lost_names = lost_names;
	return id;
}

uint32_t stack_name(struct collect *c, const struct raw_stack *raw, enum native_outcome *native)
{
	size_t until = dated_until(c, raw);
	bool never = until && !dated_can_hold(c, raw);
	struct outcome made = {.native = NATIVE_NO_ROWS}, without;
	uint32_t id, plain;

	id = never ? make_cut_stack(c, raw, until, &made) : make_stack(c, raw, false, &made);
	*native = made.native;
	if (!id || !(made.dated || until))
		return id;
	without = made;
	plain = never ? id : make_plain_stack(c, raw, until, &without);
	return plain && !dated_note(c, raw, plain, without.native, never) ? id : plain;
}

uint32_t stack_mark_only(struct collect *c, uint8_t outcome, const struct process *p)
{
	uint32_t loc = outcome_mark(c, outcome, p);

	return profile_stack(c->profile, &loc, 1);
}
