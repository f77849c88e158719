/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait dump`: prints what each thread is doing at this moment. */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/json.h"
#include "base/system/log.h"
#include "base/system/self.h"
#include "cli/advice.h"
#include "cli/commands.h"
#include "cli/dump/dump.h"
#include "cli/exit.h"
#include "cli/record/rows.h"
#include "host/rights.h"
#include "proc/files/keeper.h"
#include "proc/locked.h"
#include "proc/match.h"
#include "proc/read/reader.h"
#include "record/patience.h"

struct run {
	const struct dump_options *o;
	struct dump *dump;
	struct proc_match match;
	struct dump_running running;
	/* source text that was read from the memory of processes */
	struct dump_texts texts;
	struct collect_texts collect_texts; /* the functions that fill .texts */
	/* how much longer krait may wait for files to be read */
	struct patience patience;
	/*
	 * exit code for the first of those processes that the user asked for and that can't be
	 * shown
	 */
	int code;
};

static int code_of(int r)
{
	return r == -EPERM || r == -EACCES ? EXIT_RIGHTS : EXIT_FAILED;
}

static void failed(struct run *x, int r)
{
	log_error("%s", error_words());
	x->code = x->code ? x->code : code_of(r);
}

static int add(struct run *x, pid_t pid)
{
	_cleanup_proc_ struct proc p = PROC_INIT;

	if (!proc_open(&p, pid) && proc_is_locked(&p))
		return dump_add_locked(x->dump, pid);
	return dump_add(x->dump, pid);
}

/* Adds the process @pid, which the user asked for, and its descendants. */
static void add_tree(struct run *x, pid_t pid)
{
	pid_vec tree = {};
	struct rights rights;
	bool any = false, other = false, is_other;
	int r = proc_asked(pid, x->o->record.session.no_children, &tree);

	for (size_t i = 0; !r && i < tree.n; i++) {
		int is = add(x, tree.v[i]);

		any |= is == 1;
		is_other = (!is || is == -ENOTSUP) && tree.v[i] == pid;
		other |= is_other;
		if (is < 0 && !is_other && tree.v[i] == pid)
			r = is;
		else if (is < 0 && !is_other && is != -ESRCH)
			log_warn("%s", error_words());
	}
	/*
	 * No process of the tree runs a Python that krait understands. The user asked for this
	 * process, so its native stacks are shown. Before that, dump_add() is called again to learn
	 * what the process is. Meanwhile it may have become a Python that krait understands.
	 */
	if (!r && !any && other) {
		r = dump_add(x->dump, pid);
		r = r == 1 ? 0 : dump_add_other(x->dump, pid);
	}
	if (r < 0) {
		rights_read(&rights);
		failed(x, rights_to_see(&rights, pid, r));
	}
	vec_fini(&tree);
}

static void warn_of_locked(const struct proc *p)
{
	char comm[PROC_COMM_BYTES];

	if (proc_comm(p, p->tgid, comm))
		return;
	log_warn("process %d, %s, hangs while it changes its list of mappings, so that nobody can "
		 "tell whether it is Python; `krait dump -p %d` shows what the kernel says of it",
		 p->tgid, comm, p->tgid);
}

static bool is_wanted(struct run *x, pid_t pid)
{
	_cleanup_proc_facts_ struct proc_facts facts = {};
	_cleanup_proc_ struct proc p = PROC_INIT;

	if (proc_open(&p, pid))
		return false;
	if (proc_is_locked(&p)) {
		warn_of_locked(&p);
		return false;
	}
	if (proc_facts_read(&p, NULL, &facts) || facts.kernel_thread)
		return false;
	return proc_match(&x->match, &facts);
}

static void say_denied(size_t n)
{
	_cleanup_str_ struct str who = {};

	if (geteuid())
		str_addf(&who, "`sudo %s dump`", self_under_sudo());
	else
		str_add(&who, "root on the host");
	log_warn("%zu process%s can't be looked at without more rights; %s shows those among them "
		 "that run Python",
		 n, n == 1 ? "" : "es", str_cstr(&who));
}

/* Adds all Python processes, and counts the processes that krait may not read. */
static int add_all(struct run *x)
{
	const struct session_options *o = &x->o->record.session;
	const char *filter = o->comms.n	       ? "--comm"
			     : o->cgroups.n    ? "--cgroup"
			     : o->containers.n ? "--container"
					       : NULL;
	size_t denied = 0, odd = 0, n;
	struct dump_process *list;
	pid_vec all = {};
	int r = proc_list(&all);

	for (size_t i = 0; !r && i < all.n; i++) {
		int is = is_wanted(x, all.v[i]) ? dump_add(x->dump, all.v[i]) : 0;

		denied += is == -EPERM || is == -EACCES;
		odd += is == -ENOTSUP;
		if (is == -ENOTSUP || is == -EPERM)
			log_info("%s", error_words());
	}
	vec_fini(&all);
	n = dump_processes(x->dump, &list);
	if (denied)
		say_denied(denied);
	if (odd)
		log_warn("%zu process%s a Python that krait doesn't understand; -v names them", odd,
			 odd == 1 ? " runs" : "es run");
	if (!r && !n)
		r = err_set(denied ? -EPERM : -EINVAL, "no Python process %s%s%s",
			    filter ? "that " : "found", filter ? filter : "",
			    filter ? " matches; leave it out to see all" : "");
	return r;
}

static int make_match(struct run *x)
{
	const struct session_options *o = &x->o->record.session;
	int r = 0;

	for (size_t i = 0; !r && i < o->comms.n; i++)
		r = vec_push(&x->match.comm, o->comms.v[i]);
	for (size_t i = 0; !r && i < o->cgroups.n; i++)
		r = vec_push(&x->match.cgroup, o->cgroups.v[i]);
	for (size_t i = 0; !r && i < o->containers.n; i++)
		r = vec_push(&x->match.container, o->containers.v[i]);
	return r ? err_sys(r, "filters") : 0;
}

static void print_one(const struct run *x, struct dump_print *to, const struct dump_process *p,
		      size_t i)
{
	struct source source = {.root = -1, .cwd = -1};

	to->source = &source;
	if (!x->o->json && !p->locked)
		source_init(&source, dump_proc(x->dump, i), &x->texts);
	/*
	 * Looks now, just before printing, whether the process still runs: if krait had looked
	 * earlier, a process that ended since would be shown as running.
	 */
	to->life = dump_life(x->dump, i);
	if (x->o->json)
		dump_print_json(to, p);
	else
		dump_print_text(to, p);
	source_fini(&source);
}

/*
 * Version of the JSON. Version 1 had the state "io" in place of "net", "pipe", "disk" and "other".
 */
#define SCHEMA 2

static int print_all(struct run *x)
{
	struct dump_files files = {};
	struct dump_print to = {.out = stdout,
				.files = &files,
				.profile = dump_profile(x->dump),
				.kernel = x->o->record.verbose,
				.short_frames = x->o->short_frames,
				.colored = color_wanted(x->o->record.color, stdout)};
	struct dump_process *list;
	size_t n = dump_processes(x->dump, &list);

	if (x->o->json) {
		fprintf(stdout, "{\"schema\": %d, \"krait\": ", SCHEMA);
		json_put_string(stdout, KRAIT_VERSION);
		fputs(", \"processes\": [\n  ", stdout);
	}
	for (size_t i = 0; i < n; i++) {
		if (i && !x->o->print)
			fputs(x->o->json ? ",\n  " : "\n\n", stdout);
		if (x->o->print)
			x->o->print(x->o->print_arg, &to, &list[i], dump_proc(x->dump, i));
		else
			print_one(x, &to, &list[i], i);
	}
	if (x->o->json)
		fputs("]}\n", stdout);
	render_names_free(files.names);
	return fflush(stdout) || ferror(stdout) ? err_sys(-errno, "can't write the stacks") : 0;
}

/*
 * How long krait waits for the names of kernel functions. It is longer than at the end of a
 * recording, because nothing is lost meanwhile, and a slow machine needs the time (an emulated one
 * 6 s).
 */
#define DUMP_PATIENCE_SECONDS 15

static bool wait_on(void *ctx, const char *what, unsigned done)
{
	return patience_has(&((struct run *)ctx)->patience, what, done);
}

static void warn_of_unreadable(void)
{
	struct reader_stats st = reader_stats();

	if (st.processes)
		log_warn("memory of %u process%s couldn't be read (the first: %d, %s), because a "
			 "file system or storage behind it doesn't answer; stacks are incomplete",
			 st.processes, st.processes == 1 ? "" : "es", st.first, st.comm);
}

static int dump(struct run *x)
{
	const struct session_options *o = &x->o->record.session;
	bool sourced = !x->o->json && !x->o->short_frames && !x->o->print;
	struct dump_config config = {.native = o->native != NATIVE_MODE_NONE,
				     .leaf = o->native == NATIVE_MODE_LEAF,
				     .kernel = o->kernel,
				     .interpreter_frames = o->interpreter_frames,
				     .texts = sourced ? &x->collect_texts : NULL,
				     .idle_at = o->idle_at.v,
				     .n_idle_at = o->idle_at.n,
				     .wait = wait_on,
				     .wait_ctx = x};
	struct dump_process *list;
	struct rights rights;
	size_t n;
	int r;

	rights_read(&rights);
	if (rights.from_file) {
		config.may_see = rights_may_see;
		config.is_own = rights_is_own;
	}
	r = dump_open(&x->dump, &config);
	r = r ? r : make_match(x);
	if (!r && o->pids.n)
		vec_foreach(pid, &o->pids)
			add_tree(x, *pid);
	else if (!r)
		r = add_all(x);
	r = r ? r : dump_read(x->dump);
	warn_of_unreadable();
	if (r)
		return r;
	n = dump_processes(x->dump, &list);
	dump_running_read(&x->running, x->o, config.texts, list, n);
	dump_note_holders(x->dump);
	dump_note_places(x->dump);
	r = print_all(x);
	dump_running_fini(&x->running);
	return r;
}

/*
 * krait's priority: it must get CPU time even if other programs take all of it. If krait has no
 * right to raise its priority, it goes on without.
 */
#define NICENESS -10

int cmd_dump(const struct dump_options *o)
{
	struct run x = {.o = o, .patience.seconds = DUMP_PATIENCE_SECONDS};
	bool freed;
	int r;

	(void)setpriority(PRIO_PROCESS, 0, NICENESS);
	proc_match_init(&x.match);
	x.collect_texts = (struct collect_texts){&x.texts, dump_texts_wants, dump_texts_met};
	reader_look_first();
	r = dump(&x);
	if (r && r != -EPIPE)
		failed(&x, r);
	proc_match_fini(&x.match);
	reader_close();
	freed = dump_close(x.dump);
	freed &= !session_hangs(&x.running.session);
	keeper_close();
	dump_texts_fini(&x.texts);
	if (freed)
		return x.code;
	/*
	 * Ends by _exit(), because exit() would free memory that is still in use: a thread of krait
	 * hangs while it reads a file.
	 */
	fflush(NULL);
	_exit(x.code);
}

static int check(const struct dump_options *o)
{
	const struct record_options *r = &o->record;
	const struct session_options *s = &r->session;

	if (s->pids.n && (s->comms.n || s->cgroups.n || s->containers.n))
		return err_set(-EINVAL, "--pid already chooses; leave --comm, --cgroup and "
					"--container out");
	if (o->short_frames && o->json)
		return err_set(-EINVAL, "--short is for text, --json has everything; keep one");
	if (r->quiet && r->verbose)
		return err_set(-EINVAL, "--quiet and --verbose exclude each other; keep one");
	if (s->no_children && !s->pids.n)
		return err_set(-EINVAL, "--no-children needs a process: --pid");
	return 0;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct dump_options o = {};
	struct operands operands;
	int r;

	record_options_init(&o.record);
	r = options_read(self, argc, argv, &o, &operands);
	if (r < 0 && check(&o)) {
		log_error("%s", error_words());
		r = EXIT_USAGE;
	}
	if (r < 0) {
		log_set_level(o.record.quiet ? LOG_WARN : LOG_NOTE + MIN(o.record.verbose, 2));
		r = cmd_dump(&o);
	}
	record_options_fini(&o.record);
	return r;
}

#define FIELD(f) offsetof(struct dump_options, f)

static const struct option_row rows[] = {
	RECORD_ROWS_TARGETS_OF("this process and all its descendants", "with --pid"),
	RECORD_ROW_NATIVE("What is shown"),
	{.name = "interpreter-frames",
	 .set = value_flag,
	 .field = RECORD_FIELD(session.interpreter_frames),
	 .help = "with --native=full: show the interpreter's own functions too"},
	{.name = "no-kernel",
	 .set = value_no_flag,
	 .field = RECORD_FIELD(session.kernel),
	 .help = "leave out what the kernel does for the thread, with -v and --json too"},
	RECORD_ROW_IDLE_AT,
	{.name = "short",
	 .set = value_flag,
	 .field = FIELD(short_frames),
	 .help = "a line for each frame, without its source"},
	{.name = "json",
	 .set = value_flag,
	 .field = FIELD(json),
	 .help = "print JSON instead of text"},
	RECORD_ROWS_WORDS,
	OPTION_HELP,
	{},
};

const struct command command_dump = {
	.name = "dump",
	.summary = "Print what every thread is doing right now, without stopping the program.",
	.synopsis = (const char *const[]){"dump [OPTIONS]", NULL},
	.examples =
		(const char *const[]){
			"krait dump -p 123\tthe stacks of all threads of process 123",
			"krait dump -p 123 --short\tthe same, a line for each frame",
			"krait dump --json > stacks.json\tof every Python process, for programs",
			NULL},
	.rows = rows,
	.run = run,
};
