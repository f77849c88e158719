/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares stacks with the list of places at which threads wait without work. */
#include "collect/thread/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/str.h"

#define POLLS (WAIT_KIND_BIT(POLL) | WAIT_KIND_BIT(SLEEP))
#define ANY_WAIT                                                                                   \
	(WAIT_KIND_BIT(LOCK) | WAIT_KIND_BIT(SLEEP) | WAIT_KIND_BIT(POLL) | WAIT_KIND_BIT(PIPE) |  \
	 WAIT_KIND_BIT(NET) | WAIT_KIND_BIT(IO) | WAIT_KIND_BIT(CHILD) | WAIT_KIND_BIT(SIGNAL))

/*
 * How the places at which threads wait are numbered: a rule's index in the list + 1, then the
 * numbers of places without a rule.
 */
#define RULE_UVLOOP (PLACE_MAX_RULES + 1)
#define RULE_ADDED  (PLACE_MAX_RULES + 2)
_Static_assert(RULE_ADDED < UINT8_MAX, "a byte must hold a rule's number + 1");

/*
 * Functions that call accept() to wait for one certain peer. A thread that waits there isn't idle.
 */
static const char *const callers_of_accept[] = {"ftplib.ntransfercmd"};

static const char *last_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

/* Returns where the module's name ends in the path of its file: after "/x/a/b" in "/x/a/b.py". */
static size_t module_end(const char *file, size_t n)
{
	static const char package[] = "/__init__";
	const char *slash = memrchr(file, '/', n), *dot;

	dot = memchr(slash ? slash : file, '.', n - (size_t)((slash ? slash : file) - file));
	if (dot)
		n = (size_t)(dot - file);
	if (n > strlen(package) && !memcmp(file + n - strlen(package), package, strlen(package)))
		n -= strlen(package);
	return n;
}

/*
 * Is @file the source of the module @module[0..@n)? "/usr/lib/python3.11/a/b.py" is the source of
 * module a.b.
 */
static bool is_module(const char *module, size_t n, const char *file)
{
	static const char frozen[] = "<frozen ";
	size_t end;

	if (str_starts(file, frozen)) {
		file += strlen(frozen);
		return strlen(file) == n + 1 && !memcmp(file, module, n) && file[n] == '>';
	}
	end = module_end(file, strlen(file));
	if (end < n || (end > n && file[end - n - 1] != '/'))
		return false;
	for (size_t i = 0; i < n; i++)
		if (file[end - n + i] != (module[i] == '.' ? '/' : module[i]))
			return false;
	return true;
}

/* Does @file[0..@n) end with a folder of installed packages? */
static bool is_of_packages(const char *file, size_t n)
{
	static const char folder[] = "site-packages"; /* Debian's folder is dist-packages */
	size_t length = strlen(folder);

	return n >= length && (n == length || file[n - length - 1] == '/') &&
	       (!memcmp(file + n - length, folder, length) ||
		!memcmp(file + n - length, "dist-packages", length));
}

/*
 * Is @file one of the installed package @package[0..@n)? A folder elsewhere that has the package's
 * name may be a part of the program.
 */
static bool is_in_package(const char *package, size_t n, const char *file)
{
	for (const char *slash = strchr(file, '/'); slash; slash = strchr(slash + 1, '/'))
		if (!strncmp(slash + 1, package, n) && slash[1 + n] == '/' &&
		    is_of_packages(file, (size_t)(slash - file)))
			return true;
	return false;
}

bool place_names_function(const char *text, const char *file, const char *name)
{
	const char *dot = strrchr(text, '.'), *class;
	size_t n = strlen(name), n_class;

	if (!dot || !streq(dot + 1, last_of(name)))
		return false;
	if (is_module(text, (size_t)(dot - text), file))
		return true;
	class = memrchr(text, '.', (size_t)(dot - text));
	if (!class || !is_module(text, (size_t)(class - text), file))
		return false;
	/* up to 3.10 the function's name may lack its class */
	n_class = strlen(class + 1);
	return !strchr(name, '.') || (n >= n_class && streq(name + n - n_class, class + 1) &&
				      (n == n_class || name[n - n_class - 1] == '.'));
}

