/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds what people call a process: the script or the module, not the interpreter that runs it.
 * Parses CPython's command line (Modules/main.c, Python/initconfig.c: options of one letter that
 * may be run together; -c, -m, -W, -X, -Q and --check-hash-based-pycs take a value).
 */
#include "proc/proc.h"

#include <ctype.h>

/* The arguments of a process: NUL-separated; the last one may lack its NUL. */
struct args {
	const char *p, *end;
};

struct arg {
	const char *s;
	size_t n;
};

static bool next_arg(struct args *a, struct arg *ret)
{
	size_t left = (size_t)(a->end - a->p);

	if (!left)
		return false;
	ret->s = a->p;
	ret->n = strnlen(a->p, left);
	a->p += MIN(ret->n + 1, left);
	return true;
}

static struct arg base_name(struct arg a)
{
	const char *slash;

	while (a.n > 1 && a.s[a.n - 1] == '/')
		a.n--;
	slash = memrchr(a.s, '/', a.n);
	if (slash && slash + 1 < a.s + a.n) {
		a.n -= (size_t)(slash + 1 - a.s);
		a.s = slash + 1;
	}
	return a;
}

static bool arg_is(struct arg a, const char *s)
{
	return a.n == strlen(s) && !memcmp(a.s, s, a.n);
}

/*
 * Is the argument the name of an interpreter: "python", "python3.13t", "python3-dbg", "pypy3", or a
 * login shell's "-python3"?
 */
static bool is_interpreter(struct arg a)
{
	a = base_name(a);
	if (a.n && a.s[0] == '-') {
		a.s++;
		a.n--;
	}
	if (a.n >= 6 && !memcmp(a.s, "python", 6))
		a.s += 6, a.n -= 6;
	else if (a.n >= 4 && !memcmp(a.s, "pypy", 4))
		a.s += 4, a.n -= 4;
	else
		return false;
	while (a.n && (isdigit((unsigned char)*a.s) || *a.s == '.'))
		a.s++, a.n--;
	/*
	 * Skips what an interpreter's name may end in: "3.13t", "3.8m", "3.6dm", "-dbg", "-debug",
	 * "-intel64" or " (deleted)".
	 */
	while (a.n && strchr("tdmu", *a.s))
		a.s++, a.n--;
	return !a.n || *a.s == '-' || *a.s == ' ';
}

static void add_clean(struct str *ret, struct arg a)
{
	for (size_t i = 0; i < a.n; i++)
		str_add_c(ret, iscntrl((unsigned char)a.s[i]) ? '?' : a.s[i]);
}

/* Adds a script's name; for "dir/__main__.py" it is the directory's name, otherwise the file's. */
static void add_script(struct str *ret, struct arg script)
{
	struct arg base = base_name(script);

	if (arg_is(base, "__main__.py") && base.s > script.s + 1) {
		struct arg dir = base_name((struct arg){script.s, (size_t)(base.s - script.s) - 1});

		if (dir.n && dir.s[0] != '/')
			base = dir;
	}
	add_clean(ret, base);
}

/*
 * Adds the whole title that mod_wsgi sets: "(wsgi:shop)" or "(wsgi:host:port:uid)". The title was
 * padded with blanks or cut, to have the length of the old arguments.
 */
static bool add_parenthesized(struct str *ret, struct arg a)
{
	while (a.n && a.s[a.n - 1] == ' ')
		a.n--;
	if (!a.n || a.s[0] != '(')
		return false;
	a.s++, a.n--;
	if (a.n && a.s[a.n - 1] == ')')
		a.n--;
	else if (!memchr(a.s, ':', a.n) || memchr(a.s, '/', a.n))
		return false;
	if (!a.n)
		return false;
	add_clean(ret, a);
	return true;
}

/*
 * Adds the name in a title that setproctitle wrote over the arguments: "gunicorn: worker [app]",
 * "[celeryd: celery@host]".
 */
static bool add_title(struct str *ret, struct arg a)
{
	size_t n;

	if (add_parenthesized(ret, a))
		return true;
	if (a.n && a.s[0] == '[')
		a.s++, a.n--;
	for (n = 0; n < a.n && !strchr(": ]", a.s[n]);)
		n++;
	if (n == a.n || !n || memchr(a.s, '/', n))
		return false;
	add_clean(ret, (struct arg){a.s, n});
	return true;
}

