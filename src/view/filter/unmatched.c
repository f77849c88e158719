/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the patterns of a user that match nothing; see unmatched.h. */
#include "view/filter/unmatched.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/nearest.h"
#include "base/text/str.h"
#include "view/filter/frame_names.h"
#include "view/names/frame.h"

/* Which names a pattern is matched with. */
enum domain { OF_FRAMES, OF_MODULES, OF_PROCESSES, OF_THREADS, OF_LABELS, OF_KINDS };

struct unmatched_one {
	/*
	 * .choice: the member of struct view_options to which the user's pattern belongs ("hide");
	 * .text: the pattern; a pattern for a label begins with the label's key
	 */
	const char *choice, *text;
	enum domain of;
	struct patterns pattern; /* the pattern in .text, prepared for matching */
	enum frame_kind kind;
	bool found;
	struct nearest near;
};

static int add(struct unmatched *u, const char *choice, enum domain of, const char *text,
	       const char *pattern)
{
	struct unmatched_one one = {.choice = choice, .text = text, .of = of};
	int r = patterns_init(&one.pattern,
			      &(pattern_texts){.v = &pattern, .n = of != OF_KINDS, .cap = 1});

	if (r)
		return r;
	nearest_init(&one.near, pattern);
	if (vec_push(&u->list, one)) {
		patterns_fini(&one.pattern);
		return err_set(-ENOMEM, "out of memory");
	}
	return 0;
}

static int add_list(struct unmatched *u, const char *choice, enum domain of,
		    const pattern_texts *texts)
{
	int r = 0;

	vec_foreach(text, texts)
		r = r ? r
		      : add(u, choice, of, *text, of == OF_LABELS ? strchr(*text, '=') + 1 : *text);
	return r;
}

int unmatched_init(struct unmatched *u, const struct view_options *o)
{
	int r;

	*u = (struct unmatched){};
	r = add_list(u, "process", OF_PROCESSES, &o->processes);
	r = r ? r : add_list(u, "thread", OF_THREADS, &o->threads);
	r = r ? r : add_list(u, "module", OF_MODULES, &o->modules);
	r = r ? r : add_list(u, "label", OF_LABELS, &o->labels);
	r = r ? r : add_list(u, "focus", OF_FRAMES, &o->focus);
	r = r ? r : add_list(u, "ignore", OF_FRAMES, &o->ignore);
	r = r ? r : add_list(u, "hide", OF_FRAMES, &o->hide);
	r = r ? r : add_list(u, "show", OF_FRAMES, &o->show);
	for (int kind = 0; !r && kind < KIND_MAX; kind++) {
		if (!(o->kinds & 1u << kind))
			continue;
		r = add(u, "kind", OF_KINDS, view_kind_word(kind), view_kind_word(kind));
		if (!r)
			u->list.v[u->list.n - 1].kind = kind;
	}
	return r;
}

void unmatched_fini(struct unmatched *u)
{
	vec_foreach(one, &u->list) {
		patterns_fini(&one->pattern);
		nearest_fini(&one->near);
	}
	vec_fini(&u->list);
}

/* Adds a module, and the packages that contain it, to the names that the user may have meant. */
static void add_packages(struct nearest *near, const char *module)
{
	char part[512];

	for (const char *dot = strchr(module, '.'); dot; dot = strchr(dot + 1, '.')) {
		snprintf(part, sizeof(part), "%.*s", (int)(dot - module), module);
		nearest_add(near, part, part);
	}
	nearest_add(near, module, module);
}

static void add_file(struct nearest *near, const struct frame_names *n)
{
	_cleanup_str_ struct str file = {};

	str_add_n(&file, str_cstr(&n->file), n->file_n);
	nearest_add(near, str_cstr(&file), str_cstr(&file));
}

static void look_at_frame(struct unmatched_one *one, struct frame_names *n, enum frame_kind kind)
{
	const char *dotted = str_cstr(&n->dotted), *module = str_cstr(&n->module);

	if (one->of == OF_KINDS) {
		one->found |= one->kind == kind;
		nearest_add(&one->near, "", view_kind_word(kind));
	} else if (one->of == OF_MODULES) {
		one->found |= frame_names_match_module(&one->pattern, module);
		add_packages(&one->near, module);
	} else if (one->of == OF_FRAMES) {
		one->found |= frame_names_match(&one->pattern, n);
		nearest_add(&one->near, str_cstr(&n->function), dotted);
		nearest_add(&one->near, dotted, dotted);
		add_packages(&one->near, module);
		add_file(&one->near, n);
	}
}

static int look_at_frames(struct unmatched *u, struct profile *p)
{
	struct render_names *names = render_names_new(p);
	struct frame_names n = {};
	int r = names ? 0 : -ENOMEM;

	for (uint32_t id = 1; !r && id <= profile_n_locations(p); id++) {
		r = frame_names_of(&n, p, names, id);
		vec_foreach(one, &u->list)
			if (!r && !one->found)
				look_at_frame(
					one, &n,
					profile_get_mapping(p, profile_get_location(p, id)->mapping)
						->kind);
	}
	frame_names_fini(&n);
	render_names_free(names);
	return r ? err_set(r, "out of memory") : 0;
}

static void look_at_owner(struct unmatched_one *one, struct profile *p, uint32_t labels,
			  const char *name_key, const char *id_key)
{
	const char *name = profile_find_label(p, labels, name_key, strlen(name_key));
	const char *id = profile_find_label(p, labels, id_key, strlen(id_key));
	_cleanup_str_ struct str shown = {};

	one->found |= match_owner(p, &one->pattern, labels, name_key, id_key);
	if (!name && !id)
		return;
	str_add(&shown, name ? name : "");
	if (id)
		str_addf(&shown, "%s(%s %s)", shown.n ? " " : "", id_key, id);
	nearest_add(&one->near, name ? name : "", str_cstr(&shown));
}

static void look_at_label(struct unmatched_one *one, struct profile *p, uint32_t labels)
{
	size_t n = strcspn(one->text, "=");
	const char *value = profile_find_label(p, labels, one->text, n);
	_cleanup_str_ struct str shown = {};

	if (!value)
		return;
	one->found |= patterns_match(&one->pattern, value);
	str_add_n(&shown, one->text, n);
	str_addf(&shown, "=%s", value);
	nearest_add(&one->near, value, str_cstr(&shown));
}

static void look_at_labels(struct unmatched *u, struct profile *p)
{
	for (uint32_t id = 0; id <= profile_n_labels(p); id++)
		vec_foreach(one, &u->list) {
			if (one->found)
				continue;
			if (one->of == OF_PROCESSES)
				look_at_owner(one, p, id, "process", "pid");
			else if (one->of == OF_THREADS)
				look_at_owner(one, p, id, "thread", "tid");
			else if (one->of == OF_LABELS)
				look_at_label(one, p, id);
		}
}

int unmatched_look(struct unmatched *u, struct profile *p)
{
	if (!u->list.n || !profile_n_samples(p))
		return 0;
	u->any = true;
	look_at_labels(u, p);
	return look_at_frames(u, p);
}

bool unmatched_words(const struct unmatched *u, size_t i, struct str *b)
{
	const struct unmatched_one *one = &u->list.v[i];

	if (one->found || !u->any)
		return false;
	str_addf(b, "%s %s matches nothing", one->choice, one->text);
	nearest_words(&one->near, one->of != OF_FRAMES, b);
	return true;
}
