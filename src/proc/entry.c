/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose code does a server run? The package that its command line names is the user's code, even if
 * it is installed like any other package. The table lists the programs that take a package's name,
 * and by which argument.
 */
#include <ctype.h>
#include "base/vec.h"
#include "proc/entry.h"

/* flag: an argument has the name: MODULE:NAME, or only MODULE if no option comes before it */
#define OPERAND (1 << 0)
#define COLON	(1 << 1) /* flag: only MODULE:NAME is taken as a name */

/*
 * The programs, with the option whose value is the package's name: as a letter (-A) and as a word
 * (--app). '\0' and NULL: there is no such option.
 */
static const struct program {
	const char *name;
	unsigned operand;
	char letter;
	const char *word;
} programs[] = {
	{"gunicorn", OPERAND, '\0', NULL},  {"uvicorn", OPERAND, '\0', NULL},
	{"hypercorn", OPERAND, '\0', NULL}, {"daphne", OPERAND, '\0', NULL},
	{"granian", OPERAND, '\0', NULL},   {"waitress-serve", COLON, '\0', "app"},
	{"waitress", COLON, '\0', "app"},   {"uwsgi", 0, 'w', "module"},
	{"dramatiq", OPERAND, '\0', NULL},  {"arq", OPERAND, '\0', NULL},
	{"taskiq", COLON, '\0', NULL},	    {"huey_consumer", OPERAND, '\0', NULL},
	{"nameko", COLON, '\0', NULL},	    {"celery", 0, 'A', "app"},
	{"faust", 0, 'A', "app"},	    {"procrastinate", 0, 'a', "app"},
	{"flask", 0, 'A', "app"},	    {"django-admin", 0, '\0', NULL},
	{"django", 0, '\0', NULL},	    {"manage", 0, '\0', NULL},
};

/*
 * Options of servers that take no value. The argument after such an option may be the package's
 * name.
 */
static const char *const flags[] = {"--preload", "--reload",	 "-R",
				    "--daemon",	 "-D",		 "--debug",
				    "--factory", "--access-log", "--proxy-headers"};

static const struct program *program_of(const char *name)
{
	/* a title like "gunicorn: worker" has the program's name before the colon */
	size_t n = strcspn(name, ":");

	if (n > 3 && !strncmp(name + n - 3, ".py", 3))
		n -= 3;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (!strncmp(name, programs[i].name, n) && !programs[i].name[n])
			return &programs[i];
	return NULL;
}

bool proc_entry_is_told(const char *name)
{
	return program_of(name);
}

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns the length of the module name "a.b.c" at @s; 0: there is none. */
static size_t module_bytes(const char *s)
{
	size_t n = 0;

	while (is_letter(s[n]) && !isdigit((unsigned char)s[n])) {
		while (is_letter(s[n]))
			n++;
		if (s[n] != '.')
			return n;
		n++;
	}
	return 0;
}

/* Tells whether @text is a module's name, alone or followed by ":NAME" (which may be a call). */
static bool is_name(const char *text, bool needs_colon)
{
	size_t n = module_bytes(text);

	if (!n || str_ends(text, ".py"))
		return false;
	return text[n] == ':' ? is_letter(text[n + 1]) && !isdigit((unsigned char)text[n + 1])
			      : !text[n] && !needs_colon;
}

/*
 * The most bytes of the names of all packages together. This bounds the work, because each name is
 * compared with all earlier names. A server is given one or two names.
 */
#define MOST_BYTES 1024

/* Adds the package of "package.module:app" to @ret, unless @ret has it already. */
static void add(struct str *ret, const char *text)
{
	size_t n = strcspn(text, ".:(");
	const char *at = str_cstr(ret);

	if (ret->n + n >= MOST_BYTES)
		return;
	for (size_t k; *at; at += k + (at[k] == ' ')) {
		k = strcspn(at, " ");
		if (k == n && !strncmp(at, text, n))
			return;
	}
	if (ret->n)
		str_add_c(ret, ' ');
	str_add_n(ret, text, n);
}

static bool is_flag(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (streq(word, flags[i]))
			return true;
	return strchr(word, '=') != NULL;
}

/*
 * Returns the value of option @word: VALUE of "--WORD=VALUE", or the argument after "--WORD". NULL:
 * @arg isn't this option.
 */
