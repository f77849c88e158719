/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait dump --json`: prints as JSON what the text has. man/krait.1.in describes the format.
 */
#include "base/text/json.h"
#include "cli/dump/dump.h"

static void put_key(FILE *out, const char *before, const char *key)
{
	fprintf(out, "%s\"%s\": ", before, key);
}

static void put_string(FILE *out, const char *before, const char *key, const char *value)
{
	put_key(out, before, key);
	if (value)
		json_put_string(out, value);
	else
		fputs("null", out);
}

/* Writes member @key. Writes null if @value is 0, which means that it isn't known. */
static void put_number(FILE *out, const char *key, long value)
{
	put_key(out, ", ", key);
	if (value)
		fprintf(out, "%ld", value);
	else
		fputs("null", out);
}

/* Writes member @key in seconds. Writes null if @ns is 0, which means that it isn't known. */
static void put_seconds(FILE *out, const char *key, uint64_t ns)
{
	put_key(out, ", ", key);
	if (ns)
		json_put_decimal(out, (int64_t)(ns / 1000), 6);
	else
		fputs("null", out);
}

static const char *gil_word(enum gil_state gil)
{
	static const char *const word[] = {
#define X(name, text) text,
		GIL_STATES(X)
#undef X
	};

	return word[gil];
}

static const char *kind_word(enum frame_kind kind)
{
	static const char *const word[KIND_MAX] = {
		[KIND_PYTHON] = "python", [KIND_NATIVE] = "native", [KIND_KERNEL] = "kernel",
		[KIND_JIT] = "jit",	  [KIND_GC] = "gc",	    [KIND_MARK] = "mark",
	};

	return word[kind];
}

static void put_frame(const struct dump_print *to, uint32_t id)
{
	const struct profile *p = to->profile;
	const struct profile_location *l = profile_get_location(p, id);
	const struct profile_mapping *m = profile_get_mapping(p, l->mapping);
	const struct profile_function *f =
		l->function ? profile_get_function(p, l->function) : NULL;
	bool python = m->kind == KIND_PYTHON;

	put_string(to->out, "{", "kind", kind_word(m->kind));
	put_string(to->out, ", ", "function", f ? profile_get_string(p, f->name) : NULL);
	put_string(to->out, ", ", "file", profile_get_string(p, python && f ? f->file : m->name));
	put_number(to->out, "line", l->line);
	put_number(to->out, "column", l->column);
	put_number(to->out, "end_line", l->end_line);
	put_number(to->out, "end_column", l->end_column);
	if (l->address)
		fprintf(to->out, ", \"address\": \"0x%llx\"", (unsigned long long)l->address);
	fputc('}', to->out);
}

static void put_frames(const struct dump_print *to, const struct dump_thread *t)
{
	struct dump_print in;
	size_t n;
	const uint32_t *frames = dump_frames(to, t, &in, &n);

	fputs(", \"frames\": [", to->out);
	while (n) {
		fputs("\n      ", to->out);
		put_frame(&in, frames[--n]);
		fputs(n ? "," : "", to->out);
	}
	fputs("]}", to->out);
}

static void put_thread(const struct dump_print *to, const struct dump_thread *t)
{
	_cleanup_str_ struct str words = {};

	dump_state_words(t, &words);
	fprintf(to->out, "\n    {\"tid\": %d", t->tid);
	put_string(to->out, ", ", "name", t->name);
	put_string(to->out, ", ", "state", wait_word(t->wait.kind));
	put_string(to->out, ", ", "words", str_cstr(&words));
	put_seconds(to->out, "seconds", t->since_ns);
	put_string(to->out, ", ", "gil", gil_word(t->gil));
	put_number(to->out, "gil_holder", t->gil_holder);
	put_seconds(to->out, "gil_held_seconds", t->gil_held_ns);
	put_string(to->out, ", ", "system_call", t->wait.call);
	put_key(to->out, ", ", "descriptor");
	if (t->wait.fd >= 0)
		fprintf(to->out, "%d", t->wait.fd);
	else
		fputs("null", to->out);
	put_string(to->out, ", ", "descriptor_is", t->target[0] ? t->target : NULL);
	put_string(to->out, ", ", "peer", t->peer[0] ? t->peer : NULL);
	fprintf(to->out, ", \"uninterruptible\": %s, \"python\": %s, \"steady\": %s, \"idle\": %s",
		t->wait.disk ? "true" : "false", t->python ? "true" : "false",
		t->steady ? "true" : "false", t->idle ? "true" : "false");
	put_frames(to, t);
}

void dump_print_json(const struct dump_print *to, const struct dump_process *p)
{
	const char *words = dump_life_words(to->life);

	fprintf(to->out, "{\"pid\": %d", p->pid);
	put_string(to->out, ", ", "name", p->name);
	put_string(to->out, ", ", "cgroup", p->cgroup);
	put_string(to->out, ", ", "container", p->container);
	put_key(to->out, ", ", "python");
	if (p->version)
		fprintf(to->out, "\"%u.%u\"", p->version >> 8, p->version & 0xff);
	else
		fputs("null", to->out);
	put_string(to->out, ", ", "implementation",
		   !p->version ? NULL
		   : p->pypy   ? "PyPy"
			       : "CPython");
	put_string(to->out, ", ", "not_understood", *p->not_understood ? p->not_understood : NULL);
	put_string(to->out, ", ", "life", dump_life_word(to->life));
	put_string(to->out, ", ", "life_words", *words ? words : NULL);
	fputs(", \"threads\": [", to->out);
	for (size_t i = 0; i < p->threads.n; i++) {
		put_thread(to, &p->threads.v[i]);
		fputs(i + 1 < p->threads.n ? "," : "", to->out);
	}
	fputs("]}", to->out);
}
