/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait doctor`: runs the checks and prints their findings; see doctor.h. */
#include "cli/doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include "base/error.h"
#include "base/text/json.h"
#include "base/system/log.h"
#include "base/system/self.h"
#include "cli/advice.h"
#include "cli/commands.h"
#include "cli/doctor/checks.h"
#include "cli/exit.h"
#include "cli/options/values.h"
#include "unwind/cache.h"
#include "host/caller.h"
#include "host/users.h"

static void (*const checks[])(struct doctor *d) = {
	check_kernel,	check_btf,  check_lockdown, check_rights, check_memlock,
	check_programs, check_perf, check_clock,    check_place,
};

static const char *const state_words[] = {
	[FINDING_OK] = "ok",
	[FINDING_WARN] = "warn",
	[FINDING_FAIL] = "FAIL",
};

struct finding *finding_add(struct doctor *d, const char *name, enum finding_state state,
			    const char *fmt, ...)
{
	struct finding *f;
	char text[1024];
	va_list ap;

	if (vec_push(&d->findings, (struct finding){.name = name, .state = state})) {
		d->failed = true;
		return NULL;
	}
	f = &d->findings.v[d->findings.n - 1];
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	str_add(&f->text, text);
	return f;
}

void finding_remedy(struct finding *f, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (!f)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	str_add(&f->remedy, text);
}

bool doctor_file(const struct doctor *d, const char *path, char *buf, size_t n)
{
	_cleanup_free_ char *full = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	size_t got;

	if (asprintf(&full, "%s%s", d->root, path) < 0)
		return false;
	f = fopen(full, "re");
	if (!f)
		return false;
	got = fread(buf, 1, n - 1, f);
	while (got && buf[got - 1] == '\n')
		got--;
	buf[got] = '\0';
	return !ferror(f);
}

void doctor_examine(struct doctor *d)
{
	if (!d->root)
		d->root = "";
	rights_read(&d->rights);
	/*
	 * If the container keeps krait from recording whatever rights krait has, the other checks
	 * say nothing useful.
	 */
	if (!*d->root && !check_sandbox(d, false))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i](d);
}

void doctor_fini(struct doctor *d)
{
	vec_foreach(f, &d->findings) {
		str_fini(&f->text);
		str_fini(&f->remedy);
	}
	vec_fini(&d->findings);
}

bool doctor_usable(const struct doctor *d)
{
	vec_foreach(f, &d->findings)
		if (f->state == FINDING_FAIL)
			return false;
	return !d->failed;
}

void doctor_print(FILE *out, const struct doctor *d, bool problems_only, bool colored)
{
	static const enum color colors[] = {
		[FINDING_OK] = COLOR_GREEN,
		[FINDING_WARN] = COLOR_YELLOW,
		[FINDING_FAIL] = COLOR_RED,
	};

	vec_foreach(f, &d->findings) {
		if (problems_only && f->state != FINDING_FAIL)
			continue;
		fprintf(out, "  %s%-4s%s  %-14s %s\n", color_code(colored, colors[f->state]),
			state_words[f->state], color_code(colored, COLOR_OFF), f->name,
			str_cstr(&f->text));
		if (f->remedy.n)
			fprintf(out, "%24s%s\n", "-> ", str_cstr(&f->remedy));
	}
}

void doctor_explain(enum color_mode color)
{
	_cleanup_(doctor_fini) struct doctor d = {};

	doctor_examine(&d);
	if (doctor_usable(&d))
		return;
	doctor_print(stderr, &d, true, color_wanted(color, stderr));
	log_note("`krait doctor` shows the whole list");
}

static void print_json(FILE *out, const struct doctor *d)
{
	_cleanup_str_ struct str b = {};
	const char *comma = "";

	str_addf(&b, "{\"version\": ");
	json_string(&b, KRAIT_VERSION);
	str_addf(&b, ", \"usable\": %s, \"checks\": [", doctor_usable(d) ? "true" : "false");
	vec_foreach(f, &d->findings) {
		str_addf(&b, "%s\n  {\"name\": ", comma);
		json_string(&b, f->name);
		str_addf(&b, ", \"state\": \"%s\", \"text\": ",
			 f->state == FINDING_FAIL ? "fail" : state_words[f->state]);
		json_string(&b, str_cstr(&f->text));
		str_add(&b, ", \"remedy\": ");
		if (f->remedy.n)
			json_string(&b, str_cstr(&f->remedy));
		else
			str_add(&b, "null");
		str_add(&b, "}");
		comma = ",";
	}
	fprintf(out, "%s\n]}\n", str_cstr(&b));
}

static void print_all(FILE *out, const struct doctor *d, bool colored)
{
	struct utsname name;

	uname(&name);
	fprintf(out, "krait %s on Linux %s, %s\n\n", KRAIT_VERSION, name.release, name.machine);
	doctor_print(out, d, false, colored);
	if (doctor_usable(d))
		fputs("\nkrait can record here.\n", out);
	else
		fputs("\nkrait can't record here; fix what is marked FAIL.\n", out);
}

struct doctor_options {
	bool json, grant, forget;
	enum color_mode color;
};

/*
 * Tells the user, who has just granted capabilities to the file @path, what these capabilities
 * allow.
 */
static void say_granted(FILE *out, const char *path)
{
	gid_t gid;

	fprintf(out, "%s now has\n", path);
#define X(cap, kind, why)                                                                          \
	if (kind != RIGHT_OTHERS)                                                                  \
		fprintf(out, "  %-24s %s\n", "CAP_" #cap, why);
	RIGHTS(X)
#undef X
	fputs("so that `krait record -p PID` and `krait record -- COMMAND` work without sudo.\n"
	      "A user sees only their own processes; root still sees all. Building or installing\n"
	      "krait again takes this back.\n",
	      out);
	if (users_group_id(RIGHTS_GROUP, &gid))
		fputs("Every user of this machine may run it. To let only some:\n"
		      "  groupadd " RIGHTS_GROUP "; usermod -aG " RIGHTS_GROUP
		      " NAME; krait doctor --grant\n"
		      "To take it back: setcap -r FILE\n",
		      out);
	else
		fputs("Only members of the group " RIGHTS_GROUP
		      " may run it. To take it back: setcap -r FILE\n",
		      out);
}

/* Option --grant: gives the capabilities to the program file of the running krait. */
static int grant(void)
{
	_cleanup_free_ char *path = realpath("/proc/self/exe", NULL);
	int r;

	if (geteuid() != 0) {
		log_error("only root can give capabilities to a program; run `sudo %s doctor "
			  "--grant`",
			  self_under_sudo());
		return EXIT_RIGHTS;
	}
	r = path ? rights_grant(path) : err_sys(-errno, "can't find krait's own file");
	if (r) {
		log_error("%s", error_words());
		return r == -EPERM ? EXIT_RIGHTS : EXIT_FAILED;
	}
	say_granted(stdout, path);
	return EXIT_DONE;
}

