/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Combines configuration files with the command line, and remembers where each setting was made;
 * see config.h.
 */
#include "cli/config/config.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/advice.h"

void config_init(struct config *c, const struct command *command, void *fields)
{
	*c = (struct config){.command = command, .fields = fields};
}

void config_fini(struct config *c)
{
	vec_foreach(text, &c->texts)
		free(*text);
	vec_foreach(fault, &c->faults)
		free(*fault);
	vec_fini(&c->settings);
	vec_fini(&c->files);
	vec_fini(&c->faults);
	vec_fini(&c->texts);
	vec_fini(&c->argv);
}

void config_fault(struct config *c, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	if (c->faults.n == CONFIG_FAULTS) {
		c->more_faults++;
		return;
	}
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (text && !vec_push(&c->faults, text))
		return;
	free(text);
	c->more_faults++;
}

void config_say_faults(const struct config *c)
{
	vec_foreach(fault, &c->faults)
		log_error("%s", *fault);
	if (c->more_faults)
		log_error("... and %zu more faults", c->more_faults);
}

/* Returns the last setting of option @row; NULL: the option isn't set anywhere. */
static const struct config_setting *last_of(const struct config *c, const struct option_row *row)
{
	for (size_t i = c->settings.n; i--;)
		if (c->settings.v[i].row == row)
			return &c->settings.v[i];
	return NULL;
}

static void add_origin(const struct config_setting *s, struct str *ret)
{
	if (!s)
		str_add(ret, "default");
	else if (!s->file)
		str_add(ret, "command line");
	else
		str_addf(ret, "%s:%u", s->file, s->line);
}

void config_origin(const struct config *c, const struct option_row *row, struct str *ret)
{
	add_origin(last_of(c, row), ret);
}

/*
 * Tells whether @text mentions the option @name. For the name "rate", "--rate" is such a mention,
 * and "--rates" isn't.
 */
static bool names(const char *text, const char *name)
{
	size_t n = strlen(name);

	while ((text = strstr(text, "--"))) {
		text += 2;
		if (!strncmp(text, name, n) &&
		    (!text[n] || !strchr("-abcdefghijklmnopqrstuvwxyz", text[n])))
			return true;
	}
	return false;
}

int config_blame(struct config *c)
{
	_cleanup_free_ char *words = strdup(error_words());
	_cleanup_str_ struct str where = {};

	for (const struct option_row *row = c->command->rows; words && row->name; row++) {
		const struct config_setting *s = names(words, row->name) ? last_of(c, row) : NULL;

		if (!s)
			continue;
		str_addf(&where, "%s%s: ", where.n ? "; " : " (", row->name);
		add_origin(s, &where);
	}
	config_fault(c, "%s%s%s", words ?: "out of memory", str_cstr(&where), where.n ? ")" : "");
	return -EINVAL;
}

typedef VEC(struct config_setting) settings_vec;

static void settings_fini(settings_vec *v)
{
	vec_fini(v);
}

/*
 * An option_met_fn: remembers an option of the command line. This option is applied after the
 * options of the files.
 */
static int keep_typed(void *ctx, const struct option_row *row, const char *value)
{
	settings_vec *typed = ctx;

	if (vec_push(typed, (struct config_setting){.row = row, .value = value}))
		return err_nomem();
	return 0;
}

static int copy_argv(struct config *c, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (vec_push(&c->argv, argv[i]))
			return err_nomem();
	return vec_push(&c->argv, NULL) ? err_nomem() : 0;
}

/* Returns the value of --config on the command line; NULL: it isn't given. */
static const char *typed_path(const settings_vec *typed)
{
	const char *path = NULL;

	vec_foreach(s, typed)
		if (streq(s->row->name, "config"))
			path = s->value;
	return path;
}

static int apply_typed(struct config *c, const settings_vec *typed)
{
	vec_foreach(s, typed) {
		int r = option_store(s->row, c->fields, s->value);

		if (r == -ENOMEM)
			return r;
		if (r)
			config_fault(c, "--%s: %s", s->row->name, error_words());
		else if (vec_push(&c->settings, *s))
			return err_nomem();
	}
	return 0;
}

int config_load(struct config *c, const char *path, int argc, char **argv, struct operands *ret)
{
	_cleanup_(settings_fini) settings_vec typed = {};
	const char *other;
	int r = copy_argv(c, argc, argv);

	if (!r)
		r = options_each(c->command, argc, c->argv.v, keep_typed, &typed, ret);
	if (r == -ENOMEM || r == OPTIONS_HELP_ASKED)
		return r;
	if (r)
		config_fault(c, "%s", error_words());
	other = typed_path(&typed);
	r = config_read_files(c, other ?: path, other);
	if (!r)
		r = apply_typed(c, &typed);
	return r ? r : c->faults.n || c->more_faults ? -EINVAL : 0;
}

/* Tells whether option @row has the same settings in both configurations. */
static bool is_same(const struct config *a, const struct config *b, const struct option_row *row)
{
	size_t i = 0, j = 0;

	for (;; i++, j++) {
		while (i < a->settings.n && a->settings.v[i].row != row)
			i++;
		while (j < b->settings.n && b->settings.v[j].row != row)
			j++;
		if (i == a->settings.n || j == b->settings.n)
			return i == a->settings.n && j == b->settings.n;
		if (a->settings.v[i].value &&
		    !streq(a->settings.v[i].value, b->settings.v[j].value))
			return false;
	}
}

/* Tells whether the last setting of option @row is the same in both configurations. */
static bool is_same_last(const struct config *a, const struct config *b,
			 const struct option_row *row)
{
	const struct config_setting *x = last_of(a, row), *y = last_of(b, row);

	return !x || !y ? x == y : !x->value || streq(x->value, y->value);
}

void config_changes(const struct config *before, const struct config *after,
		    void (*met)(void *ctx, const struct option_row *row), void *ctx)
{
	for (const struct option_row *row = before->command->rows; row->name; row++) {
		bool same = value_adds(row->set) ? is_same(before, after, row)
						 : is_same_last(before, after, row);

		if (row->set && !same)
			met(ctx, row);
	}
}
