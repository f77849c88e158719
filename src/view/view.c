/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a new profile of the part of a profile that is shown; see view.h. */
#include "view/view.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "profile/remake/copy.h"
#include "profile/cpu_use.h"
#include "profile/intervals/part.h"
#include "view/names/dirs.h"
#include "view/names/names.h"
#include "view/filter/select.h"
#include "view/waits/waits.h"

#define NOT_SHOWN UINT32_MAX

/*
 * How many bytes a profile of @n bytes may take when its stacks are inverted. Real profiles take
 * two or three times @n. But stacks share their outer frames, and in an inverted stack these become
 * the inner frames, which aren't shared. So n nested calls that each have own time take n frames,
 * but n * n / 2 frames when they are inverted.
 */
#define INVERTED_BUDGET(n) ((64ull << 20) + 16 * (n))

struct viewer {
	const struct view_options *o;
	struct select select;
	struct profile *from, *to;
	struct profile_copy copy;
	struct render_names *names; /* names of the frames of .from, if modules are shown */
	/* from the id of a stack in .from to its id in .to, or NOT_SHOWN; 0: not made yet */
	uint32_t *stacks;
	/* from a location in .from to the location in .to without .outer; 0: not made yet */
	uint32_t *parts;
	bool reframed;	  /* at least one stack of .to has other frames than it had in .from */
	size_t budget;	  /* how many bytes .to may take */
	uint64_t timed;	  /* number of samples that have a time */
	struct part part; /* the part of the time that is shown */
	struct view_totals totals;
};

/*
 * Returns the function that stands for a frame's module: it has the module's name and the frame's
 * file.
 */
static uint32_t module_function(struct viewer *v, uint32_t id)
{
	const struct profile_location *l = profile_get_location(v->from, id);
	_cleanup_str_ struct str name = {};
	struct profile_function f = {};

	view_module(v->from, v->names, id, &name);
	f.name = profile_string(v->to, str_cstr(&name));
	if (l->function && profile_get_mapping(v->from, l->mapping)->kind == KIND_PYTHON)
		f.file = profile_copy_string(&v->copy,
					     profile_get_function(v->from, l->function)->file);
	return profile_function(v->to, &f);
}

/*
 * Returns a frame as the user wants to see it (as a line, a function or a module), without .outer.
 */
static struct profile_location coarser(struct viewer *v, uint32_t id)
{
	struct profile_location l = *profile_get_location(v->from, id);

	l.mapping = profile_copy_mapping(&v->copy, l.mapping);
	if (v->o->grain == VIEW_MODULES)
		l.function = module_function(v, id);
	else
		l.function = profile_copy_function(&v->copy, l.function);
	l.outer = 0;
	if (v->o->grain == VIEW_AS_IS)
		return l;
	l.column = l.end_line = l.end_column = 0;
	/* a frame without a name keeps its address, because nothing else says what it is */
	if (l.function)
		l.address = 0;
	if (v->o->grain != VIEW_LINES)
		l.line = 0;
	return l;
}

/*
 * Copies a frame into the profile .to and returns its id there. If the view shows functions or
 * modules, the copy is the function or the module of the frame's line. A frame of an inlined
 * function stays one, if the next outer frame is of the function that it was inlined into.
 * @outer_from, @outer_to: ids of the next outer frame in the profiles .from and .to.
 */
static uint32_t reframe(struct viewer *v, uint32_t id, uint32_t outer_from, uint32_t outer_to)
{
	const struct profile_location *l = profile_get_location(v->from, id);
	struct profile_location to;
	bool inlined =
		l->outer && l->outer == outer_from && !v->o->invert && v->o->grain <= VIEW_LINES;

	if (!inlined && v->parts[id])
		return v->parts[id];
	to = coarser(v, id);
	if (!inlined)
		return v->parts[id] = profile_location(v->to, &to);
	to.outer = outer_to;
	return profile_location(v->to, &to);
}

