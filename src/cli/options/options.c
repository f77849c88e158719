/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses command lines with the option tables. getopt_long() isn't used, because it accepts
 * abbreviations (a new option could break old scripts), reorders argv, and prints its own messages.
 */
#include "cli/options/options.h"

#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/log.h"
#include "base/text/nearest.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "cli/advice.h"
#include "cli/exit.h"
#include "cli/options/help.h"

struct parser {
	const struct command *command;
	char **argv;
	int argc, next;
	option_met_fn met;
	void *ctx;
};

const char *options_similar(const char *typed, const char *const *words)
{
	const char *best = NULL;
	unsigned int best_distance = MIN(strlen(typed) / 3 + 1, 3u) + 1;

	for (; *words; words++) {
		unsigned int d = word_distance(typed, *words);

		/*
		 * If the user typed only the beginning of an option's name, that option is similar:
		 * "--duration" is similar to "--dur".
		 */
		if (strlen(typed) >= 3 && str_starts(*words, typed))
			d = 1;
		if (d < best_distance) {
			best = *words;
			best_distance = d;
		}
	}
	return best;
}

static const struct option_row *row_by_name(const struct command *c, const char *name, size_t n)
{
	for (const struct option_row *row = c->rows; row->name; row++)
		if (strlen(row->name) == n && memcmp(row->name, name, n) == 0)
			return row;
	return NULL;
}

static const struct option_row *row_by_letter(const struct command *c, char letter)
{
	for (const struct option_row *row = c->rows; row->name; row++)
		if (row->letter == letter)
			return row;
	return NULL;
}

/*
 * Lists the other commands that have option @name or, if @name is NULL, an option with letter
 * @letter. Returns false if there are none.
 */
static bool others_have(const struct command *c, const char *name, char letter, struct str *b)
{
	unsigned n = 0;

	for (const struct command *const *other = commands; *other; other++) {
		const struct option_row *row = *other == c || (*other)->hidden || (*other)->borrowed
						       ? NULL
					       : name ? row_by_name(*other, name, strlen(name))
						      : row_by_letter(*other, letter);

		if (!row)
			continue;
		str_addf(b, "%s%s", n++ ? ", " : "", (*other)->name);
		if (!name)
			str_addf(b, " (--%s)", row->name);
	}
	str_add(b, n == 1 ? " has it" : " have it");
	return n;
}

static int unknown_option(const struct command *c, const char *typed, size_t n)
{
	_cleanup_free_ char *name = strndup(typed, n);
	_cleanup_str_ struct str others = {};
	VEC(const char *) names = {};
	const char *similar;
	int r = 0;

	for (const struct option_refusal *no = c->refused; no && no->name; no++)
		if (name && streq(no->name, name))
			return err_set(-EINVAL, "--%s: %s", name, no->why);
	for (const struct option_row *row = c->rows; row->name && !r; row++)
		r = vec_push(&names, row->name);
	if (!r)
		r = vec_push(&names, NULL);
	similar = !r && name ? options_similar(name, names.v) : NULL;
	vec_fini(&names);
	if (name && others_have(c, name, 0, &others))
		return err_set(-EINVAL, "krait %s has no option --%s; %s", c->name, name,
			       str_cstr(&others));
	if (similar)
		return err_set(-EINVAL, "there is no option --%s; did you mean --%s?", name,
			       similar);
	return err_set(-EINVAL, "there is no option --%s; `krait %s --help` lists them",
		       name ? name : "", c->name);
}

int option_store(const struct option_row *row, void *fields, const char *value)
{
	int r = row->set((char *)fields + row->field, value);

	return r == -ENOMEM ? err_set(r, "out of memory") : r;
}

/* An option_met_fn that stores the option's value. @fields: the command's options. */
static int store_typed(void *fields, const struct option_row *row, const char *value)
{
	int r = option_store(row, fields, value);

	return r && r != -ENOMEM ? err_wrap(r, "--%s", row->name) : r;
}

/*
 * Handles an option: its value is @attached ("--name=value", "-nvalue") or, if that is NULL, the
 * next word.
 */
static int take(struct parser *p, const struct option_row *row, const char *attached)
{
	const char *value = attached;

	if (!row->set)
		return OPTIONS_HELP_ASKED;
	if (!row->arg && attached)
		return err_set(-EINVAL, "--%s takes no value", row->name);
	if (row->arg && !attached) {
		if (p->next >= p->argc || streq(p->argv[p->next], "--"))
			return err_set(-EINVAL, "--%s needs a value: --%s %s", row->name, row->name,
				       row->arg);
		value = p->argv[p->next++];
	}
	return p->met(p->ctx, row, value);
}

static int take_long(struct parser *p, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t n = equals ? (size_t)(equals - word) : strlen(word);
	const struct option_row *row = row_by_name(p->command, word, n);

	if (!row)
		return unknown_option(p->command, word, n);
	return take(p, row, equals ? equals + 1 : NULL);
}

