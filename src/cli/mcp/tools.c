/* SPDX-License-Identifier: BSD-2-Clause */
/* The tools that `krait mcp` offers. Each is a krait command with a few of its options. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/json_in.h"
#include "base/nomem.h"
#include "base/vec.h"
#include "cli/exit.h"
#include "cli/mcp/mcp.h"

enum argument {
	ARG_PID,
	ARG_SECONDS,
	ARG_NAME,
	ARG_FILE,
	ARG_OLD,
	ARG_NEW,
	ARG_FOCUS,
	ARG_ROWS,
	ARG_MAX
};

/*
 * The arguments that tools may have. .most: the largest number that is allowed; 0: the argument is
 * a text.
 */
static const struct {
	const char *name, *description;
	int64_t most;
} arguments[ARG_MAX] = {
	[ARG_PID] = {"pid", "process id", INT32_MAX},
	[ARG_SECONDS] = {"seconds", "how long to record; 10 if it isn't given", 300},
	[ARG_NAME] = {"name", "name of the recording: letters, digits, . _ -", 0},
	[ARG_FILE] = {"file", "path of a profile: krait's page or any tool's format", 0},
	[ARG_OLD] = {"old", "path of the profile before", 0},
	[ARG_NEW] = {"new", "path of the profile after", 0},
	[ARG_FOCUS] = {"focus", "only stacks that this function is in", 0},
	[ARG_ROWS] = {"rows", "rows of each table; 10 if it isn't given", 1000},
};

#define BIT(argument) (1u << (argument))

/* The arguments of a call. 0 or an empty text: the argument isn't given. */
struct given {
	int64_t numbers[ARG_MAX];
	struct str texts[ARG_MAX];
};

typedef VEC(char *) word_vec; /* command line words, which the vector owns */

struct tool {
	const char *name, *description;
	/*
	 * .takes: bits BIT() of the arguments that the tool accepts. .needs: of those that it can't
	 * do without.
	 */
	unsigned takes, needs;
	bool writes;
	int (*call)(const char *directory, const struct given *g, struct str *ret);
};

/* Adds a word to a command line: @option followed by @value. One of them may be "". */
static int add_word(word_vec *words, const char *option, const char *value)
{
	_cleanup_str_ struct str word = {};
	char *taken;

	str_addf(&word, "%s%s", option, value);
	taken = str_take(&word);
	if (!taken)
		return err_nomem();
	return vec_push(words, taken) ? err_nomem() : 0;
}

static int add_number(word_vec *words, const char *option, int64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	return add_word(words, option, text);
}

/*
 * Adds the name of a file to the command line. "./" before it keeps it from being taken for an
 * option.
 */
static int add_file(word_vec *words, const struct str *file)
{
	return add_word(words, *str_cstr(file) == '-' ? "./" : "", str_cstr(file));
}

/*
 * Ends the list @words with a NULL, runs krait with it as the command line, and frees it. If @r is
 * an error, only frees the list.
 */
static int run(word_vec *words, int r, unsigned seconds, struct str *ret)
{
	r = r ? r : vec_push(words, NULL);
	r = r ? r : mcp_run(words->v, seconds, ret);
	vec_foreach(word, words)
		free(*word);
	vec_fini(words);
	return r > 0 ? 1 : r;
}

/* how many seconds a tool may take; the time that it records is added to them */
#define PATIENCE 60u

static int call_list(const char *directory, const struct given *g, struct str *ret)
{
	static const char *const line[] = {"top", "--processes", "--times=1", "--plain", "--quiet"};
	word_vec words = {};
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(line); i++)
		r = add_word(&words, line[i], "");
	return run(&words, r, PATIENCE, ret);
}

static int call_dump(const char *directory, const struct given *g, struct str *ret)
{
	word_vec words = {};
	int r = add_word(&words, "dump", "");

	r = r ? r : add_word(&words, "--short", "");
	r = r ? r : add_number(&words, "--pid=", g->numbers[ARG_PID]);
	return run(&words, r, PATIENCE, ret);
}

static int call_report(const char *directory, const struct given *g, struct str *ret)
{
	word_vec words = {};
	int r = add_word(&words, "report", "");

	r = r ? r : add_file(&words, &g->texts[ARG_FILE]);
	r = r ? r : add_number(&words, "--limit=", g->numbers[ARG_ROWS] ?: 10);
	if (!r && g->texts[ARG_FOCUS].n)
		r = add_word(&words, "--focus=", str_cstr(&g->texts[ARG_FOCUS]));
	return run(&words, r, PATIENCE, ret);
}

static int call_diff(const char *directory, const struct given *g, struct str *ret)
{
	word_vec words = {};
	int r = add_word(&words, "diff", "");

	r = r ? r : add_file(&words, &g->texts[ARG_OLD]);
	r = r ? r : add_file(&words, &g->texts[ARG_NEW]);
	return run(&words, r, PATIENCE, ret);
}

