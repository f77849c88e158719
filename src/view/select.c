/* SPDX-License-Identifier: BSD-2-Clause */
/* Matching frames and label sets, each once; see select.h. */
#include "view/select.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"
#include "render/render.h"

/* What a frame can be called, each a whole text for patterns. */
struct names {
	struct str function, dotted, frame, module, file, path; /* file, path: with ":LINE" */
	size_t file_n, path_n;					/* without it */
};

static void names_fini(struct names *n)
{
	str_fini(&n->function);
	str_fini(&n->dotted);
	str_fini(&n->frame);
	str_fini(&n->module);
	str_fini(&n->file);
	str_fini(&n->path);
}

static size_t add_line(struct str *b, const char *file, int32_t line)
{
	str_clear(b);
	str_add(b, file);
	if (b->n && line > 0) {
		size_t n = b->n;

		str_addf(b, ":%d", line);
		return n;
	}
	return b->n;
}

static int name_frame(struct names *n, struct profile *p, const struct render_names *names,
		      uint32_t id)
{
	const struct profile_location *l = profile_get_location(p, id);
	const char *file = l->function ? render_names_file(names, l->function) : "", *path = "";

	if (l->function)
		path = profile_get_string(p, profile_get_function(p, l->function)->file);
	str_clear(&n->function);
	str_clear(&n->dotted);
	str_clear(&n->frame);
	str_clear(&n->module);
	render_names_function(names, id, &n->function);
	view_dotted(p, names, id, &n->dotted);
	render_names_frame(names, id, &n->frame);
	view_module(p, names, id, &n->module);
	n->file_n = add_line(&n->file, file, l->line);
	n->path_n = add_line(&n->path, path, l->line);
	return n->function.failed || n->dotted.failed || n->frame.failed || n->module.failed ||
			       n->file.failed || n->path.failed
		       ? -ENOMEM
		       : 0;
}

/* "a/b.py:12" and "a/b.py", one after the other. */
static bool match_file(const struct patterns *p, struct str *s, size_t n)
{
	char end;
	bool found;

	if (!n)
		return false;
	if (patterns_match_name(p, s->s))
		return true;
	end = s->s[n];
	s->s[n] = '\0';
	found = patterns_match_name(p, s->s);
	s->s[n] = end;
	return found;
}

/* "json" is also what is below it: "json.decoder". */
static bool match_module(const struct patterns *p, const char *module)
{
	char part[512];

	if (patterns_match(p, module))
		return true;
	for (const char *dot = strchr(module, '.'); dot; dot = strchr(dot + 1, '.')) {
		snprintf(part, sizeof(part), "%.*s", (int)(dot - module), module);
		if (patterns_match_name(p, part))
			return true;
	}
	return false;
}

static bool match_frame(const struct patterns *p, struct names *n)
{
	if (!p->list.n)
		return false;
	return patterns_match_name(p, str_cstr(&n->function)) ||
	       patterns_match_name(p, str_cstr(&n->dotted)) ||
	       patterns_match_name(p, str_cstr(&n->frame)) ||
	       patterns_match_name(p, str_cstr(&n->module)) || match_file(p, &n->file, n->file_n) ||
	       match_file(p, &n->path, n->path_n) || patterns_match_regex(p, str_cstr(&n->frame)) ||
	       patterns_match_regex(p, str_cstr(&n->dotted));
}

static int match_frames(struct select *s)
{
	struct render_names *names = render_names_new(s->p);
	struct names n = {};
	int r = names ? 0 : -ENOMEM;

	for (uint32_t id = 1; !r && id <= profile_n_locations(s->p); id++) {
		r = name_frame(&n, s->p, names, id);
		if (r)
			break;
		s->frames[id] = match_frame(&s->focus, &n) * FRAME_FOCUS |
				match_frame(&s->ignore, &n) * FRAME_IGNORE |
				match_frame(&s->hide, &n) * FRAME_HIDE |
				match_frame(&s->show, &n) * FRAME_SHOW |
				match_module(&s->modules, str_cstr(&n.module)) * FRAME_MODULE;
	}
	names_fini(&n);
	render_names_free(names);
	return r ? err_set(r, "out of memory") : 0;
}

/* A process or a thread, by its name, its number, or both as root frames have them. */
static bool match_owner(const struct select *s, const struct patterns *p, uint32_t labels,
			const char *name_key, const char *id_key)
{
	const char *name = profile_find_label(s->p, labels, name_key, strlen(name_key));
	const char *id = profile_find_label(s->p, labels, id_key, strlen(id_key));
	_cleanup_str_ struct str both = {};

	if (!p->list.n || (name && patterns_match(p, name)) || (id && patterns_match(p, id)))
		return true;
	str_addf(&both, "%s (%s %s)", name ? name : "", id_key, id ? id : "");
	return name && id && patterns_match(p, str_cstr(&both));
}

