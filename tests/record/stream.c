/* SPDX-License-Identifier: BSD-2-Clause */
/* Saves all that a collector is given, and gives it to other collectors; see stream.h. */
#include "stream.h"

#include <stdio.h>
#include <string.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/text/str.h"
#include "profile/remake/rebase.h"

enum kind { RECORD, FLUSH, MAPPED, EXIT, COMM, EXEC, LOOK_AGAIN, EXAMINE, PREPARE, BEGIN };

struct entry {
	enum kind kind;
	size_t at, n; /* where in .bytes this piece of input begins, and its length */
};

static struct {
	VEC(struct entry) entries;
	struct str bytes;
	struct collect_config config; /* the configuration of the collector whose input is saved */
} saved;

struct told {
	uint32_t tgid, tid;
	uint64_t time_ns;
	char comm[64];
};

void expect(bool ok, const char *why)
{
	if (ok)
		return;
	printf("FAIL %s\n", why);
	exit(1);
}

size_t stream_entries(void)
{
	return saved.entries.n;
}

bool stream_is_flush(size_t i)
{
	return saved.entries.v[i].kind == FLUSH;
}

static void save(enum kind kind, const void *data, size_t n)
{
	while (saved.bytes.n % 8)
		str_add_c(&saved.bytes, '\0');
	expect(!vec_push(&saved.entries, (struct entry){kind, saved.bytes.n, n}), "memory");
	str_add_n(&saved.bytes, data, n);
}

/*
 * The linker (--wrap) redirects calls of the collector's functions to __wrap_NAME. The original
 * function is __real_NAME.
 */

struct collect *__real_collect_new(const struct collect_config *config);
struct collect *__wrap_collect_new(const struct collect_config *config);
struct collect *__wrap_collect_new(const struct collect_config *config)
{
	saved.config = *config;
	return __real_collect_new(config);
}

void __real_collect_record(struct collect *c, const void *data, size_t n);
void __wrap_collect_record(struct collect *c, const void *data, size_t n);
void __wrap_collect_record(struct collect *c, const void *data, size_t n)
{
	save(RECORD, data, n);
	__real_collect_record(c, data, n);
}

int __real_collect_flush(struct collect *c, bool last);
int __wrap_collect_flush(struct collect *c, bool last);
int __wrap_collect_flush(struct collect *c, bool last)
{
	if (!last)
		save(FLUSH, "", 0);
	return __real_collect_flush(c, last);
}

void __real_collect_mapped(struct collect *c, const struct collect_mapping *m);
void __wrap_collect_mapped(struct collect *c, const struct collect_mapping *m);
void __wrap_collect_mapped(struct collect *c, const struct collect_mapping *m)
{
	save(MAPPED, m, sizeof(*m));
	str_add_n(&saved.bytes, m->path, strlen(m->path) + 1);
	__real_collect_mapped(c, m);
}