/* Tells whether @name is a plain file name, which can't lead out of a directory. */
static bool is_plain(const char *name)
{
	return *name && *name != '.' && *name != '-' && strlen(name) <= 100 &&
	       !name[strspn(name,
			    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")];
}

static int call_record(const char *directory, const struct given *g, struct str *ret)
{
	int64_t seconds = g->numbers[ARG_SECONDS] ?: 10;
	const char *name = g->texts[ARG_NAME].n ? str_cstr(&g->texts[ARG_NAME]) : "recording";
	_cleanup_str_ struct str path = {};
	word_vec words = {};
	struct stat st;
	int r;

	if (!directory)
		return err_set(-EINVAL, "nothing may be recorded: krait mcp was started without "
					"--directory");
	if (!is_plain(name))
		return err_set(-EINVAL,
			       "name may have letters, digits, . _ and -, but no . or - first");
	str_addf(&path, "%s/%s.html", directory, name);
	if (!lstat(str_cstr(&path), &st) && !S_ISREG(st.st_mode))
		return err_set(-EINVAL, "%s exists and is no regular file; take another name",
			       name);
	r = add_word(&words, "record", "");
	r = r ? r : add_word(&words, "--output=", str_cstr(&path));
	r = r ? r : add_number(&words, "--duration=", seconds);
	if (!r && g->numbers[ARG_PID])
		r = add_number(&words, "--pid=", g->numbers[ARG_PID]);
	return run(&words, r, (unsigned)seconds + PATIENCE, ret);
}

static const struct tool tools[] = {
	{"list",
	 "The Python processes of this machine and the CPU time that each takes, over one second.",
	 0, 0, false, call_list},
	{"dump",
	 "What every thread of a process does now: its stack, and what it waits for. Doesn't stop "
	 "the process.",
	 BIT(ARG_PID), BIT(ARG_PID), false, call_dump},
	{"record",
	 "Samples where a process (or, without pid, every Python process) spends CPU time, and "
	 "writes a "
	 "page that the tool report reads. Answers with the first sentence of what it found.",
	 BIT(ARG_PID) | BIT(ARG_SECONDS) | BIT(ARG_NAME), 0, true, call_record},
	{"report", "Where the time of a profile goes: functions, and lines of the user's own code.",
	 BIT(ARG_FILE) | BIT(ARG_FOCUS) | BIT(ARG_ROWS), BIT(ARG_FILE), false, call_report},
	{"diff", "What got slower or faster between two profiles.", BIT(ARG_OLD) | BIT(ARG_NEW),
	 BIT(ARG_OLD) | BIT(ARG_NEW), false, call_diff},
};

static void list_arguments(const struct tool *t, struct str *ret)
{
	const char *comma = "";

	str_add(ret, "\"inputSchema\":{\"type\":\"object\",\"properties\":{");
	for (unsigned i = 0; i < ARG_MAX; i++) {
		if (!(t->takes & BIT(i)))
			continue;
		str_addf(ret, "%s\"%s\":{\"type\":\"%s\",\"description\":\"%s\"}", comma,
			 arguments[i].name, arguments[i].most ? "integer" : "string",
			 arguments[i].description);
		comma = ",";
	}
	comma = "";
	str_add(ret, "},\"required\":[");
	for (unsigned i = 0; i < ARG_MAX; i++) {
		if (!(t->needs & BIT(i)))
			continue;
		str_addf(ret, "%s\"%s\"", comma, arguments[i].name);
		comma = ",";
	}
	str_add(ret, "]}");
}

void mcp_list_tools(struct str *ret)
{
	str_add(ret, "[");
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		str_addf(ret, "%s{\"name\":\"%s\",\"description\":", i ? "," : "", tools[i].name);
		json_string(ret, tools[i].description);
		str_add_c(ret, ',');
		list_arguments(&tools[i], ret);
		str_addf(ret, ",\"annotations\":{\"readOnlyHint\":%s}}",
			 tools[i].writes ? "false" : "true");
	}
	str_add(ret, "]");
}

static int find_argument(const struct tool *t, const char *name)
{
	for (int i = 0; i < ARG_MAX; i++)
		if (t->takes & BIT(i) && streq(arguments[i].name, name))
			return i;
	return err_set(-EINVAL, "the tool %s has no argument '%s'", t->name, name);
}

static int read_value(struct json_in *in, int i, struct given *g)
{
	int r;

	if (!arguments[i].most)
		return err_wrap(json_in_string(in, &g->texts[i]), "%s", arguments[i].name);
	r = json_in_integer(in, &g->numbers[i]);
	if (r)
		return err_wrap(r, "%s", arguments[i].name);
	if (g->numbers[i] < 1 || g->numbers[i] > arguments[i].most)
		return err_set(-EINVAL, "%s must be a number from 1 to %lld", arguments[i].name,
			       (long long)arguments[i].most);
	return 0;
}

static int read_arguments(const struct tool *t, const char *text, size_t n, struct given *g)
{
	_cleanup_str_ struct str key = {};
	struct json_in in;
	int r, i;

	json_in_init(&in, text, n);
	r = json_in_enter(&in, '{');
	while (!r && (r = json_in_key(&in, &key)) > 0) {
		i = find_argument(t, str_cstr(&key));
		r = i < 0 ? i : read_value(&in, i, g);
	}
	for (i = 0; !r && i < ARG_MAX; i++)
		if (t->needs & BIT(i) && !g->numbers[i] && !g->texts[i].n)
			r = err_set(-EINVAL, "the tool %s needs %s: %s", t->name, arguments[i].name,
				    arguments[i].description);
	return r;
}

int mcp_call(const char *directory, const char *name, const char *text, size_t n, struct str *ret)
{
	const struct tool *t = NULL;
	struct given g = {};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (streq(tools[i].name, name))
			t = &tools[i];
	if (!t)
		return err_set(
			-EINVAL,
			"there is no tool '%s'; the tools are list, dump, record, report and diff",
			name);
	r = read_arguments(t, text, n, &g);
	r = r ? r : t->call(directory, &g, ret);
	for (int i = 0; i < ARG_MAX; i++)
		str_fini(&g.texts[i]);
	return r;
}
