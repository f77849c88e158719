/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes a recording so that it contains what py-spy shows; see py_spy.h. */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/vec.h"
#include "cli/py_spy/py_spy.h"
#include "marks.h"
#include "profile/remake/copy.h"

struct shape {
	const struct py_spy_options *o;
	struct profile *from, *to;
	struct profile_copy copy;
	struct render_names *names; /* names of the frames in .from */
	/* id, in .to, of the mapping of frames that consist of a text only */
	uint32_t mark;
	/*
	 * id of a location in .from -> id of the location that was made from it in .to; 0: none was
	 * made yet
	 */
	uint32_t *locations;
	int root; /* root directory of the process; -1: not known */
	uint64_t samples;
};

int py_spy_root(pid_t pid)
{
	char path[32] = "/";

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/root", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Tells whether a directory is a package. Its path is the first @n bytes of @path. */
static bool is_package(int root, const char *path, size_t n)
{
	char init[PATH_MAX];
	int length = snprintf(init, sizeof(init), "%.*s/__init__.py", (int)n, path);

	return length > 0 && (size_t)length < sizeof(init) && !faccessat(root, init, F_OK, 0);
}

/* Returns where the last component of a path begins. The path goes from @path to @end. */
static const char *name_before(const char *path, const char *end)
{
	while (end > path && end[-1] != '/')
		end--;
	return end;
}

/* Returns the part of @path that begins with the outermost package. */
static const char *from_package(const char *path, int root)
{
	const char *part = name_before(path, path + strlen(path));

	while (part > path + 1 && is_package(root, path + 1, (size_t)(part - path) - 2))
		part = name_before(path, part - 1);
	return part;
}

/*
 * Returns the last components of @path: as many as the module's name has, and one more if the file
 * is __init__.py.
 */
static const char *from_module(const char *path, const char *module)
{
	const char *part = path + strlen(path);
	size_t parts = 1 + (size_t)str_ends(path, "/__init__.py");

	for (const char *c = module; *c; c++)
		parts += *c == '.';
	while (part > path && (part[-1] != '/' || --parts))
		part--;
	return part;
}

const char *py_spy_file(const struct py_spy_options *o, const struct profile *p,
			const struct render_names *names, uint32_t function, int root)
{
	const char *path = profile_get_string(p, profile_get_function(p, function)->file);

	if (o->full_filenames || *path != '/')
		return path;
	return root >= 0 ? from_package(path, root)
			 : from_module(path, render_names_module(names, function));
}

static bool is_python(const struct profile *p, uint32_t location)
{
	return profile_get_mapping(p, profile_get_location(p, location)->mapping)->kind ==
	       KIND_PYTHON;
}

static int line_of(const struct shape *s, const struct profile_location *l)
{
	if (s->o->nolineno)
		return 0;
	if (s->o->function && l->function)
		return profile_get_function(s->from, l->function)->start_line;
	return l->line;
}

/* Makes a frame that consists of @text only, without line. */
static uint32_t text_frame(struct shape *s, const char *text)
{
	struct profile_function f = {.name = profile_string(s->to, text)};
	struct profile_location l = {.mapping = s->mark, .function = profile_function(s->to, &f)};

	return profile_location(s->to, &l);
}

/* Makes a frame of the raw format, which is a text such as "hot (app.py:5)". */
static uint32_t raw_frame(struct shape *s, uint32_t id)
{
	const struct profile_location *l = profile_get_location(s->from, id);
	_cleanup_str_ struct str text = {};
	const char *file;
	int line = line_of(s, l);

	if (!is_python(s->from, id) || !l->function) {
		render_names_frame(s->names, id, &text);
		return text_frame(s, str_cstr(&text));
	}
	file = py_spy_file(s->o, s->from, s->names, l->function, s->root);
	render_names_function(s->names, id, &text);
	if (*file && line)
		str_addf(&text, " (%s:%d)", file, line);
	else if (*file)
		str_addf(&text, " (%s)", file);
	return text_frame(s, str_cstr(&text));
}

static uint32_t plain_frame(struct shape *s, uint32_t id)
{
	struct profile_location l = *profile_get_location(s->from, id);

	if (is_python(s->from, id)) {
		l.line = line_of(s, &l);
		l.column = l.end_line = l.end_column = 0;
	}
	l.mapping = profile_copy_mapping(&s->copy, l.mapping);
	l.function = profile_copy_function(&s->copy, l.function);
	l.outer = 0;
	return profile_location(s->to, &l);
}

static uint32_t frame(struct shape *s, uint32_t id)
{
	uint32_t *to = &s->locations[id];

	if (!*to)
		*to = s->o->format == PY_SPY_RAW ? raw_frame(s, id) : plain_frame(s, id);
	return *to;
}

static uint32_t thread_frame(struct shape *s, uint32_t labels)
{
	const char *name = profile_label_text(s->from, labels, "thread");
	_cleanup_str_ struct str text = {};

	str_addf(&text, "thread (%s)", profile_label_text(s->from, labels, "tid"));
	if (*name)
		str_addf(&text, ": %s", name);
	return text_frame(s, str_cstr(&text));
}

static uint32_t process_frame(struct shape *s, uint32_t labels)
{
	_cleanup_str_ struct str text = {};

	str_addf(&text, "process %s:\"%s\"", profile_label_text(s->from, labels, "pid"),
		 profile_label_text(s->from, labels, "process"));
	return text_frame(s, str_cstr(&text));
}

/*
 * Tells whether py-spy shows the frame. py-spy shows no frames of the kernel and of the garbage
 * collector.
 */
static bool is_shown(const struct shape *s, uint32_t id)
{
	switch (profile_get_mapping(s->from, profile_get_location(s->from, id)->mapping)->kind) {
	case KIND_KERNEL:
	case KIND_GC:
		return false;
	case KIND_NATIVE:
	case KIND_JIT:
		return s->o->native;
	default:
		return true;
	}
}

static int take_sample(void *arg, const struct profile_sample *from)
{
	struct shape *s = arg;
	struct profile_sample to = *from;
	VEC(uint32_t) frames = {};
	bool python = false;
	size_t n;
	const uint32_t *stack = profile_get_stack(s->from, from->stack, &n);
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		python |= is_python(s->from, stack[i]);
		if (is_shown(s, stack[i]))
			r = vec_push(&frames, frame(s, stack[i]));
	}
	if (!r && python && s->o->threads)
		r = vec_push(&frames, thread_frame(s, from->labels));
	if (!r && python && s->o->subprocesses)
		r = vec_push(&frames, process_frame(s, from->labels));
	if (!r && python) {
		to.stack = profile_stack(s->to, frames.v, frames.n);
		to.labels = s->o->format == PY_SPY_RAW
				    ? 0
				    : profile_copy_labels(&s->copy, from->labels, NULL, 0);
		s->samples += (uint64_t)from->values[0];
		r = profile_add(s->to, &to);
	}
	vec_fini(&frames);
	return r || profile_failed(s->to) ? err_nomem() : 0;
}

static int make(struct shape *s)
{
	struct profile_mapping mark = {.kind = KIND_MARK};
	int r = profile_copy_init(&s->copy, s->from, s->to);

	mark.name = profile_string(s->to, MARK_MAPPING);
	s->mark = profile_mapping(s->to, &mark);
	s->names = render_names_new(s->from);
	s->locations = calloc(profile_n_locations(s->from) + 1, sizeof(*s->locations));
	if (!r && (!s->names || !s->locations))
		r = err_nomem();
	r = r ? r : profile_copy_meta(s->from, s->to);
	return r ? r : profile_each(s->from, take_sample, s);
}

int py_spy_shape(const struct py_spy_options *o, struct profile **p, uint64_t *ret)
{
	struct shape s = {.o = o, .from = *p, .to = profile_new(), .root = py_spy_root(o->pid)};
	int r = s.to ? make(&s) : err_nomem();

	cleanup_close(&s.root);
	free(s.locations);
	render_names_free(s.names);
	profile_copy_fini(&s.copy);
	profile_free(r ? s.to : *p);
	if (r)
		return r;
	*p = s.to;
	*ret = s.samples;
	return 0;
}