void __real_collect_exit(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
void __wrap_collect_exit(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
void __wrap_collect_exit(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	save(EXIT, &(struct told){tgid, tid, time_ns, ""}, sizeof(struct told));
	__real_collect_exit(c, tgid, tid, time_ns);
}

void __real_collect_comm(struct collect *c, uint32_t tgid, uint32_t tid, const char *comm);
void __wrap_collect_comm(struct collect *c, uint32_t tgid, uint32_t tid, const char *comm);
void __wrap_collect_comm(struct collect *c, uint32_t tgid, uint32_t tid, const char *comm)
{
	struct told e = {tgid, tid, 0, ""};

	snprintf(e.comm, sizeof(e.comm), "%s", comm);
	save(COMM, &e, sizeof(e));
	__real_collect_comm(c, tgid, tid, comm);
}

void __real_collect_exec(struct collect *c, uint32_t tgid, uint64_t time_ns);
void __wrap_collect_exec(struct collect *c, uint32_t tgid, uint64_t time_ns);
void __wrap_collect_exec(struct collect *c, uint32_t tgid, uint64_t time_ns)
{
	save(EXEC, &(struct told){tgid, 0, time_ns, ""}, sizeof(struct told));
	__real_collect_exec(c, tgid, time_ns);
}

void __real_collect_look_again(struct collect *c);
void __wrap_collect_look_again(struct collect *c);
void __wrap_collect_look_again(struct collect *c)
{
	save(LOOK_AGAIN, "", 0);
	__real_collect_look_again(c);
}

int __real_collect_examine(struct collect *c, pid_t tgid);
int __wrap_collect_examine(struct collect *c, pid_t tgid);
int __wrap_collect_examine(struct collect *c, pid_t tgid)
{
	save(EXAMINE, &(struct told){.tgid = (uint32_t)tgid}, sizeof(struct told));
	return __real_collect_examine(c, tgid);
}

void __real_collect_prepare(struct collect *c, uint64_t until_ns);
void __wrap_collect_prepare(struct collect *c, uint64_t until_ns);
void __wrap_collect_prepare(struct collect *c, uint64_t until_ns)
{
	save(PREPARE, "", 0);
	__real_collect_prepare(c, until_ns);
}

void __real_collect_begin(struct collect *c, uint64_t start_ns);
void __wrap_collect_begin(struct collect *c, uint64_t start_ns);
void __wrap_collect_begin(struct collect *c, uint64_t start_ns)
{
	save(BEGIN, &(struct told){.time_ns = start_ns}, sizeof(struct told));
	__real_collect_begin(c, start_ns);
}

/*
 * A mistake that the test makes on purpose, either where a window is cut or in samples after the
 * cut.
 */

static struct {
	const char *what;
	unsigned cuts, calls;
} fault;

void stream_fault(const char *what)
{
	fault.what = what;
}

/*
 * Tells whether to make the mistake @what in this call: after the first window was cut, in every
 * seventh call.
 */
static bool is_wrong(const char *what)
{
	return fault.what && streq(fault.what, what) && fault.cuts && ++fault.calls % 7 == 0;
}

uint32_t __real_rebase_stack(struct rebase *r, uint32_t id);
uint32_t __wrap_rebase_stack(struct rebase *r, uint32_t id);
uint32_t __wrap_rebase_stack(struct rebase *r, uint32_t id)
{
	static uint32_t before;

	if (is_wrong("memory"))
		return profile_no_memory(r->copy.to);
	if (!is_wrong("stack") || !before)
		before = __real_rebase_stack(r, id);
	return before;
}

uint32_t __real_profile_labels(struct profile *p, const struct profile_label *labels, size_t n);
uint32_t __wrap_profile_labels(struct profile *p, const struct profile_label *labels, size_t n);
uint32_t __wrap_profile_labels(struct profile *p, const struct profile_label *labels, size_t n)
{
	return __real_profile_labels(p, labels, n - (n && is_wrong("label")));
}

int __real_profile_add(struct profile *p, const struct profile_sample *s);
int __wrap_profile_add(struct profile *p, const struct profile_sample *s);
int __wrap_profile_add(struct profile *p, const struct profile_sample *s)
{
	if (is_wrong("drop"))
		return 0;
	if (is_wrong("double"))
		expect(!__real_profile_add(p, s), "memory");
	return __real_profile_add(p, s);
}

int __real_rebase_begin(struct rebase *r, struct profile *p);
int __wrap_rebase_begin(struct rebase *r, struct profile *p);
int __wrap_rebase_begin(struct rebase *r, struct profile *p)
{
	fault.cuts++;
	return __real_rebase_begin(r, p);
}

/*
 * This function and those below replace the functions with which a collector tells the kernel
 * programs something. They do nothing.
 */

static int set_proc(void *ctx, const struct proc_key *key, enum proc_state state,
		    const struct py_where *where, const struct image_place *place, uint32_t space)
{
	return 0;
}

static int set_several(void *ctx, const struct proc_several *several)
{
	return 0;
}

static int add_exe(void *ctx, const struct exe_key *key, const struct exe_entry *entry)
{
	return 0;
}

static void ask_again(void *ctx, uint32_t tgid)
{
}

static void crowd(void *ctx, uint32_t uid, uint64_t until_ns)
{
}

/*
 * The last number given out. Numbers begin at 1, as in the recording. Number 1 is the slot for the
 * process's mappings, to which saved records refer.
 */
static uint32_t last_number;

static int new_number(void *ctx, uint32_t *ret)
{
	*ret = ++last_number;
	return 0;
}

static void free_number(void *ctx, uint32_t number)
{
}

static int fill(void *ctx, uint32_t table, const struct unwind_rows *rows,
		const struct unwind_fde *eval, size_t n_eval)
{
	return 0;
}

static uint32_t given_up(void *ctx)
{
	return 0;
}

static void read_space(void *ctx, uint32_t slot, bool begins)
{
}

static uint64_t unmaps(void *ctx, uint32_t slot)
{
	return 0;
}

/*
 * The version of the mappings in the last call of set_space(), which depends on when the collector
 * reads mappings, and so on the clock.
 */
static uint32_t latest_version;

static int set_space(void *ctx, uint32_t slot, const struct unwind_space *head,
		     const struct unwind_mapping *m, size_t n)
{
	latest_version = head->version;
	return 0;
}

static void allow_space(void *ctx, uint32_t slot, uint64_t at_unmaps)
{
}

static const struct collect_unwind_ops unwind = {
	.new_table = new_number,
	.free_table = free_number,
	.fill = fill,
	.given_up = given_up,
	.new_space = new_number,
	.free_space = free_number,
	.read_space = read_space,
	.unmaps = unmaps,
	.set_space = set_space,
	.allow_space = allow_space,
	.fills_aside = true,
};

/*
 * The number of saved calls of collect_flush() that were replayed: rounds end only there, and not
 * where a window is cut.
 */
static uint32_t rounds;

static uint32_t get_rounds(void *ctx)
{
	return rounds;
}

/*
 * Calls collect_flush(), waits until the collector has all names that it asked for, and calls it
 * again.
 */
static void flush(struct collect *c, bool last)
{
	expect(!__real_collect_flush(c, last), "a flush failed");
	collect_await(c);
	if (!last)
		expect(!__real_collect_flush(c, last), "a flush failed");
}

static void give_record(struct collect *c, void *data, size_t n)
{
	struct rec_native *native = data;

	if (native->type == REC_NATIVE && native->version)
		native->version = latest_version;
	__real_collect_record(c, data, n);
}

/*
 * The time limit for collect_prepare(). It is so long that no replay reaches it, even on a busy
 * machine: otherwise replays could differ.
 */
#define PREPARE_NS (30 * NSEC_PER_SEC)

static void give(struct collect *c, const struct entry *e)
{
	void *data = saved.bytes.s + e->at;
	const struct told *event = data;
	struct collect_mapping m;

	switch (e->kind) {
	case RECORD:
		give_record(c, data, e->n);
		break;
	case FLUSH:
		rounds++;
		flush(c, false);
		break;
	case MAPPED:
		memcpy(&m, data, sizeof(m));
		m.path = (const char *)data + sizeof(m);
		__real_collect_mapped(c, &m);
		break;
	case EXIT:
		__real_collect_exit(c, event->tgid, event->tid, event->time_ns);
		break;
	case COMM:
		__real_collect_comm(c, event->tgid, event->tid, event->comm);
		break;
	case EXEC:
		__real_collect_exec(c, event->tgid, event->time_ns);
		break;
	case LOOK_AGAIN:
		__real_collect_look_again(c);
		break;
	case EXAMINE:
		expect(__real_collect_examine(c, (pid_t)event->tgid) == 1, "it isn't Python");
		break;
	case PREPARE:
		__real_collect_prepare(c, clock_ns(CLOCK_MONOTONIC) + PREPARE_NS);
		break;
	case BEGIN:
		__real_collect_begin(c, event->time_ns);
	}
}

/* Begins a session as session.c does, except that the collector's calls don't reach the kernel. */
static void begin(struct session *s, struct session *live, const struct collect_ops *ops,
		  bool native)
{
	struct collect_config config = saved.config;

	s->profile = profile_new();
	expect(s->profile, "memory");
	expect(!profile_copy_meta(live->profile, s->profile), "memory");
	expect(!vec_push(&s->labels, (struct profile_label){profile_string(s->profile, "mine"),
							    profile_string(s->profile, "this")}),
	       "memory");
	config.profile = s->profile;
	config.ops = ops;
	config.unwind = native ? &unwind : NULL;
	config.kallsyms = -1;
	config.labels = s->labels.v;
	config.n_labels = s->labels.n;
	config.added = NULL;
	config.wait = NULL;
	config.rounds = get_rounds;
	s->collect = __real_collect_new(&config);
	expect(s->collect, "memory");
}

static void cut(struct session *s, const struct stream_user *user)
{
	struct profile *window;

	flush(s->collect, false);
	expect(!session_window(s, &window), err_msg());
	user->window(user->ctx, window);
	profile_free(window);
}

static size_t first_record(uint8_t type)
{
	for (size_t i = 0; i < saved.entries.n; i++)
		if (saved.entries.v[i].kind == RECORD &&
		    (uint8_t)saved.bytes.s[saved.entries.v[i].at] == type)
			return i;
	expect(false, "the recording lacks a type of records");
	return 0;
}

void stream_delay_process(void)
{
	size_t from = first_record(REC_PROC), to = first_record(REC_SAMPLE);
	struct entry *v = saved.entries.v, process = v[from];

	if (from > to)
		return;
	memmove(&v[from], &v[from + 1], (to - from) * sizeof(*v));
	v[to] = process;
}

void stream_replay(struct session *live, const struct stream_user *user)
{
	const struct collect_ops ops = {saved.config.ops->add_layout,
					saved.config.ops->layout,
					set_proc,
					set_several,
					add_exe,
					ask_again,
					crowd};
	struct session s = {};

	fault.cuts = fault.calls = last_number = rounds = 0;
	begin(&s, live, &ops, user->native);
	for (size_t i = 0; i < saved.entries.n; i++) {
		give(s.collect, &saved.entries.v[i]);
		if (user->cuts(user->ctx, i))
			cut(&s, user);
	}
	flush(s.collect, true);
	user->window(user->ctx, s.profile);
	expect(collect_free(s.collect), "a job hangs");
	profile_free(s.profile);
	vec_fini(&s.labels);
}