/* A stack that is being looked through, from its innermost frame outwards. */
struct walk {
	const struct profile *p;
	const uint32_t *frames;
	size_t n, i;
	/*
	 * file and name of the Python function at frame .i; NULL: the frame isn't a Python
	 * function's
	 */
	const char *file, *name;
	bool collects; /* a frame further in than .i is the garbage collector's */
};

static enum frame_kind kind_at(const struct walk *w, size_t i)
{
	const struct profile_location *l = profile_get_location(w->p, w->frames[i]);

	return profile_get_mapping(w->p, l->mapping)->kind;
}

static const struct profile_function *function_at(const struct walk *w, size_t i)
{
	uint32_t f = profile_get_location(w->p, w->frames[i])->function;

	return f ? profile_get_function(w->p, f) : NULL;
}

/* Goes on to the next Python function, beginning at frame .i. */
static void to_python(struct walk *w)
{
	const struct profile_function *f = NULL;

	for (; w->i < w->n && kind_at(w, w->i) != KIND_PYTHON; w->i++)
		w->collects |= kind_at(w, w->i) == KIND_GC;
	f = w->i < w->n ? function_at(w, w->i) : NULL;
	w->name = f ? profile_get_string(w->p, f->name) : NULL;
	w->file = f ? profile_get_string(w->p, f->file) : NULL;
}

static bool is_at(const struct walk *w, const char *text)
{
	return w->name && place_names_function(text, w->file, w->name);
}

static const char *way_at(const struct walk *w)
{
	for (const char *const *way = place_ways; w->name && *way; way++) {
		size_t n = strlen(*way) - 2;

		if (streq(*way + n, ".*") ? is_in_package(*way, n, w->file) : is_at(w, *way))
			return *way;
	}
	return NULL;
}

/* Is the function at .i executing the line that is @offset lines below its first line? */
static bool is_on_line(const struct walk *w, int offset)
{
	const struct profile_function *f = function_at(w, w->i);
	int line = profile_get_location(w->p, w->frames[w->i])->line;

	return f->start_line > 0 && line - f->start_line == offset;
}

/* Does the function at .i begin further down in its file than its caller does? */
static bool is_after_caller(const struct walk *w)
{
	const struct profile_function *f = function_at(w, w->i), *caller;
	struct walk outer = *w;

	outer.i++;
	to_python(&outer);
	if (!outer.name || !streq(outer.file, w->file))
		return false;
	caller = function_at(w, outer.i);
	return caller->start_line > 0 && f->start_line > caller->start_line;
}

/* Is the outermost Python function one in which a threading.Thread begins? */
static bool is_in_thread(const struct walk *w)
{
	struct walk root = *w;

	for (root.i = w->n; root.i-- > 0;)
		if (kind_at(w, root.i) == KIND_PYTHON)
			break;
	if (root.i >= w->n)
		return false;
	to_python(&root);
	return is_at(&root, "threading._bootstrap") || is_at(&root, "threading.__bootstrap");
}

/*
 * Does the caller of accept() wait for one certain server, as ftplib does, and not for any client?
 */
static bool is_awaited(struct walk w)
{
	w.i++;
	to_python(&w);
	for (size_t i = 0; i < ARRAY_SIZE(callers_of_accept); i++)
		if (is_at(&w, callers_of_accept[i]))
			return true;
	return false;
}

/*
 * Does the rule fit the stack? @w is at the innermost Python function that isn't in place_ways
 * (functions that are called in order to wait). @through: the function of place_ways that this
 * function calls directly; NULL: it calls no such function.
 */