static bool same_key(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return n == strcspn(b, "=") && !memcmp(a, b, n);
}

/* Of the patterns for one key one must match, and so for each key. */
static bool match_labels(const struct select *s, uint32_t labels)
{
	for (size_t i = 0; i < s->o->labels.n; i++) {
		const char *text = s->o->labels.v[i], *value;
		bool found = false;

		value = profile_find_label(s->p, labels, text, strcspn(text, "="));
		for (size_t j = 0; value && j < s->o->labels.n && !found; j++)
			found = same_key(text, s->o->labels.v[j]) &&
				patterns_match(&s->label_patterns[j], value);
		if (!found)
			return false;
	}
	return true;
}

static int init_label_patterns(struct select *s)
{
	size_t n = s->o->labels.n;
	int r = 0;

	s->label_patterns = calloc(n + 1, sizeof(*s->label_patterns));
	if (!s->label_patterns)
		return err_set(-ENOMEM, "out of memory");
	for (size_t i = 0; i < n && !r; i++) {
		const char *value = strchr(s->o->labels.v[i], '=') + 1;

		r = patterns_init(&s->label_patterns[i],
				  &(pattern_texts){.v = &value, .n = 1, .cap = 1});
	}
	return r;
}

int select_init(struct select *s, struct profile *p, const struct view_options *o)
{
	int r;

	*s = (struct select){.o = o, .p = p};
	s->frames = calloc(profile_n_locations(p) + 1, sizeof(*s->frames));
	s->labels = calloc(profile_n_labels(p) + 1, sizeof(*s->labels));
	if (!s->frames || !s->labels)
		return err_set(-ENOMEM, "out of memory");
	r = patterns_init(&s->processes, &o->processes);
	r = r ? r : patterns_init(&s->threads, &o->threads);
	r = r ? r : patterns_init(&s->modules, &o->modules);
	r = r ? r : patterns_init(&s->focus, &o->focus);
	r = r ? r : patterns_init(&s->ignore, &o->ignore);
	r = r ? r : patterns_init(&s->hide, &o->hide);
	r = r ? r : patterns_init(&s->show, &o->show);
	r = r ? r : init_label_patterns(s);
	if (r)
		return r;
	for (uint32_t id = 0; id <= profile_n_labels(p); id++)
		s->labels[id] = match_owner(s, &s->processes, id, "process", "pid") &&
				match_owner(s, &s->threads, id, "thread", "tid") &&
				match_labels(s, id);
	return match_frames(s);
}

void select_fini(struct select *s)
{
	patterns_fini(&s->processes);
	patterns_fini(&s->threads);
	patterns_fini(&s->modules);
	patterns_fini(&s->focus);
	patterns_fini(&s->ignore);
	patterns_fini(&s->hide);
	patterns_fini(&s->show);
	for (size_t i = 0; s->label_patterns && i < s->o->labels.n; i++)
		patterns_fini(&s->label_patterns[i]);
	free(s->label_patterns);
	free(s->frames);
	free(s->labels);
}

static bool any(const struct select *s, const uint32_t *stack, size_t n, uint8_t bit)
{
	for (size_t i = 0; i < n; i++)
		if (s->frames[stack[i]] & bit)
			return true;
	return false;
}

/* Native code that Python called is taken as that module's too. */
static bool in_modules(const struct select *s, const uint32_t *stack, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct profile_location *l = profile_get_location(s->p, stack[i]);

		if (profile_get_mapping(s->p, l->mapping)->kind == KIND_PYTHON)
			return s->frames[stack[i]] & FRAME_MODULE;
		if (i == 0 && s->frames[stack[i]] & FRAME_MODULE)
			return true;
	}
	return false;
}

bool select_stack(const struct select *s, const uint32_t *stack, size_t n)
{
	if (s->o->kinds && (!n || !(s->o->kinds & 1u << view_stack_kind(s->p, stack, n, false))))
		return false;
	if (s->o->modules.n && !in_modules(s, stack, n))
		return false;
	return !(s->o->focus.n && !any(s, stack, n, FRAME_FOCUS)) &&
	       !(s->o->ignore.n && any(s, stack, n, FRAME_IGNORE));
}

bool select_frame(const struct select *s, uint32_t location)
{
	uint8_t bits = s->frames[location];

	return !(bits & FRAME_HIDE) && (!s->o->show.n || bits & FRAME_SHOW);
}