static bool takes_value(char option)
{
	return option && strchr("cmWXQ", option);
}

/*
 * Sets *ret to an option's value: the rest of its word or, if the word has no more, the next
 * argument.
 */
static bool value_of(struct args *a, struct arg word, size_t at, struct arg *ret)
{
	if (at < word.n) {
		*ret = (struct arg){word.s + at, word.n - at};
		return true;
	}
	return next_arg(a, ret);
}

/*
 * Reads one word of options. Returns 'c' or 'm' if this option decides what runs (@ret: the
 * option's value), 0 if the next word has to be read, '?' if the command line breaks off.
 */
static char read_option(struct args *a, struct arg word, struct arg *ret)
{
	if (word.s[1] == '-') {
		/* --jit is PyPy's */
		if (arg_is(word, "--check-hash-based-pycs") || arg_is(word, "--jit"))
			return next_arg(a, ret) ? 0 : '?';
		return 0;
	}
	for (size_t i = 1; i < word.n; i++) {
		char o = word.s[i];

		if (!takes_value(o))
			continue;
		if (!value_of(a, word, i + 1, ret))
			return '?';
		return o == 'c' || o == 'm' ? o : 0;
	}
	return 0;
}

/*
 * Adds the module of a command that multiprocessing runs: "from multiprocessing.spawn import
 * spawn_main; ..." (Lib/multiprocessing, get_command_line() and others, 3.4+). The module tells
 * whether the process is a worker, the fork server or the resource tracker. In the last 3.13
 * releases and in 3.14 the command of the fork server imports sys first.
 */
static bool add_multiprocessing(struct str *ret, struct arg command)
{
	static const char begin[] = "from multiprocessing.", first[] = "import sys; ";
	size_t from = strlen("from ");
	const char *end;

	if (command.n > strlen(first) && !memcmp(command.s, first, strlen(first))) {
		command.s += strlen(first);
		command.n -= strlen(first);
	}
	if (command.n < strlen(begin) || memcmp(command.s, begin, strlen(begin)))
		return false;
	end = memchr(command.s + from, ' ', command.n - from);
	if (!end)
		return false;
	add_clean(ret, (struct arg){command.s + from, (size_t)(end - command.s) - from});
	return true;
}

/*
 * Adds the name of the script or module that the arguments after the interpreter's name say. False:
 * they say neither.
 */
static bool add_what_runs(struct str *ret, struct args *a, struct arg interpreter)
{
	struct arg word, value;

	while (next_arg(a, &word)) {
		if (!word.n || arg_is(word, "-"))
			return false;
		if (arg_is(word, "--")) {
			if (!next_arg(a, &word))
				return false;
			add_script(ret, word);
			return true;
		}
		if (word.s[0] != '-') {
			add_script(ret, word);
			return true;
		}
		switch (read_option(a, word, &value)) {
		case 'm':
			add_clean(ret, value);
			return true;
		case 'c':
			if (add_multiprocessing(ret, value))
				return true;
			add_clean(ret, base_name(interpreter));
			str_add(ret, " -c");
			return true;
		case '?':
			return false;
		}
	}
	return false;
}

bool proc_name_is_said(const char *cmdline, size_t n)
{
	struct args a = {cmdline, cmdline + n};
	struct arg first;

	return n && !cmdline[n - 1] && next_arg(&a, &first) && is_interpreter(first);
}

void proc_name_from(const char *cmdline, size_t n, const char *exe, const char *comm,
		    struct str *ret)
{
	struct args a = {cmdline, cmdline + n};
	struct arg first = {}, file = {exe ? exe : "", exe ? strlen(exe) : 0};
	size_t before = ret->n;

	if (next_arg(&a, &first) && first.n) {
		if (is_interpreter(first) || (is_interpreter(file) && !add_title(ret, first))) {
			if (!add_what_runs(ret, &a, first))
				add_clean(ret, base_name(first));
		} else if (ret->n == before && !add_title(ret, first)) {
			add_script(ret, first);
		}
	}
	if (ret->n == before)
		add_clean(ret, (struct arg){comm, strlen(comm)});
}