static void reverse(uint32_t *stack, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t t = stack[i];

		stack[i] = stack[n - 1 - i];
		stack[n - 1 - i] = t;
	}
}

static enum frame_kind kind_of(const struct viewer *v, uint32_t id)
{
	return profile_get_mapping(v->from, profile_get_location(v->from, id)->mapping)->kind;
}

/* Returns the index in @stack (leaf first) from which on native frames are left out. */
static size_t native_from(const struct viewer *v, const uint32_t *stack, size_t n)
{
	size_t i = 0;

	if (v->o->native != VIEW_NATIVE_LEAF)
		return v->o->native == VIEW_NATIVE_NONE ? 0 : n;
	while (i < n && kind_of(v, stack[i]) != KIND_PYTHON)
		i++;
	return i;
}

/*
 * Tells whether the frame may be left out as a native frame. Marks stay, because they say why
 * frames are missing. The garbage collector's frames stay too, unless no native frames are shown at
 * all.
 */
static bool is_native(const struct viewer *v, uint32_t id)
{
	enum frame_kind kind = kind_of(v, id);

	return kind != KIND_PYTHON && kind != KIND_MARK &&
	       (kind != KIND_GC || v->o->native == VIEW_NATIVE_NONE);
}

/*
 * Makes the stack in .to from the frames that stay. Begins with the outermost frame, so that the id
 * of the next outer frame is always known.
 */
static uint32_t reframed_stack(struct viewer *v, const uint32_t *from, size_t n)
{
	_cleanup_free_ uint32_t *to = calloc(n + 1, sizeof(*to));
	uint32_t outer_from = 0, outer_to = 0;
	size_t left = 0, python = native_from(v, from, n);

	if (!to)
		return 0;
	for (size_t i = n; i--;) {
		uint32_t id;

		if (!select_frame(&v->select, from[i]) || (i >= python && is_native(v, from[i])))
			continue;
		id = reframe(v, from[i], outer_from, outer_to);
		outer_from = from[i];
		outer_to = id;
		/* consecutive frames of one module become one frame */
		if (v->o->grain == VIEW_MODULES && left && to[left - 1] == id)
			continue;
		to[left++] = id;
	}
	if (!v->o->invert)
		reverse(to, left);
	return profile_stack(v->to, to, left);
}

/* Returns the id in .to of stack @id; 0 if memory runs out. */
static uint32_t stack_of(struct viewer *v, uint32_t id)
{
	const uint32_t *frames = NULL;
	size_t n = 0;

	if (v->stacks[id])
		return v->stacks[id];
	if (id)
		frames = profile_get_stack(v->from, id, &n);
	if (!select_stack(&v->select, frames, n))
		v->stacks[id] = NOT_SHOWN;
	else if (v->reframed || !id)
		v->stacks[id] = reframed_stack(v, frames, n);
	else
		v->stacks[id] = profile_copy_stack(&v->copy, id);
	return v->stacks[id];
}

/* Tells whether the options limit the time that is shown. */
static bool is_limited(const struct view_options *o)
{
	return o->since_ns || o->until_ns;
}

static void add_up(int64_t *sums, const int64_t *values, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (__builtin_add_overflow(sums[i], values[i], &sums[i]))
			sums[i] = INT64_MAX;
}

static int take_sample(void *arg, const struct profile_sample *s)
{
	struct viewer *v = arg;
	unsigned n_values = profile_meta(v->from)->n_values;
	struct profile_sample to = *s;

	v->totals.all_samples++;
	v->timed += s->time_ns >= 0;
	add_up(v->totals.all, s->values, n_values);
	if (!v->select.labels[s->labels] || (is_limited(v->o) && !part_cut(&v->part, v->from, &to)))
		return 0;
	to.stack = stack_of(v, s->stack);
	if (to.stack == NOT_SHOWN)
		return 0;
	to.labels = profile_copy_labels(&v->copy, s->labels, NULL, 0);
	if (!to.stack || profile_failed(v->to))
		return err_set(-ENOMEM, "out of memory");
	if (profile_bytes(v->to) > v->budget)
		return err_of("turning around", NULL, -E2BIG,
			      "the profile with inverted stacks would need more than %zu MiB",
			      v->budget >> 20);
	if (to.time_ns >= 0)
		to.time_ns -= (int64_t)v->o->since_ns;
	v->totals.shown_samples++;
	add_up(v->totals.shown, to.values, n_values);
	return profile_add(v->to, &to);
}

