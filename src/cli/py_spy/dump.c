/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait py-spy dump`: prints a process's Python threads in the form of py-spy's src/dump.rs; with
 * --json in that of its src/stack_trace.rs.
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/json.h"
#include "base/system/log.h"
#include "cli/exit.h"
#include "cli/py_spy/py_spy.h"
#include "proc/read/stat.h"

/* how many bytes of a process's command line are shown */
#define CMDLINE_BYTES (64u << 10)

struct printer {
	const struct py_spy_options *o;
	FILE *out;
	const struct dump_print *to;
	int root;	  /* root directory of the process that is being printed; -1: not known */
	unsigned printed; /* how many Python processes were printed so far */
	bool locked;	  /* the process that the user named hangs, so nothing of it can be read */
};

/*
 * Tells whether the thread runs or waits for a CPU. That is when py-spy finds state R in
 * /proc/PID/task/TID/stat.
 */
static bool is_active(const struct dump_thread *t)
{
	return t->wait.kind == WAIT_RUNNING || t->wait.kind == WAIT_RUNNABLE;
}

static const char *status(const struct dump_thread *t)
{
	if (!is_active(t))
		return "idle";
	return t->gil == GIL_HELD ? "active+gil" : "active";
}

/* What is printed of a frame. The profile and the table of names own the texts. */
struct shown {
	const char *name, *file, *short_file, *module;
	int line;
};

/*
 * Fills *ret with what py-spy shows of the frame. Returns false if py-spy doesn't show such a
 * frame.
 */
static bool frame_of(const struct printer *x, struct profile *p, struct render_names *names,
		     uint32_t id, struct str *text, struct shown *ret)
{
	const struct profile_location *l = profile_get_location(p, id);
	const struct profile_mapping *m = profile_get_mapping(p, l->mapping);

	if (m->kind == KIND_KERNEL || m->kind == KIND_GC ||
	    (m->kind == KIND_NATIVE && !x->o->native))
		return false;
	str_clear(text);
	render_names_function(names, id, text);
	*ret = (struct shown){.name = str_cstr(text), .line = l->line};
	if (m->kind == KIND_PYTHON && l->function) {
		ret->file = profile_get_string(p, profile_get_function(p, l->function)->file);
		ret->short_file = py_spy_file(x->o, p, names, l->function, x->root);
	} else {
		ret->file = ret->module = profile_get_string(p, m->name);
		ret->short_file = render_names_mapping(names, l->mapping);
	}
	return true;
}

static void put_frame_text(const struct printer *x, const struct shown *f)
{
	fputs("    ", x->out);
	dump_put_text(x->out, f->name);
	fputs(" (", x->out);
	dump_put_text(x->out, f->short_file);
	if (f->line)
		fprintf(x->out, ":%d", f->line);
	fputs(")\n", x->out);
}

static void put_field(FILE *out, const char *key, const char *value)
{
	fprintf(out, "        \"%s\": ", key);
	if (value)
		json_put_string(out, value);
	else
		fputs("null", out);
	fputs(",\n", out);
}

/*
 * Prints a frame as JSON. py-spy also has the frame's local variables, and whether a C function
 * called the frame: krait doesn't know these, and writes null.
 */
static void put_frame_json(const struct printer *x, const struct shown *f, bool first)
{
	fputs(first ? "\n      {\n" : ",\n      {\n", x->out);
	put_field(x->out, "name", f->name);
	put_field(x->out, "filename", f->file);
	put_field(x->out, "module", f->module);
	put_field(x->out, "short_filename", f->short_file);
	fprintf(x->out, "        \"line\": %d,\n", f->line);
	put_field(x->out, "locals", NULL);
	put_field(x->out, "is_entry", NULL);
	fputs("        \"is_shim_entry\": null\n      }", x->out);
}

static void put_frames(const struct printer *x, const struct dump_thread *t)
{
	_cleanup_str_ struct str text = {};
	struct dump_print in;
	struct shown f;
	bool first = true;
	size_t n;
	const uint32_t *frames = dump_frames(x->to, t, &in, &n);
	struct render_names *names = n ? dump_names(x->to->files, in.profile) : NULL;

	for (size_t i = 0; names && i < n; i++) {
		if (!frame_of(x, in.profile, names, frames[i], &text, &f))
			continue;
		if (x->o->json)
			put_frame_json(x, &f, first);
		else
			put_frame_text(x, &f);
		first = false;
	}
}

static void put_thread_text(const struct printer *x, const struct dump_thread *t)
{
	fprintf(x->out, "Thread %d (%s)", t->tid, status(t));
	if (*t->name) {
		fputs(": \"", x->out);
		dump_put_text(x->out, t->name);
		fputc('"', x->out);
	}
	fputc('\n', x->out);
	put_frames(x, t);
}

static void put_thread_json(const struct printer *x, const struct dump_process *p,
			    const struct dump_thread *t)
{
	fprintf(x->out, "  {\n    \"pid\": %d,\n    \"thread_id\": %llu,\n", p->pid,
		(unsigned long long)t->ident);
	fputs("    \"thread_name\": ", x->out);
	if (*t->name)
		json_put_string(x->out, t->name);
	else
		fputs("null", x->out);
	fprintf(x->out,
		",\n    \"os_thread_id\": %d,\n    \"active\": %s,\n    \"owns_gil\": %s,\n"
		"    \"frames\": [",
		t->tid, is_active(t) ? "true" : "false", t->gil == GIL_HELD ? "true" : "false");
	put_frames(x, t);
	fputs("\n    ],\n    \"process_info\": null\n  }", x->out);
}

static void put_json(const struct printer *x, const struct dump_process *p)
{
	bool first = true;

	fputs("[\n", x->out);
	/* prints the threads from the last to the first: py-spy prints the latest thread first */
	for (size_t i = p->threads.n; i--;) {
		if (!p->threads.v[i].python)
			continue;
		fputs(first ? "" : ",\n", x->out);
		put_thread_json(x, p, &p->threads.v[i]);
		first = false;
	}
	fputs("\n]\n", x->out);
}

static void put_command_line(const struct printer *x, int procdir)
{
	_cleanup_str_ struct str line = {};

	if (proc_file_read(procdir, "cmdline", CMDLINE_BYTES, &line))
		return;
	while (line.n && !line.s[line.n - 1])
		line.n--;
	for (size_t i = 0; i < line.n; i++)
		if (!line.s[i])
			line.s[i] = ' ';
	dump_put_text(x->out, str_cstr(&line));
}

static void put_executable(const struct printer *x, int procdir)
{
	char path[4096];
	ssize_t n = readlinkat(procdir, "exe", path, sizeof(path) - 1);

	if (n <= 0)
		return;
	path[n] = '\0';
	fputs(" (", x->out);
	dump_put_text(x->out, path);
	fputc(')', x->out);
}

static void put_process(const struct printer *x, const struct dump_process *p, int procdir)
{
	fprintf(x->out, "Process %d: ", p->pid);
	put_command_line(x, procdir);
	fprintf(x->out, "\nPython v%u.%u", p->version >> 8, p->version & 0xff);
	put_executable(x, procdir);
	fputs("\n\n", x->out);
	vec_foreach(t, &p->threads)
		if (t->python)
			put_thread_text(x, t);
}

#define RULE "--------------------------------------------------------------------------------"

static void put_one(void *arg, const struct dump_print *to, const struct dump_process *p,
		    const struct proc *proc)
{
	struct printer *x = arg;

	x->locked |= p->locked;
	if (!p->version)
		return;
	x->root = py_spy_root(p->pid);
	x->to = to;
	x->out = to->out;
	if (x->printed++ && !x->o->json)
		fputs("\n" RULE "\n", x->out);
	if (x->o->json)
		put_json(x, p);
	else
		put_process(x, p, proc->dirfd);
	cleanup_close(&x->root);
	x->root = -1;
}

int py_spy_dump(const struct py_spy_options *o)
{
	struct printer x = {.o = o, .root = -1};
	struct dump_options to = {.print = put_one, .print_arg = &x};
	int r;

	record_options_init(&to.record);
	r = vec_push(&to.record.session.pids, o->pid);
	to.record.session.no_children =
		/*
		 * With --json only the named process is printed, even with --subprocesses, because
		 * py-spy's JSON has one process.
		 */
		!o->subprocesses || o->json;
	to.record.session.kernel = false;
	to.record.session.native = o->native ? NATIVE_MODE_FULL : NATIVE_MODE_NONE;
	to.record.session.interpreter_frames = !o->native;
	log_set_level(LOG_WARN);
	r = r ? EXIT_FAILED : cmd_dump(&to);
	record_options_fini(&to.record);
	if (r || x.printed)
		return r;
	if (x.locked)
		log_error("process %d hangs while it changes its list of mappings: nobody can read "
			  "its stacks; `krait dump -p %d` shows what the kernel says of it",
			  o->pid, o->pid);
	else
		log_error("process %d isn't Python", o->pid);
	return EXIT_FAILED;
}
