/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the lines of configuration files; see config.h. */
#include "cli/config/config.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/text/str.h"
#include "base/text/visible.h"
#include "cli/advice.h"

/*
 * A line of a file: the file's name, the line's number, the option's name and value. The line "comm
 * a*" has the name "comm" and the value "a*".
 */
struct line {
	const char *file;
	unsigned number;
	char *name, *value; /* .value: NULL if the line has no value */
};

#define FAULT(c, line, fmt, ...)                                                                   \
	config_fault(c, "%s:%u: " fmt, (line)->file, (line)->number, ##__VA_ARGS__)

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static char *skip_blanks(char *s)
{
	while (is_blank(*s))
		s++;
	return s;
}

/* Removes the comment from line @s, and the blanks before the comment. */
static void cut_comment(char *s)
{
	char *end = s;

	for (char *p = s; *p && (*p != '#' || (p > s && !is_blank(p[-1]))); p++)
		if (!is_blank(*p))
			end = p + 1;
	*end = '\0';
}

/*
 * Removes the quotes from the value at @s, which begins with a quote. Returns false if the closing
 * quote is missing, or if anything but a comment follows it.
 */
static bool unquote(char *s)
{
	char *to = s, *from = s + 1;

	while (*from && *from != '"') {
		if (from[0] == '\\' && (from[1] == '"' || from[1] == '\\'))
			from++;
		*to++ = *from++;
	}
	if (!*from)
		return false;
	from = skip_blanks(from + 1);
	*to = '\0';
	return !*from || *from == '#';
}

/*
 * Splits a line into name and value. Returns false if the line is empty, or if a fault was added.
 */
static bool take_apart(struct config *c, struct line *l, char *text)
{
	l->name = skip_blanks(text);
	if (!*l->name || *l->name == '#')
		return false;
	l->value = l->name + strcspn(l->name, " \t=");
	if (*l->value) {
		char *after = skip_blanks(l->value);

		after = *after == '=' ? skip_blanks(after + 1) : after;
		*l->value = '\0';
		l->value = after;
	}
	if (*l->value == '"') {
		if (unquote(l->value))
			return true;
		FAULT(c, l, "the value has no \" at its end, or text follows it");
		return false;
	}
	cut_comment(l->value);
	l->value = *l->value ? l->value : NULL;
	return true;
}

/* Tells whether option @row may be set in a file. */
static bool is_for_files(const struct option_row *row)
{
	return row->set && row->in_file != OPTION_TYPED;
}

/*
 * Returns the option that the user most likely meant by @name; NULL: no option has a similar name.
 */
static const char *similar(const struct command *command, const char *name)
{
	VEC(const char *) known = {};
	const char *ret = NULL;
	int r = 0;

	for (const struct option_row *row = command->rows; row->name && !r; row++) {
		if (is_for_files(row) && row->letter && row->letter == name[0] && !name[1])
			ret = row->name;
		r = is_for_files(row) ? vec_push(&known, row->name) : 0;
	}
	if (!ret && !r && !vec_push(&known, NULL))
		ret = options_similar(name, known.v);
	vec_fini(&known);
	return ret;
}

static void add_unknown(struct config *c, const struct line *l)
{
	const char *name = l->name + strspn(l->name, "-"), *meant;

	for (const struct option_refusal *no = c->command->refused; no && no->name; no++)
		if (streq(no->name, name)) {
			FAULT(c, l, "%s: %s", name, no->why);
			return;
		}
	if (c->faults.n == CONFIG_FAULTS) {
		c->more_faults++;
		return;
	}
	meant = similar(c->command, name);
	if (meant && streq(meant, name))
		FAULT(c, l, "write '%s' without dashes", name);
	else if (meant)
		FAULT(c, l, "unknown option '%.64s'; did you mean '%s'?", l->name, meant);
	else
		FAULT(c, l, "unknown option '%.64s'; `krait %s --help` lists them", l->name,
		      c->command->name);
}

static const struct option_row *row_of(const struct config *c, const char *name)
{
	for (const struct option_row *row = c->command->rows; row->name; row++)
		if (streq(row->name, name))
			return row;
	return NULL;
}

static int set(struct config *c, const struct line *l, const struct option_row *row)
{
	int r = option_store(row, c->fields, l->value);

	if (r == -ENOMEM)
		return r;
	if (r)
		FAULT(c, l, "%s: %s", row->name, error_words());
	else if (vec_push(&c->settings, (struct config_setting){row, l->value, l->file, l->number}))
		return err_nomem();
	return 0;
}

static int take_line(struct config *c, struct line *l, char *text)
{
	const struct option_row *row;

	if (!take_apart(c, l, text))
		return 0;
	row = row_of(c, l->name);
	if (!row)
		add_unknown(c, l);
	else if (!is_for_files(row))
		FAULT(c, l, "'%s' is for the command line only", row->name);
	else if (row->arg && !l->value)
		FAULT(c, l, "%s needs a value: %s %s", row->name, row->name, row->arg);
	else if (!row->arg && l->value)
		FAULT(c, l, "%s takes no value", row->name);
	else
		return set(c, l, row);
	return 0;
}

/*
 * Tells whether the line, which has @n bytes and a NUL after them, is valid UTF-8 without control
 * characters.
 */
static bool is_text(const char *s, size_t n)
{
	const char *end = s + n;
	bool shown = true;

	while (s < end && shown) {
		if (*s == '\t')
			s++;
		else
			(void)visible_next(&s, &shown);
	}
	return shown;
}

static int read_lines(struct config *c, const char *file, char *text, size_t n)
{
	struct line l = {.file = file};
	char *end = text + n, *next;
	int r = 0;

	for (; !r && text < end; text = next) {
		char *newline = memchr(text, '\n', (size_t)(end - text)), *stop = newline ?: end;

		next = newline ? newline + 1 : end;
		stop -= stop > text && stop[-1] == '\r';
		*stop = '\0';
		l.number++;
		if (is_text(text, (size_t)(stop - text)))
			r = take_line(c, &l, text);
		else
			FAULT(c, &l,
			      "the line isn't text: it has bytes that aren't UTF-8, or characters "
			      "that can't be shown");
	}
	return r;
}

/* Returns a copy of @n bytes of @s that lives as long as @c; NULL: there is no memory. */
static char *keep(struct config *c, const char *s, size_t n)
{
	char *copy = malloc(n + 1);

	if (!copy || vec_push(&c->texts, copy)) {
		free(copy);
		return NULL;
	}
	memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

int config_read_text(struct config *c, const char *file, const char *text, size_t n)
{
	/* some editors put this mark at the beginning of UTF-8 files */
	static const char mark[] = "\xef\xbb\xbf";
	size_t skip = n >= 3 && !memcmp(text, mark, 3) ? 3 : 0;
	char *copy, *name;

	if (n > CONFIG_BYTES) {
		config_fault(c, "%s is too big: it may have %u KiB", file, CONFIG_BYTES >> 10);
		return 0;
	}
	copy = keep(c, text + skip, n - skip);
	name = copy ? keep(c, file, strlen(file)) : NULL;
	if (!name || vec_push(&c->files, (const char *)name))
		return err_nomem();
	return read_lines(c, name, copy, n - skip);
}
