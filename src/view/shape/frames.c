/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers the frames of a profile; see frames.h. */
#include "view/shape/frames.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "view/names/names.h"

#define NO_MEMORY err_set(-ENOMEM, "out of memory for the frames")

int frames_text(const struct frames *f, uint32_t location, struct frame_text *t)
{
	const struct profile_location *l = profile_get_location(f->p, location);
	const struct profile_mapping *m = profile_get_mapping(f->p, l->mapping);
	const struct profile_function *fn =
		l->function ? profile_get_function(f->p, l->function) : NULL;

	str_clear(&t->name);
	render_names_function(f->names, location, &t->name);
	t->file = fn ? profile_get_string(f->p, fn->file) : "";
	if (!*t->file && m->kind != KIND_PYTHON && m->kind != KIND_MARK)
		t->file = profile_get_string(f->p, m->name);
	t->line = MAX(f->functions ? (fn ? fn->start_line : 0) : l->line, 0);
	return t->name.failed ? NO_MEMORY : 0;
}

static int add_keys(struct frames *f)
{
	_cleanup_str_ struct str key = {};
	struct frame_text t = {};
	int r = 0;

	for (uint32_t id = 1; id <= profile_n_locations(f->p) && !r; id++) {
		r = frames_text(f, id, &t);
		str_clear(&key);
		str_addf(&key, "%s\x01%s\x01%d", str_cstr(&t.name), t.file, t.line);
		if (!r && (key.failed || rank_add(&f->keys, key.s)))
			r = NO_MEMORY;
	}
	str_fini(&t.name);
	if (!r && rank_finish(&f->keys))
		r = NO_MEMORY;
	return r;
}

int frames_init(struct frames *f, struct profile *p, bool functions)
{
	int r;

	*f = (struct frames){.p = p, .functions = functions, .names = render_names_new(p)};
	r = f->names ? add_keys(f) : -ENOMEM;
	if (r)
		frames_fini(f);
	return r;
}

void frames_fini(struct frames *f)
{
	render_names_free(f->names);
	rank_fini(&f->keys);
	*f = (struct frames){};
}

uint32_t frames_of(const struct frames *f, uint32_t location)
{
	return f->keys.of[location - 1];
}

uint32_t frames_location(const struct frames *f, uint32_t frame)
{
	return f->keys.first[frame] + 1;
}

const char *frames_kind(enum frame_kind kind)
{
	static const char *const words[KIND_MAX] = {
		[KIND_PYTHON] = "Python", [KIND_NATIVE] = "native",	   [KIND_KERNEL] = "kernel",
		[KIND_JIT] = "JIT code",  [KIND_GC] = "garbage collector", [KIND_MARK] = "mark"};

	return words[kind];
}