static const char *value_of(const char *arg, const char *next, const char *word)
{
	size_t n = strlen(word);

	if (!str_starts(arg, "--") || strncmp(arg + 2, word, n))
		return NULL;
	return arg[2 + n] == '=' ? arg + 3 + n : !arg[2 + n] ? next : NULL;
}

static const char *option_value(const struct program *p, const char *arg, const char *next)
{
	const char *value = value_of(arg, next, "settings");

	if (!value && p->word)
		value = value_of(arg, next, p->word);
	if (!value && p->letter && arg[0] == '-' && arg[1] == p->letter)
		value = arg[2] ? arg + 2 : next;
	return value;
}

typedef VEC(const char *) words_t;

/*
 * Adds the packages that arguments of the command line name. @first: index of the first argument
 * after the program's own name.
 */
static void add_arguments(const struct program *p, const words_t *words, size_t first,
			  struct str *ret)
{
	const char *operand = NULL;

	for (size_t i = first; i < words->n; i++) {
		const char *arg = words->v[i], *next = i + 1 < words->n ? words->v[i + 1] : "";
		const char *value = option_value(p, arg, next), *before = words->v[i - 1];
		bool behind = i > first && before[0] == '-' && !is_flag(before);

		if (value && is_name(value, false))
			add(ret, value);
		if (!p->operand || value || arg[0] == '-' || str_starts(arg, "python:") ||
		    !is_name(arg, p->operand == COLON))
			continue;
		/* An argument after an option may be the option's value, unless it has a colon. */
		if (strchr(arg, ':') || (!behind && !operand))
			operand = arg;
	}
	if (operand)
		add(ret, operand);
}

/*
 * Adds the package that a title of setproctitle has in brackets: "gunicorn: worker [package.wsgi]".
 */
static bool add_title(const char *title, struct str *ret)
{
	const char *at = str_starts(title, "gunicorn: ") ? strchr(title, '[') : NULL;
	char name[128];

	if (!at)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 1, "]"), at + 1);
	if (is_name(name, false))
		add(ret, name);
	return true;
}

static bool is_called(const char *arg, const struct program *p)
{
	const char *slash = strrchr(arg, '/');

	return program_of(slash ? slash + 1 : arg) == p;
}

void proc_entry_from(const char *name, const char *cmdline, size_t n, struct str *ret)
{
	const struct program *p = program_of(name);
	_cleanup_str_ struct str copy = {};
	words_t words = {};
	size_t first = 0;
	int r = 0;

	str_add_n(&copy, cmdline, n);
	if (!p || copy.failed)
		return;
	for (size_t at = 0; at < n && !r; at += strlen(str_cstr(&copy) + at) + 1)
		r = vec_push(&words, (const char *)str_cstr(&copy) + at);
	if (!r && words.n && !add_title(words.v[0], ret)) {
		while (first < words.n && !is_called(words.v[first], p))
			first++;
		add_arguments(p, &words, first + 1, ret);
	}
	vec_fini(&words);
}

void proc_entry_from_environment(const char *name, const char *environment, size_t n,
				 struct str *ret)
{
	static const char *const variables[] = {"DJANGO_SETTINGS_MODULE=", "FLASK_APP="};
	_cleanup_str_ struct str copy = {};

	str_add_n(&copy, environment, n);
	if (copy.failed || !program_of(name))
		return;
	for (size_t at = 0; at < n; at += strlen(str_cstr(&copy) + at) + 1)
		for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
			const char *s = str_cstr(&copy) + at, *value = s + strlen(variables[i]);

			if (str_starts(s, variables[i]) && is_name(value, false))
				add(ret, value);
		}
}

const char *proc_entry_script(const char *name, const char *cmdline, size_t n)
{
	const struct program *p = program_of(name);

	if (!p || !streq(p->name, "manage"))
		return NULL;
	for (size_t at = 0; at < n; at += strnlen(cmdline + at, n - at) + 1)
		if (is_called(cmdline + at, p))
			return cmdline + at;
	return NULL;
}

void proc_entry_from_script(const char *text, struct str *ret)
{
	static const char variable[] = "DJANGO_SETTINGS_MODULE";

	while ((text = strstr(text, variable))) {
		size_t n;

		text += strlen(variable);
		text += strspn(text, "\"'], =\t\r\n\\");
		n = module_bytes(text);
		if (n && strchr("\"'", text[-1]) && text[n] == text[-1])
			add(ret, text);
	}
}