static int take_letters(struct parser *p, const char *letters)
{
	_cleanup_str_ struct str others = {};

	while (*letters) {
		const struct option_row *row = row_by_letter(p->command, *letters);
		int r;

		if (!row && others_have(p->command, NULL, *letters, &others))
			return err_set(-EINVAL, "krait %s has no option -%c; %s", p->command->name,
				       *letters, str_cstr(&others));
		if (!row)
			return err_set(-EINVAL,
				       "there is no option -%c; `krait %s --help` lists them",
				       *letters, p->command->name);
		letters++;
		if (row->arg)
			return take(p, row, *letters ? letters : NULL);
		r = take(p, row, NULL);
		if (r)
			return r;
	}
	return 0;
}

#define SUGGESTED 600 /* how many bytes of the user's command line a message may repeat */

void options_add_command(struct str *b, const char *name, char **options, int n_options,
			 char **words, int n_words)
{
	str_addf(b, "krait %s", name);
	for (int i = 0; i < n_options; i++) {
		str_add_c(b, ' ');
		str_add_shell_word(b, options[i]);
	}
	str_addf(b, " -- %s", options_interpreter(words[0]));
	for (int i = 0; i < n_words; i++) {
		str_add(b, i ? " " : "");
		str_add_shell_word(b, words[i]);
	}
	if (!b->failed && b->n <= SUGGESTED && !strpbrk(str_cstr(b), "\n\r\t"))
		return;
	str_clear(b);
	str_addf(b, "krait %s ... -- %s", name, options_interpreter(words[0]));
	str_add_shell_word(b, words[0]);
	str_add(b, n_words > 1 ? " ..." : "");
}

/*
 * Sets the message about a word that isn't an option: the user forgot "--" before a command, or -p
 * before a process id.
 */
static int refuse_operand(const struct parser *p, const char *word)
{
	_cleanup_str_ struct str command = {};
	int at = p->next - 1;

	if (word[strspn(word, "0123456789")] == '\0')
		return err_set(-EINVAL,
			       "'%s' is no option; a process is named with -p: krait %s -p %s",
			       word, p->command->name, word);
	options_add_command(&command, p->command->name, p->argv, at, p->argv + at, p->argc - at);
	return err_set(-EINVAL, "'%s' is no option; to run a program write -- before it: %s", word,
		       str_cstr(&command));
}

static int take_operand(struct parser *p, char *word, struct operands *ret)
{
	const struct command *c = p->command;

	if (c->operand && ret->n < MAX(c->max_operands, 1u)) {
		ret->words[ret->n++] = word;
		ret->operand = ret->words[0];
		return 0;
	}
	if (c->takes_command)
		return refuse_operand(p, word);
	return err_set(-EINVAL, "'%s' is one word too many; `krait %s --help` shows what it takes",
		       word, c->name);
}

static int take_command(struct parser *p, struct operands *ret)
{
	if (!p->command->takes_command)
		return err_set(-EINVAL, "krait %s takes no command after --", p->command->name);
	if (p->next >= p->argc)
		return err_set(-EINVAL,
			       "no command follows --; write one: krait %s -- python app.py",
			       p->command->name);
	ret->cmd = p->argv + p->next;
	return 0;
}

int options_each(const struct command *c, int argc, char **argv, option_met_fn met, void *ctx,
		 struct operands *ret)
{
	struct parser p = {.command = c, .argv = argv, .argc = argc, .met = met, .ctx = ctx};
	int r = 0;

	*ret = (struct operands){.words = argv};
	while (!r && p.next < p.argc) {
		char *word = p.argv[p.next++];

		if (streq(word, "--"))
			return take_command(&p, ret);
		if (str_starts(word, "--"))
			r = take_long(&p, word + 2);
		else if (word[0] == '-' && word[1])
			r = take_letters(&p, word + 1);
		else
			r = take_operand(&p, word, ret);
	}
	return r;
}

int options_parse(const struct command *c, int argc, char **argv, void *fields,
		  struct operands *ret)
{
	return options_each(c, argc, argv, store_typed, fields, ret);
}

/* Tells whether @word is an option whose value is the next word of the command line. */
static bool value_follows(const struct command *c, const char *word)
{
	const struct option_row *row;

	if (str_starts(word, "--")) {
		row = row_by_name(c, word + 2, strcspn(word + 2, "="));
		return row && row->arg && !strchr(word, '=');
	}
	for (const char *letter = word + 1; *letter; letter++) {
		row = row_by_letter(c, *letter);
		if (row && row->arg)
			return !letter[1];
	}
	return false;
}

int options_leading(const struct command *c, int argc, char **argv)
{
	int i = 0;

	while (i < argc && argv[i][0] == '-' && argv[i][1] && !streq(argv[i], "--"))
		i += value_follows(c, argv[i]) ? 2 : 1;
	return MIN(i, argc);
}

int options_read(const struct command *c, int argc, char **argv, void *fields, struct operands *ret)
{
	int r = options_parse(c, argc, argv, fields, ret);

	if (r == OPTIONS_HELP_ASKED) {
		help_command(stdout, c);
		return EXIT_DONE;
	}
	if (r) {
		log_error("%s", error_words());
		return r == -ENOMEM ? EXIT_FAILED : EXIT_USAGE;
	}
	return -1;
}