static bool fits(const struct place_rule *r, const struct walk *w, const char *through)
{
	if (!is_at(w, r->at))
		return false;
	if (r->through && !streq(r->through, through ? through : ""))
		return false;
	if (r->line && !is_on_line(w, r->line))
		return false;
	if (r->after_caller && !is_after_caller(w))
		return false;
	if (r->in_thread && !is_in_thread(w))
		return false;
	return !streq(r->at, "socket.accept") || !is_awaited(*w);
}

static bool is_c_library(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return str_starts(name, "libc.so") || str_starts(name, "libc-") ||
	       str_starts(name, "libpthread") || str_starts(name, "ld-") || *name == '[';
}

/*
 * Does the innermost code, except code of the kernel and the C library, belong to uvloop? uvloop
 * runs its loop in C.
 */
static bool is_uvloop(const struct walk *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct profile_location *l = profile_get_location(w->p, w->frames[i]);
		const struct profile_mapping *m = profile_get_mapping(w->p, l->mapping);
		const char *path = profile_get_string(w->p, m->name);

		if (m->kind == KIND_KERNEL || (m->kind == KIND_NATIVE && is_c_library(path)))
			continue;
		return m->kind == KIND_NATIVE && strstr(path, "/uvloop/loop.");
	}
	return false;
}

/* Does the stack have one of the functions that the user named? */
static bool is_below(struct walk w, const struct place_names *more)
{
	if (!more || !more->n)
		return false;
	w.i = 0;
	for (to_python(&w); w.name; to_python(&w)) {
		for (size_t i = 0; i < more->n; i++)
			if (is_at(&w, more->v[i]))
				return true;
		w.i++;
	}
	return false;
}

uint8_t places_find(const struct profile *p, uint32_t stack, const struct place_names *more)
{
	struct walk w = {.p = p};
	const char *through = NULL, *way;

	w.frames = profile_get_stack(p, stack, &w.n);
	if (is_uvloop(&w))
		return RULE_UVLOOP;
	for (to_python(&w); (way = way_at(&w)); to_python(&w)) {
		through = way;
		w.i++;
	}
	for (size_t i = 0; w.name && !w.collects && place_rules[i].at; i++)
		if (fits(&place_rules[i], &w, through))
			return (uint8_t)(i + 1);
	return is_below(w, more) ? RULE_ADDED : PLACE_NO_RULE;
}

enum place places_kind(uint8_t rule, uint32_t state)
{
	if (rule == RULE_ADDED)
		return wait_state_is(state, ANY_WAIT) ? PLACE_IDLE : PLACE_OTHER;
	if (rule == RULE_UVLOOP)
		return wait_state_is(state, POLLS) ? PLACE_LOOP : PLACE_OTHER;
	if (!rule || !wait_state_is(state, place_rules[rule - 1].states))
		return PLACE_OTHER;
	return place_rules[rule - 1].place;
}

/* Makes room in .rules for stacks up to @stack. False: no memory, so no answers are kept. */
static bool make_room(struct places *s, uint32_t stack)
{
	size_t n = s->n ? s->n : 1024;
	uint8_t *rules;

	while (n <= stack)
		n *= 2;
	if (n == s->n)
		return true;
	rules = realloc(s->rules, n);
	if (!rules)
		return false;
	memset(rules + s->n, 0, n - s->n);
	s->rules = rules;
	s->n = n;
	return true;
}

enum place places_look(struct places *s, const struct profile *p, uint32_t stack, uint32_t state,
		       const struct place_names *more)
{
	uint8_t rule;

	if (!make_room(s, stack))
		return places_kind(places_find(p, stack, more), state);
	if (!s->rules[stack])
		s->rules[stack] = 1 + places_find(p, stack, more);
	rule = s->rules[stack] - 1;
	return places_kind(rule, state);
}

void places_forget(struct places *s)
{
	free(s->rules);
	*s = (struct places){};
}
