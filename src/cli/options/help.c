/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the output of --help; see help.h. Lines stay within 80 columns, the usual width of a
 * terminal.
 */
#include "cli/options/help.h"

#include "base/text/str.h"

#define HELP_WIDTH  80
#define HELP_COLUMN 27

/* Prints @text in lines. The first continues at @column; the others are indented to @column. */
static void wrapped(FILE *out, const char *text, int column)
{
	int at = column;

	while (*text) {
		int n = strcspn(text, " ");

		if (at > column && at + 1 + n > HELP_WIDTH) {
			fprintf(out, "\n%*s", column, "");
			at = column;
		} else if (at > column) {
			fputc(' ', out);
			at++;
		}
		fprintf(out, "%.*s", n, text);
		at += n;
		text += n;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

/* Prints the name of an option or command, and its meaning, in two columns. */
static void entry(FILE *out, const char *name, const char *text)
{
	int n = fprintf(out, "  %s", name);

	if (n + 2 > HELP_COLUMN)
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	else
		fprintf(out, "%*s", HELP_COLUMN - n, "");
	wrapped(out, text, HELP_COLUMN);
}

const char *help_group(const struct option_row *row, const char **group)
{
	if (row->group)
		*group = row->group;
	return *group;
}

static void option(FILE *out, const struct option_row *row)
{
	_cleanup_str_ struct str name = {}, text = {};

	if (row->letter)
		str_addf(&name, "-%c, ", row->letter);
	else
		str_add(&name, "    ");
	str_addf(&name, "--%s%s%s", row->name, row->arg ? " " : "", row->arg ? row->arg : "");
	str_add(&text, row->help);
	if (row->initial)
		str_addf(&text, " (default: %s)", row->initial);
	entry(out, str_cstr(&name), str_cstr(&text));
}

static void examples(FILE *out, const struct command *c)
{
	if (!c->examples)
		return;
	fputs("\nExamples:\n", out);
	for (const char *const *e = c->examples; *e; e++) {
		int n = strcspn(*e, "\t");

		fprintf(out, "  %-44.*s %s\n", n, *e, *e + n + 1);
	}
}

void help_command(FILE *out, const struct command *c)
{
	const char *lead = "Usage:", *group = NULL;

	for (const char *const *s = c->synopsis; *s; s++, lead = "      ")
		fprintf(out, "%s krait %s\n", lead, *s);
	fputc('\n', out);
	wrapped(out, c->summary, 0);
	for (const struct option_row *row = c->rows; row->name; row++) {
		const char *before = group;

		if (help_group(row, &group) != before)
			fprintf(out, "\n%s:\n", group);
		option(out, row);
	}
	if (c->commands)
		fputs("\nCommands:\n", out);
	for (const struct command *const *sub = c->commands; sub && *sub; sub++)
		entry(out, (*sub)->name, (*sub)->summary);
	examples(out, c);
}

void help_overview(FILE *out)
{
	fputs("krait shows where Python programs spend their time, without touching them.\n\n"
	      "Usage: krait [COMMAND] [OPTIONS]\n\n"
	      "Commands:\n",
	      out);
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			entry(out, (*c)->name, (*c)->summary);
	fputs("\nWithout a command, options are those of `krait record`.\n", out);
	examples(out, commands[0]);
	fputs("\n`krait COMMAND --help` lists the options of a command, `krait --version` prints "
	      "the\n"
	      "version, `man krait` has it all.\n",
	      out);
}
