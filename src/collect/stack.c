/* SPDX-License-Identifier: BSD-2-Clause */
/* Wire frames -> profile locations, once per distinct stack; marks where a stack isn't whole. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/internal.h"

const char *collect_outcome_words(unsigned outcome)
{
	static const char *const words[] = {
#define X(name, text) text,
		WALK_OUTCOMES(X)
#undef X
	};

	return outcome < WALK_OUTCOME_MAX ? words[outcome] : "";
}

static uint32_t mark(struct collect *c, const char *text)
{
	struct profile *p = c->profile;
	struct profile_function f = {.name = profile_string(p, text)};

	return profile_location(p, &(struct profile_location){.mapping = c->marks,
							      .function = profile_function(p, &f)});
}

/* The mark of a walk that didn't reach the thread's start. */
static uint32_t outcome_mark(struct collect *c, uint8_t outcome, const struct process *p)
{
	char text[192];

	switch (outcome) {
	case WALK_TRUNCATED:
		return mark(c, "[truncated]");
	case WALK_NO_PYTHON:
		return mark(c, "[no Python]");
	case WALK_UNSUPPORTED:
		snprintf(text, sizeof(text), "[unsupported: %s]", p->unsupported);
		return mark(c, text);
	}
	snprintf(text, sizeof(text), "[incomplete: %s]", collect_outcome_words(outcome));
	return mark(c, text);
}

static const struct py_code *find_code(const struct process *p, const struct wire_frame *f)
{
	uint64_t *i = map_get(&p->code_index, code_key(f->code, f->check));

	return i ? p->codes.v[*i - 1] : NULL;
}

static uint32_t code_location(struct collect *c, const struct process *p,
			      const struct py_code *code, int lasti)
{
	struct py_position pos = py_code_position(code, lasti);
	struct profile *prof = c->profile;
	struct profile_function f = {
		.name = profile_string(prof, code->name ? code->name : "[name not readable]"),
		.file = profile_string(prof, code->file ? code->file : ""),
		.start_line = code->firstlineno,
	};

	return profile_location(prof, &(struct profile_location){
					      .mapping = p->mapping,
					      .function = profile_function(prof, &f),
					      .line = pos.line,
					      .column = pos.col >= 0 ? pos.col + 1 : 0,
				      });
}

/* What was neither resident at first sight nor there for user space: the process has ended. */
static uint32_t missing_mark(struct collect *c, unsigned missing)
{
	return mark(c, missing & ~(1u << CODE_LINETABLE) ? "[incomplete: name not readable]"
							 : "[incomplete: line table not readable]");
}

uint32_t stack_name(struct collect *c, const struct raw_stack *raw, bool last)
{
	const struct process *p = &c->processes.v[raw->process];
	_cleanup_free_ uint32_t *loc = calloc(raw->n + 1, sizeof(*loc));
	unsigned missing = 0;
	size_t n = 0;

	if (!loc)
		return 0;
	for (size_t i = 0; i < raw->n; i++) {
		const struct py_code *code = find_code(p, &raw->frames[i]);

		if (!code && !last)
			return 0;
		if (code && code->internal)
			continue;
		missing |= code ? code->missing : 0;
		c->stats.lost_names += !code || code->missing;
		loc[n++] = code ? code_location(c, p, code, raw->frames[i].lasti)
				: mark(c, "[incomplete: code object lost]");
	}
	if (raw->outcome != WALK_OK)
		loc[n++] = outcome_mark(c, raw->outcome, p);
	else if (missing)
		loc[n++] = missing_mark(c, missing);
	return profile_stack(c->profile, loc, n);
}

uint32_t stack_mark_only(struct collect *c, uint8_t outcome, const struct process *p)
{
	uint32_t loc = outcome_mark(c, outcome, p);

	return profile_stack(c->profile, &loc, 1);
}
