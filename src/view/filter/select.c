/* SPDX-License-Identifier: BSD-2-Clause */
/* Matches the patterns of a view once with each frame and each label set; see select.h. */
#include "view/filter/select.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "view/filter/frame_names.h"
#include "view/names/frame.h"

static int match_frames(struct select *s)
{
	struct render_names *names = render_names_new(s->p);
	struct frame_names n = {};
	int r = names ? 0 : -ENOMEM;

	for (uint32_t id = 1; !r && id <= profile_n_locations(s->p); id++) {
		r = frame_names_of(&n, s->p, names, id);
		if (r)
			break;
		s->frames[id] =
			frame_names_match(&s->focus, &n) * FRAME_FOCUS |
			frame_names_match(&s->ignore, &n) * FRAME_IGNORE |
			frame_names_match(&s->hide, &n) * FRAME_HIDE |
			frame_names_match(&s->show, &n) * FRAME_SHOW |
			frame_names_match_module(&s->modules, str_cstr(&n.module)) * FRAME_MODULE;
	}
	frame_names_fini(&n);
	render_names_free(names);
	return r ? err_set(r, "out of memory") : 0;
}

static bool is_owner(const struct select *s, const struct patterns *p, uint32_t labels,
		     const char *name_key, const char *id_key)
{
	return !p->list.n || match_owner(s->p, p, labels, name_key, id_key);
}

static bool same_key(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return n == strcspn(b, "=") && !memcmp(a, b, n);
}

/*
 * Tells whether a label set matches the patterns for labels: for each key, one of the patterns for
 * that key must match.
 */
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

/*
 * Tells whether the state of a label set is among the states that are shown. The word "other" also
 * stands for all states "other: ...".
 */
static bool match_states(const struct select *s, uint32_t labels)
{
	const char *state = profile_label_text(s->p, labels, "state");

	vec_foreach(word, &s->o->states)
		if (streq(state, *word) || (streq(*word, "other") && str_starts(state, "other: ")))
			return true;
	return !s->o->states.n;
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
		s->labels[id] = is_owner(s, &s->processes, id, "process", "pid") &&
				is_owner(s, &s->threads, id, "thread", "tid") &&
				match_labels(s, id) && match_states(s, id) &&
				!(o->no_idle && streq(profile_label_text(p, id, "idle"), "yes"));
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

/*
 * Tells whether the innermost frame, or the innermost Python frame, is in one of the modules. So
 * native code that Python calls belongs to two modules: its own, and that of the Python code.
 */
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
