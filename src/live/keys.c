/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out what a sample counts for in the tables of live.c: its process and thread, whether the
 * filter shows it, which of its frames are shown, and the key of each frame's row. Each of these is
 * computed once, and kept in arrays that are indexed by the profile's ids.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "live/live.h"

/* Flag in a row's key: the code has no symbol. All such code of a file is one row. */
#define KEY_MAPPING (1ull << 63)

static enum live_gil gil_of(const char *state)
{
	if (streq(state, "held"))
		return LIVE_GIL_HELD;
	return streq(state, "unknown") ? LIVE_GIL_UNKNOWN : LIVE_GIL_OTHER;
}

/* Tells whether @word is one of the blank-separated words of @list. */
static bool is_among(const char *word, const char *list)
{
	size_t n = strlen(word);

	for (const char *at = list; n && (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ' '))
			return true;
	return false;
}

static enum live_state state_of(const char *word)
{
	static const char *const states[] = {
#define X(name, word, heading, meaning, states) states,
		LIVE_STATES(X)
#undef X
	};

	for (unsigned i = 0; i < LIVE_STATE_MAX; i++)
		if (is_among(word, states[i]))
			return i;
	return LIVE_STATE_OTHER;
}

static uint32_t text_of(struct live *l, uint32_t labels)
{
	const char *text = profile_label_text(l->p, labels, l->by);
	_cleanup_str_ struct str none = {};

	if (*text)
		return intern_put(&l->texts, text, strlen(text));
	profile_add_no_label(&none, l->by);
	return intern_put(&l->texts, str_cstr(&none), none.n);
}

static struct live_who read_who(struct live *l, uint32_t labels)
{
	struct live_who who = {.known = true};
	size_t n;
	const struct profile_label *v = profile_get_labels(l->p, labels, &n);

	for (size_t i = 0; i < n; i++) {
		if (v[i].key == l->key_pid)
			who.pid = v[i].value;
		else if (v[i].key == l->key_tid)
			who.tid = v[i].value;
		else if (v[i].key == l->key_gil)
			who.gil = gil_of(profile_get_string(l->p, v[i].value));
		else if (v[i].key == l->key_state)
			who.state = state_of(profile_get_string(l->p, v[i].value));
	}
	if (l->by)
		who.text = text_of(l, labels);
	l->several |= l->first_pid && who.pid != l->first_pid;
	l->first_pid = l->first_pid ?: who.pid;
	return who;
}

const struct live_who *live_who(struct live *l, uint32_t labels)
{
	static const struct live_who nobody;

	while (l->who.n <= labels)
		if (vec_push(&l->who, (struct live_who){}))
			return &nobody;
	if (!l->who.v[labels].known)
		l->who.v[labels] = read_who(l, labels);
	return &l->who.v[labels];
}

static bool filter_shows(struct live *l, const struct sums_key *s)
{
	size_t n = 0;
	const uint32_t *stack;

	if (!l->filter)
		return true;
	stack = s->stack ? profile_get_stack(l->p, s->stack, &n) : NULL;
	return l->select.labels[s->labels] && select_stack(&l->select, stack, n);
}

bool live_shows(struct live *l, const struct sums_key *s)
{
	const struct live_who *who = live_who(l, s->labels);

	return (!l->only.pid || who->pid == l->only.pid) &&
	       (!l->only.tid || who->tid == l->only.tid) &&
	       (!l->only.text || who->text == l->only.text) && filter_shows(l, s);
}

const struct render_names *live_names(struct live *l)
{
	size_t n = profile_n_functions(l->p);

	if (l->names && l->names_functions == n)
		return l->names;
	render_names_free(l->names);
	l->names = render_names_new(l->p);
	l->names_functions = n;
	return l->names;
}

const char *live_text(const struct live *l, uint64_t key)
{
	return key ? intern_get(&l->texts, (uint32_t)key, NULL) : "";
}

/* Returns the module of a location, as an id of .texts; 0: out of memory. */
static uint32_t module_of(struct live *l, uint32_t location)
{
	const struct render_names *names;
	_cleanup_str_ struct str b = {};

	while (l->modules.n <= location)
		if (vec_push(&l->modules, 0))
			return 0;
	if (l->modules.v[location])
		return l->modules.v[location];
	names = live_names(l);
	if (names)
		view_module(l->p, names, location, &b);
	return l->modules.v[location] = intern_put(&l->texts, str_cstr(&b), b.n);
}

uint64_t live_key(struct live *l, enum live_table table, uint32_t location)
{
	const struct profile_location *at = profile_get_location(l->p, location);

	if (table == LIVE_MODULES)
		return module_of(l, location);
	if (!at->function)
		return KEY_MAPPING | at->mapping;
	return table == LIVE_LINES ? (uint64_t)at->function << 32 | (uint32_t)at->line
				   : at->function;
}

/* Removes frames of hidden kinds from the stack in .scratch, unless it has no other frames. */
static void leave_out_kinds(struct live *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->scratch.n; i++) {
		uint32_t m = profile_get_location(l->p, l->scratch.v[i])->mapping;

		if (!l->hide[profile_get_mapping(l->p, m)->kind])
			l->scratch.v[kept++] = l->scratch.v[i];
	}
	if (kept)
		l->scratch.n = kept;
}

const uint32_t *live_stack(struct live *l, uint32_t stack, size_t *n)
{
	const uint32_t *loc;

	*n = 0;
	if (!stack)
		return NULL;
	loc = profile_get_stack(l->p, stack, n);
	l->scratch.n = 0;
	for (size_t i = 0; i < *n; i++)
		if ((!l->filter || select_frame(&l->select, loc[i])) &&
		    vec_push(&l->scratch, loc[i]))
			break;
	leave_out_kinds(l);
	*n = l->scratch.n;
	return l->scratch.v;
}

uint64_t live_new_key(struct condense *c, enum live_table table, uint64_t key)
{
	uint32_t high = (uint32_t)(key >> 32), low = (uint32_t)key;

	if (table == LIVE_THREADS)
		return (uint64_t)profile_copy_string(&c->rebase.copy, high) << 32 |
		       profile_copy_string(&c->rebase.copy, low);
	if (table == LIVE_PROCESSES)
		return profile_copy_string(&c->rebase.copy, low);
	if (table > LIVE_LINES)
		return 0;
	if (key & KEY_MAPPING)
		return KEY_MAPPING | profile_copy_mapping(&c->rebase.copy, low);
	return table == LIVE_LINES ? (uint64_t)condense_function(c, high) << 32 | low
				   : condense_function(c, low);
}
