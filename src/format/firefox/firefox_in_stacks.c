/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the stacks of a Firefox profile; each is created when a sample first uses it. See
 * firefox_in_tables.h.
 */
#include "format/firefox/firefox_in_tables.h"

#include <errno.h>
#include "base/error.h"
#include "format/common/folded_frame.h"

static struct folded_text folded(const char *s)
{
	return s ? (struct folded_text){s, strlen(s)} : (struct folded_text){};
}

/* Returns the source file of a function. Where the file has it depends on the file's version. */
static const char *file_of(const struct ff_reader *r, int64_t func)
{
	const char *file = ff_string(r, ff_cell(r, FUNC_FILE, func));

	if (file)
		return file;
	return ff_string(r, ff_cell(r, SOURCE_FILE,
				    ff_flagged(r, FUNC_SOURCE, func, FUNC_FLAGS, FUNC_HAS_SOURCE)));
}

static int32_t resource_of(const struct ff_reader *r, int64_t func)
{
	return ff_flagged(r, FUNC_RESOURCE, func, FUNC_FLAGS, FUNC_HAS_RESOURCE);
}

static const char *lib_of(const struct ff_reader *r, int64_t frame, int64_t func)
{
	int32_t lib = ff_flagged(r, FRAME_LIB, frame, FRAME_FLAGS, FRAME_HAS_LIB);

	if (lib == FF_NONE)
		lib = ff_cell(r, RESOURCE_LIB, resource_of(r, func));
	return ff_text(&r->lib_paths, lib);
}

/*
 * Makes the location of a frame. Whether its code is Python, native or the kernel's is told by the
 * source file, the library, or the category's name.
 */
static struct profile_location make_location(struct ff_reader *r, int64_t frame)
{
	int32_t func = ff_cell(r, FRAME_FUNC, frame), line = ff_cell(r, FRAME_LINE, frame);
	struct folded_text name = folded(ff_string(r, ff_cell(r, FUNC_NAME, func)));
	struct folded_text file = folded(file_of(r, func)), lib = folded(lib_of(r, frame, func));
	const char *category = ff_text(&r->categories, ff_flagged(r, FRAME_CATEGORY, frame,
								  FRAME_FLAGS, FRAME_HAS_CATEGORY));
	struct folded_text place = file.n ? file : lib;
	struct profile_location l;
	struct folded_frame f;

	/* CPython's own profiler stores the source files of frozen modules as resources. */
	if (!place.n)
		place = folded(ff_string(r, ff_cell(r, RESOURCE_NAME, resource_of(r, func))));
	folded_frame_make(name, place, MAX(line, 0), &f);
	if (f.unnamed) {
		/*
		 * "[kernel+0x1234]" needs no library. For other addresses, the file's list of
		 * libraries has the path.
		 */
		if (lib.n && f.kind != KIND_KERNEL)
			f.mapping = lib;
	} else if (lib.n && f.kind != KIND_MARK) {
		f.file = file;
		f.mapping = lib;
	} else if (r->of_krait && category) {
		/*
		 * a frame without a library is Python's, or a mark such as "[truncated]", because
		 * krait writes a library for all other frames
		 */
		f.kind = streq(category, "Python") ? KIND_PYTHON : KIND_MARK;
		f.file = file;
		f.mapping = (struct folded_text){};
	} else if (f.kind == KIND_NATIVE && !f.mapping.n && category && streq(category, "Kernel")) {
		f.kind = KIND_KERNEL;
	}
	l = folded_frame_location(r->p, &f);
	viewer_in_set_start(r->p, &l, ff_cell(r, FUNC_LINE, func));
	l.column = line > 0 ? MAX(ff_cell(r, FRAME_COLUMN, frame), 0) : 0;
	return l;
}

/*
 * Makes room for index @i; new items are 0. The number of new items is subtracted from r->steps,
 * the work that may still be done.
 */
static int grow(struct ff_reader *r, void **v, size_t *n, size_t *cap, size_t size, size_t i)
{
	size_t more = i + 1 - MIN(*n, i + 1);

	if (!more)
		return 0;
	if (vec_grow(v, cap, i + 1, size))
		return VIEWER_NO_MEMORY;
	memset((char *)*v + *n * size, 0, more * size);
	*n = i + 1;
	r->steps -= MIN((uint64_t)more, r->steps);
	return 0;
}