/*
 * Option --forget: removes the cache that krait keeps for the user (under sudo, for the user who
 * called sudo).
 */
static int forget(void)
{
	_cleanup_(caller_fini) struct caller by = {};
	_cleanup_free_ char *dir = NULL;
	struct unwind_cache *cache = NULL;
	int r = caller_find(&by);

	if (!r)
		dir = caller_cache_dir(&by);
	if (dir)
		cache = unwind_cache_new(dir, by.other ? by.uid : geteuid(), by.gid, by.other);
	if (!r)
		r = cache ? unwind_cache_forget(cache) : -ENOENT;
	unwind_cache_free(cache);
	if (r == -ENOENT) {
		puts("krait has no cache of yours to remove");
		return EXIT_DONE;
	}
	if (r < 0) {
		log_error("%s", error_words());
		return EXIT_FAILED;
	}
	printf("removed %d file%s from %s; recordings are where you wrote them\n", r,
	       r == 1 ? "" : "s", dir);
	return EXIT_DONE;
}

static int run(const struct command *self, int argc, char **argv)
{
	_cleanup_(doctor_fini) struct doctor d = {};
	struct doctor_options o = {};
	struct operands operands;
	int r = options_read(self, argc, argv, &o, &operands);

	if (r >= 0)
		return r;
	if (o.grant + o.json + o.forget > 1) {
		log_error("--grant, --forget and --json exclude each other; keep one");
		return EXIT_USAGE;
	}
	if (o.grant)
		return grant();
	if (o.forget)
		return forget();
	doctor_examine(&d);
	if (o.json)
		print_json(stdout, &d);
	else
		print_all(stdout, &d, color_wanted(o.color, stdout));
	return doctor_usable(&d) ? EXIT_DONE : EXIT_RIGHTS;
}

#define FIELD(f) offsetof(struct doctor_options, f)

static const struct option_row rows[] = {
	{.group = "Options",
	 .name = "grant",
	 .set = value_flag,
	 .field = FIELD(grant),
	 .help = "as root: give this binary the capabilities with which every user may record "
		 "their own processes without sudo, and say what that means"},
	{.name = "forget",
	 .set = value_flag,
	 .field = FIELD(forget),
	 .help = "remove what krait keeps of yours between recordings: unwind tables of large "
		 "libraries"},
	{.name = "json", .set = value_flag, .field = FIELD(json), .help = "the findings as JSON"},
	VALUE_COLOR_ROW(FIELD(color)),
	OPTION_HELP,
	{},
};

const struct command command_doctor = {
	.name = "doctor",
	.summary = "Say what of this machine lets krait work, what doesn't and what helps.",
	.synopsis =
		(const char *const[]){"doctor [--json]", "doctor --grant", "doctor --forget", NULL},
	.rows = rows,
	.run = run,
};