static void cut_times(struct viewer *v)
{
	const struct profile_meta *from = profile_meta(v->from);
	struct profile_meta *to = profile_meta(v->to);
	uint64_t end = from->duration_ns > 0 ? (uint64_t)from->duration_ns : 0;

	if (from->time_ns)
		to->time_ns += (int64_t)v->o->since_ns;
	if (v->o->until_ns)
		end = MIN(end, v->o->until_ns);
	to->duration_ns = end > v->o->since_ns ? (int64_t)(end - v->o->since_ns) : 0;
}

/*
 * Adds the scripts' files to .to even if none of their frames stay, because modules are named
 * relative to the scripts.
 */
static int keep_scripts(struct viewer *v)
{
	dirs_files files = {}, scripts = {};
	uint32_t file = 0;
	int r = 0;

	for (uint32_t id = 1; !r && id <= profile_n_functions(v->from); id++)
		if (profile_get_function(v->from, id)->file)
			r = vec_push(&files, profile_get_function(v->from, id)->file);
	r = r ? r : dirs_scripts(v->from, &files, &scripts);
	vec_foreach(one, &scripts)
		if (!r && *one != file) {
			struct profile_function f = {.file = profile_copy_string(&v->copy, *one)};

			file = *one;
			(void)profile_function(v->to, &f);
		}
	vec_fini(&files);
	vec_fini(&scripts);
	return r ? err_set(r, "out of memory") : 0;
}

static int make(struct viewer *v)
{
	int r = select_init(&v->select, v->from, v->o);

	v->stacks = calloc(profile_n_stacks(v->from) + 1, sizeof(*v->stacks));
	v->parts = calloc(profile_n_locations(v->from) + 1, sizeof(*v->parts));
	v->names = render_names_new(v->from);
	if (!r && (!v->stacks || !v->parts || !v->names || !v->to))
		r = err_set(-ENOMEM, "out of memory");
	r = r ? r : profile_copy_init(&v->copy, v->from, v->to);
	r = r ? r : profile_copy_meta(v->from, v->to);
	r = r ? r : keep_scripts(v);
	cut_times(v);
	if (is_limited(v->o)) {
		profile_add_comment(v->to, COMMENTS_ENDED, "only a part of its time was kept");
		/*
		 * comments on CPU use are left out: they are about the whole time, not the part
		 * that is shown
		 */
		comments_remove(&profile_meta(v->to)->comments, cpu_use_is);
	}
	r = r ? r : profile_each(v->from, take_sample, v);
	if (!r && v->totals.all_samples && !v->timed && is_limited(v->o))
		r = err_of("part of the time", NULL, -EINVAL,
			   "the profile has no times (folded stacks never have times, and a "
			   "recording may be made without them)");
	select_fini(&v->select);
	profile_copy_fini(&v->copy);
	render_names_free(v->names);
	free(v->stacks);
	free(v->parts);
	return r;
}

int view_apply(struct profile **p, const struct view_options *o, struct view_totals *ret)
{
	struct viewer v = {.o = o,
			   .from = *p,
			   .to = profile_new(),
			   .reframed = view_reframes(o),
			   .part = part_of(*p, o->since_ns, o->until_ns),
			   .budget = o->invert ? INVERTED_BUDGET(profile_bytes(*p)) : SIZE_MAX};
	int r = make(&v);

	if (r) {
		profile_free(v.to);
		return r;
	}
	profile_free(*p);
	*p = v.to;
	if (ret)
		*ret = v.totals;
	return 0;
}