#define GROW(r, vec, i)                                                                            \
	grow(r, (void **)&(vec)->v, &(vec)->n, &(vec)->cap, sizeof(*(vec)->v), (size_t)(i))

static int location_of(struct ff_reader *r, int32_t frame, uint32_t *ret)
{
	struct profile_location l;

	if (GROW(r, &r->locations, frame))
		return -ENOMEM;
	if (!r->locations.v[frame]) {
		l = make_location(r, frame);
		r->locations.v[frame] = profile_location(r->p, &l);
	}
	*ret = r->locations.v[frame];
	return viewer_in_check_memory(FF_FORMAT, r->at, "frameTable", r->p, 0, r->budget);
}

/*
 * Returns the row of the caller's stack. It is lower than @stack, so every chain of callers ends.
 */
static int32_t prefix_of(const struct ff_reader *r, int32_t stack)
{
	int32_t offset = ff_cell(r, STACK_OFFSET, stack), prefix = ff_cell(r, STACK_PREFIX, stack);

	if (offset > 0)
		prefix = offset <= stack ? stack - offset : stack;
	return prefix;
}

static bool is_made(const struct ff_reader *r, int32_t stack)
{
	return (size_t)stack < r->nodes.n && r->nodes.v[stack].node;
}

static int make_node(struct ff_reader *r, int32_t stack, const struct ff_node *caller)
{
	struct ff_node *made = &r->nodes.v[stack];
	uint32_t location = 0;
	int err = location_of(r, ff_cell(r, STACK_FRAME, stack), &location);

	if (!err && caller && caller->depth >= VIEWER_MAX_DEPTH)
		err = ff_bad(r->at, "stack", "more than 65536 frames in a stack");
	if (err)
		return err;
	made->node = profile_node(r->p, caller ? caller->node : 0, location);
	made->depth = caller ? caller->depth + 1 : 1;
	return made->node ? 0 : VIEWER_NO_MEMORY;
}

/* Makes the nodes that @stack and the stacks of its callers lack so far. */
static int make_path(struct ff_reader *r, int32_t stack)
{
	int32_t caller = stack;
	int err = 0;

	r->path.n = 0;
	for (; caller != FF_NONE && !is_made(r, caller); caller = prefix_of(r, caller))
		if (vec_push(&r->path, caller))
			return VIEWER_NO_MEMORY;
	while (!err && r->path.n) {
		int32_t next = r->path.v[--r->path.n];

		err = make_node(r, next, caller == FF_NONE ? NULL : &r->nodes.v[caller]);
		caller = next;
	}
	return err;
}

/*
 * Subtracts the number of the stack's frames from r->steps, the work that may still be done, once
 * for each thread. Refuses the file if no work is left.
 */
static int count_frames(struct ff_reader *r, struct ff_node *node)
{
	if (node->thread == r->thread)
		return 0;
	node->thread = r->thread;
	if (node->depth > r->steps)
		return ff_bad(r->at, "stack",
			      "the stacks are far deeper than those of a file of this size "
			      "should be");
	r->steps -= node->depth;
	return 0;
}

int ff_stack(struct ff_reader *r, int32_t stack, uint32_t *ret)
{
	struct ff_node *node;
	int err = 0;

	if (stack == FF_NONE) {
		*ret = profile_stack(r->p, NULL, 0);
		return *ret ? 0 : VIEWER_NO_MEMORY;
	}
	if (ff_cell(r, STACK_FRAME, stack) == FF_NONE) {
		r->n_no_stack++;
		*ret = 0;
		return 0;
	}
	err = GROW(r, &r->nodes, stack);
	err = err || is_made(r, stack) ? err : make_path(r, stack);
	if (err)
		return err;
	node = &r->nodes.v[stack];
	err = count_frames(r, node);
	if (!err && !node->stack)
		node->stack = profile_stack_at(r->p, node->node, node->depth);
	*ret = node->stack;
	return err ? err
		   : viewer_in_check_memory(FF_FORMAT, r->at, "stackTable", r->p,
					    r->nodes.n * sizeof(*node), r->budget);
}
