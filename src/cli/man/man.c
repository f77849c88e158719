/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait man`, which the build runs: reads the template of the manual page (man/krait.1.in) on
 * standard input, and replaces each line "@WORD@" by text from krait's tables.
 */
#include <stdlib.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/system/log.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/options/help.h"
#include "dump/facts/wait.h"
#include "format/format.h"
#include "host/rights.h"
#include "live/browse/browse.h"
#include "profile/mark.h"
#include "sampler/sources/event.h"

/*
 * Prints a text for roff. Options in it aren't hyphenated, and no line begins with a roff request.
 */
static void text(const char *s)
{
	if (*s == '.' || *s == '\'')
		fputs("\\&", stdout);
	for (; *s; s++) {
		if (*s == '-')
			fputs("\\-", stdout);
		else if (*s == '\\')
			fputs("\\e", stdout);
		else
			putchar(*s);
	}
}

static void item(const char *name, const char *meaning)
{
	fputs(".TP\n.B ", stdout);
	text(name);
	putchar('\n');
	text(meaning);
	putchar('\n');
}

static void option(const struct option_row *row)
{
	fputs(".TP\n", stdout);
	if (row->letter)
		printf("\\fB\\-%c\\fR, ", row->letter);
	fputs("\\fB\\-\\-", stdout);
	text(row->name);
	fputs("\\fR", stdout);
	if (row->arg) {
		fputs(" \\fI", stdout);
		text(row->arg);
		fputs("\\fR", stdout);
	}
	putchar('\n');
	text(row->help);
	if (row->initial) {
		fputs(" (default: ", stdout);
		text(row->initial);
		putchar(')');
	}
	fputs(".\n", stdout);
}

/* Calls @print for each command that isn't hidden, and then for its subcommands. */
static void each_command(const struct command *const *list, void (*print)(const struct command *c))
{
	for (const struct command *const *c = list; c && *c; c++) {
		if ((*c)->hidden)
			continue;
		print(*c);
		each_command((*c)->commands, print);
	}
}

static void print_synopsis(const struct command *c)
{
	for (const char *const *s = c->synopsis; !c->commands && *s; s++) {
		fputs(".B krait\n", stdout);
		text(*s);
		fputs("\n.br\n", stdout);
	}
}

static void synopsis(void)
{
	each_command(commands, print_synopsis);
}

static void print_options(const struct command *c)
{
	const char *group = NULL;

	printf(".SS krait %s\n", c->name);
	text(c->summary);
	putchar('\n');
	for (const struct option_row *row = c->rows; row->name; row++) {
		const char *before = group;

		if (help_group(row, &group) != before) {
			fputs(".PP\n.I ", stdout);
			text(group);
			putchar('\n');
		}
		option(row);
	}
}

static void options(void)
{
	each_command(commands, print_options);
}

static void print_examples(const struct command *c)
{
	for (const char *const *e = c->examples; e && *e; e++) {
		_cleanup_free_ char *line = strdup(*e);
		char *tab = line ? strchr(line, '\t') : NULL;

		if (!tab)
			continue;
		*tab = '\0';
		item(line, tab + 1);
	}
}

static void examples(void)
{
	each_command(commands, print_examples);
}

static void formats(void)
{
	for (size_t i = 0; i < render_n_formats; i++) {
		const struct render_format *f = &render_formats[i];
		_cleanup_str_ struct str meaning = {};

		for (const char *const *e = f->extensions; *e; e++)
			str_addf(&meaning, "%s%s", meaning.n ? ", " : "", *e);
		str_addf(&meaning, "; loses %s", f->loses);
		item(f->name, str_cstr(&meaning));
	}
}

static void event_list(void)
{
	for (const char *const *name = event_names(); *name; name++) {
		text(*name);
		fputs(name[1] ? ",\n" : ".\n", stdout);
	}
}

static void exit_codes(void)
{
#define X(name, code, words) item(#code, words);
	EXIT_CODES(X)
#undef X
}

/*
 * Prints the mark (a frame in brackets) of stacks whose reading ended with @outcome. Prints nothing
 * if the outcome has no mark of its own.
 */
static void mark_item(enum walk_outcome outcome)
{
	_cleanup_str_ struct str name = {}, meaning = {};

	if (outcome == WALK_OK || mark_of_walk(outcome) == MARK_INCOMPLETE)
		return;
	mark_add(&name, mark_of_walk(outcome), "NAME");
	str_addf(&meaning, "%s. %s", walk_words[outcome].words, walk_words[outcome].sentence);
	item(str_cstr(&name), str_cstr(&meaning));
}

static void reasons(const char *of, const struct mark_words *rows, size_t n)
{
	_cleanup_str_ struct str reason = {}, name = {};

	str_addf(&reason, "%sREASON", of);
	mark_add(&name, MARK_INCOMPLETE, str_cstr(&reason));
	item(str_cstr(&name), mark_rows[MARK_INCOMPLETE].sentence);
	fputs(".RS\n", stdout);
	for (size_t i = 0; i < n; i++)
		item(rows[i].words, rows[i].sentence);
	fputs(".RE\n", stdout);
}

/*
 * Prints the marks (frames in brackets) that mean anything else than how the reading of a stack
 * ended.
 */
static void other_marks(void)
{
	bool of_walk[MARK_MAX] = {[MARK_INCOMPLETE] = true};

	for (int i = WALK_OK + 1; i < WALK_OUTCOME_MAX; i++)
		of_walk[mark_of_walk(i)] = true;
	for (int i = 0; i < MARK_MAX; i++)
		if (!of_walk[i])
			item(mark_text(i), mark_rows[i].sentence);
}

static void outcomes(void)
{
	struct mark_words rows[WALK_OUTCOME_MAX + NAMING_OUTCOME_MAX];
	size_t n = 0;

	for (int i = 0; i < WALK_OUTCOME_MAX; i++) {
		mark_item(i);
		if (mark_of_walk(i) == MARK_INCOMPLETE)
			rows[n++] = walk_words[i];
	}
	for (int i = 0; i < NAMING_OUTCOME_MAX; i++)
		rows[n++] = naming_words[i];
	reasons("", rows, n);
	reasons(NATIVE_WORDS_OF, native_words + NATIVE_LATE, NATIVE_OUTCOME_MAX - NATIVE_LATE);
	fputs(".PP\nMarks that stand for something else:\n", stdout);
	other_marks();
}

static void capabilities(void)
{
#define X(cap, kind, why)                                                                          \
	item("CAP_" #cap, kind == RIGHT_NEEDED	  ? "needed: " why                                 \
			  : kind == RIGHT_GRANTED ? "given by --grant too: " why                   \
						  : "root only: " why);
	RIGHTS(X)
#undef X
}

static void top_keys(void)
{
	for (const struct browse_help *h = browse_help; h->keys; h++)
		item(h->keys, h->meaning);
}

static void top_columns(void)
{
	for (const struct table_column *c = table_columns; c->name; c++) {
		_cleanup_str_ struct str name = {}, meaning = {};

		if (!c->value)
			continue;
		str_addf(&name, "%s, %s", c->name, c->heading);
		str_addf(&meaning, "%s%s",
			 c->tables == TABLE_OF_CODE  ? "functions, lines, modules: "
			 : c->tables == TABLE_OF_WHO ? "threads, processes, labels: "
						     : "",
			 c->meaning);
		item(str_cstr(&name), str_cstr(&meaning));
	}
}

/*
 * Prints by what a kind of wait is recognized: by system calls and, for threads that are in no
 * system call, by kernel functions.
 */
static void wait_rules_of(enum wait_kind kind, struct str *ret)
{
	const char *before = "";

	for (const struct wait_rule *w = wait_rules; w->call_name || w->wchan; w++) {
		if (w->kind != kind)
			continue;
		str_addf(ret, "%s%s", before, w->call_name ? w->call_name : w->wchan);
		if (!w->call_name)
			str_add(ret, "* in the kernel");
		else if (w->wchan)
			str_addf(ret, " in %s*", w->wchan);
		else if (w->idle)
			str_add(ret, " without a descriptor");
		before = ", ";
	}
}

/*
 * Kinds of waits that the table of rules lacks, because the system call alone doesn't show them.
 * Each has its condition in words.
 */
static const char *const further_rules[WAIT_KIND_MAX] = {
	[WAIT_WORLD] = "as lock below, in a free-threaded build, if another thread has stopped "
		       "all others",
	[WAIT_SECTION] = "as lock below, in a free-threaded build, for the lock of an object",
	[WAIT_NET] = "as other below, if the descriptor is a socket",
	[WAIT_PIPE] = "as other below, if the descriptor is a pipe or a FIFO",
	[WAIT_FILE] = "as other below, if the descriptor is a file or a directory, or if the "
		      "thread can't be woken by a signal",
	[WAIT_LOOP] = "in recordings: poll, if the stack is that of an event loop that waits in "
		      "its selector",
	[WAIT_PAGE_FAULT] = "as other above, but in no system call",
};

static void waits(void)
{
	for (int kind = 0; kind < WAIT_KIND_MAX; kind++) {
		_cleanup_str_ struct str name = {}, rules = {};

		str_addf(&name, "%s, %s", wait_word(kind), wait_words(kind));
		wait_rules_of(kind, &rules);
		if (further_rules[kind])
			str_add(&rules, further_rules[kind]);
		item(str_cstr(&name), str_cstr(&rules));
	}
}

static void version(void)
{
	printf(".TH KRAIT 1 \"\" \"krait %s\" \"User Commands\"\n", KRAIT_VERSION);
}

static const struct {
	const char *word;
	void (*print)(void);
} parts[] = {
	{"@title@\n", version},	    {"@synopsis@\n", synopsis},		{"@options@\n", options},
	{"@examples@\n", examples}, {"@formats@\n", formats},		{"@events@\n", event_list},
	{"@topkeys@\n", top_keys},  {"@topcolumns@\n", top_columns},	{"@exit@\n", exit_codes},
	{"@outcomes@\n", outcomes}, {"@capabilities@\n", capabilities}, {"@waits@\n", waits},
};

static void line(const char *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (streq(s, parts[i].word)) {
			parts[i].print();
			return;
		}
	fputs(s, stdout);
}

static int run(const struct command *self, int argc, char **argv)
{
	_cleanup_free_ char *buf = NULL;
	struct operands operands;
	size_t size = 0;
	int r = options_read(self, argc, argv, NULL, &operands);

	if (r >= 0)
		return r;
	while (getline(&buf, &size, stdin) >= 0)
		line(buf);
	return fflush(stdout) ? EXIT_FAILED : EXIT_DONE;
}

static const struct option_row rows[] = {OPTION_HELP, {}};

const struct command command_man = {
	.name = "man",
	.summary = "Fill the template of the manual page on standard input; for the build.",
	.synopsis = (const char *const[]){"man < man/krait.1.in > krait.1", NULL},
	.rows = rows,
	.hidden = true,
	.run = run,
};
