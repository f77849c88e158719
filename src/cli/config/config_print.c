/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints a configuration in the form of a configuration file, with comments that say where each
 * setting was made.
 */
#include "cli/config/config.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text/str.h"
#include "base/text/visible.h"

/*
 * The column in which the comment begins that says where a setting was made. If the setting is too
 * long for that, the comment follows directly.
 */
#define ORIGIN_COLUMN 32

/* Tells whether the value must be quoted, so that it is read back unchanged. */
static bool needs_quotes(const char *value)
{
	size_t n = strlen(value);

	return !n || value[0] == '"' || strchr(" \t=#", value[0]) || strchr(" \t", value[n - 1]) ||
	       strstr(value, " #") || strstr(value, "\t#");
}

static void add_value(struct str *line, const char *value)
{
	if (!needs_quotes(value)) {
		str_addf(line, " %s", value);
		return;
	}
	str_add(line, " \"");
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			str_add_c(line, '\\');
		str_add_c(line, *value);
	}
	str_add_c(line, '"');
}

static void put(FILE *out, struct str *line, const char *origin, unsigned number)
{
	fprintf(out, "%-*s # %s", ORIGIN_COLUMN, str_cstr(line), origin);
	fprintf(out, number ? ":%u\n" : "\n", number);
}

static void print_setting(FILE *out, const struct config_setting *s)
{
	_cleanup_str_ struct str line = {};

	str_add(&line, s->row->name);
	if (s->value)
		add_value(&line, s->value);
	/* values of the command line may contain control characters; values of files can't */
	if (!s->file && line.s)
		visible_in_place(line.s);
	put(out, &line, s->file ?: "command line", s->line);
}

static void print_default(FILE *out, const struct option_row *row)
{
	_cleanup_str_ struct str line = {};

	str_addf(&line, "# %s: %s", row->name, row->initial);
	put(out, &line, "default", 0);
}

static bool is_last(const struct config *c, size_t i)
{
	for (size_t j = i + 1; j < c->settings.n; j++)
		if (c->settings.v[j].row == c->settings.v[i].row)
			return false;
	return true;
}

/* Prints those settings of @row that have an effect. Returns false if there are none. */
static bool print_row(const struct config *c, const struct option_row *row, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < c->settings.n; i++) {
		if (c->settings.v[i].row != row || (!value_adds(row->set) && !is_last(c, i)))
			continue;
		print_setting(out, &c->settings.v[i]);
		any = true;
	}
	return any;
}

void config_print(const struct config *c, FILE *out)
{
	vec_foreach(file, &c->files)
		fprintf(out, "# read: %s\n", *file);
	for (const struct option_row *row = c->command->rows; row->name; row++)
		if (row->set && row->in_file != OPTION_TYPED && !print_row(c, row, out) &&
		    row->initial)
			print_default(out, row);
}
