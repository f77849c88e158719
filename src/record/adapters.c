/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connects the parts of a recording: sampler, side band (perf's reports of what processes do) and
 * collector; see adapters.h. These functions decide nothing, except which events of the side band
 * the collector gets.
 */
#include "record/adapters.h"

#include "collect/named.h"
#include "record/label_intervals.h"

static int adapter_layout(void *ctx, const struct py_layout *l, uint16_t *index)
{
	struct session *s = ctx;

	return sampler_add_layout(s->sampler, l, index);
}

static const struct py_layout *adapter_get_layout(void *ctx, uint16_t index)
{
	struct session *s = ctx;

	return sampler_layout(s->sampler, index);
}

static int adapter_proc(void *ctx, const struct proc_key *key, enum proc_state state,
			const struct py_where *where, const struct image_place *place,
			uint32_t space)
{
	struct session *s = ctx;

	return sampler_set_proc(s->sampler, key, state, where, place, space);
}

static int adapter_several(void *ctx, const struct proc_several *several)
{
	return sampler_set_several(((struct session *)ctx)->sampler, several);
}

static int adapter_exe(void *ctx, const struct exe_key *key, const struct exe_entry *e)
{
	struct session *s = ctx;

	/*
	 * if processes are chosen by name, each process must be examined before it is sampled, so
	 * the kernel programs aren't told which executables are Python
	 */
	return s->filtered || s->rights.from_file ? 0 : sampler_add_exe(s->sampler, key, e);
}

static void adapter_ask_again(void *ctx, uint32_t tgid)
{
	struct session *s = ctx;

	sampler_suspect(s->sampler, tgid);
}

static void adapter_crowd(void *ctx, uint32_t uid, uint64_t until_ns)
{
	sampler_crowd(((struct session *)ctx)->sampler, uid, until_ns);
}

int session_on_added(void *ctx, const struct profile_sample *sample)
{
	struct session *s = ctx;

	label_intervals_met(s, sample);
	return s->added ? s->added(s->added_ctx, sample) : 0;
}

void session_on_failed(void *ctx, uint32_t tgid, const char *name, int status)
{
	struct session *s = ctx;

	if (s->failed)
		s->failed(s->added_ctx, tgid, name, status);
}

void session_on_file(void *ctx, uint32_t tgid, uint64_t start_boot_ns, const char *path)
{
	struct session *s = ctx;

	source_files_met(s->sources, tgid, start_boot_ns, path);
}

bool session_on_wait(void *ctx, const char *what, unsigned done)
{
	return patience_has(&((struct session *)ctx)->patience, what, done);
}

uint32_t session_on_rounds(void *ctx)
{
	return sampler_rounds(((struct session *)ctx)->sampler);
}

const struct collect_ops session_collect_ops = {
	.add_layout = adapter_layout,
	.layout = adapter_get_layout,
	.set_proc = adapter_proc,
	.set_several = adapter_several,
	.add_exe = adapter_exe,
	.ask_again = adapter_ask_again,
	.crowd = adapter_crowd,
};

static int unwind_new_table(void *ctx, uint32_t *table)
{
	return unwind_store_new_table(sampler_unwind(((struct session *)ctx)->sampler), table);
}

static void unwind_free_table(void *ctx, uint32_t table)
{
	unwind_store_free_table(sampler_unwind(((struct session *)ctx)->sampler), table);
}

static int unwind_fill(void *ctx, uint32_t table, const struct unwind_rows *rows,
		       const struct unwind_fde *eval, size_t n_eval)
{
	return unwind_store_fill(sampler_unwind(((struct session *)ctx)->sampler), table, rows,
				 eval, n_eval);
}

static uint32_t unwind_given_up(void *ctx)
{
	return unwind_store_given_up(sampler_unwind(((struct session *)ctx)->sampler));
}

static int unwind_new_space(void *ctx, uint32_t *slot)
{
	return unwind_store_new_space(sampler_unwind(((struct session *)ctx)->sampler), slot);
}

static void unwind_free_space(void *ctx, uint32_t slot)
{
	unwind_store_free_space(sampler_unwind(((struct session *)ctx)->sampler), slot);
}

static void unwind_read_space(void *ctx, uint32_t slot, bool begins)
{
	unwind_store_read_space(sampler_unwind(((struct session *)ctx)->sampler), slot, begins);
}

static uint64_t unwind_unmaps(void *ctx, uint32_t slot)
{
	return unwind_store_unmaps(sampler_unwind(((struct session *)ctx)->sampler), slot);
}

static int unwind_set_space(void *ctx, uint32_t slot, const struct unwind_space *head,
			    const struct unwind_mapping *m, size_t n)
{
	return unwind_store_set_space(sampler_unwind(((struct session *)ctx)->sampler), slot, head,
				      m, n);
}

static void unwind_allow_space(void *ctx, uint32_t slot, uint64_t at_unmaps)
{
	unwind_store_allow_space(sampler_unwind(((struct session *)ctx)->sampler), slot, at_unmaps);
}

static bool unwind_untold(void *ctx, uint32_t tgid)
{
	return sideband_has_more(((struct session *)ctx)->sideband, tgid);
}

static uint64_t unwind_code_pages(void *ctx, const struct proc_key *key, uint64_t task)
{
	return sampler_code_pages(((struct session *)ctx)->sampler, key, task);
}

const struct collect_unwind_ops session_unwind_ops = {
	.new_table = unwind_new_table,
	.free_table = unwind_free_table,
	.fill = unwind_fill,
	.given_up = unwind_given_up,
	.new_space = unwind_new_space,
	.free_space = unwind_free_space,
	.read_space = unwind_read_space,
	.unmaps = unwind_unmaps,
	.set_space = unwind_set_space,
	.allow_space = unwind_allow_space,
	.untold = unwind_untold,
	.code_pages = unwind_code_pages,
	.fills_aside = true,
};

void session_on_record(void *ctx, const void *data, size_t n)
{
	const struct rec_wait *wait = data;
	struct session *s = ctx;
	struct rec_wait whole;

	if (n >= sizeof(struct rec_proc) && *(const uint8_t *)data == REC_PROC)
		session_note_asked(s, data);
	if (n >= WAIT_BYTES && wait->sample.type == REC_WAIT &&
	    session_complete_wait(s, wait, n, &whole))
		data = &whole;
	collect_record(s->collect, data, n);
}

static void on_mmap(void *ctx, const struct sideband_mmap *m)
{
	struct session *s = ctx;

	/*
	 * If the user named processes, mappings of other processes are ignored, because examining
	 * every program that starts on the machine would be most of krait's cost. perf reports
	 * forks in order of time, so the children of the named processes are known already.
	 */
	if (s->match.by_pid && !s->sideband_lost && !map_get(&s->match.pids, m->tgid))
		return;
	collect_mapped(s->collect, &(struct collect_mapping){.tgid = m->tgid,
							     .addr = m->addr,
							     .len = m->len,
							     .offset = m->pgoff,
							     .dev = m->dev,
							     .ino = m->ino,
							     .path = m->path,
							     .time_ns = m->time_ns,
							     .gone = m->gone});
}

static void on_exit_event(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	struct session *s = ctx;

	collect_exit(s->collect, tgid, tid, time_ns);
	if (tgid == tid)
		session_use_exit(s, (pid_t)tgid, time_ns);
	session_exit(s, tgid, tid);
}

static void on_comm(void *ctx, uint32_t tgid, uint32_t tid, const char *comm, bool exec,
		    uint64_t time_ns)
{
	struct session *s = ctx;

	if (exec)
		collect_exec(s->collect, tgid, time_ns);
	if (exec)
		collect_named(s->collect, tgid, comm);
	if (exec && s->options->cmd && (pid_t)tgid == s->spawn.pid)
		collect_started(s->collect, tgid);
	if (!exec)
		collect_comm(s->collect, tgid, tid, comm);
}

static void on_fork(void *ctx, uint32_t tgid, uint32_t tid, uint32_t parent_tgid,
		    uint32_t parent_tid, uint64_t time_ns)
{
	struct session *s = ctx;

	if (tgid == parent_tgid || s->options->no_children ||
	    (s->match.by_pid && !map_get(&s->match.pids, parent_tgid)))
		return;
	label_intervals_forked(s, &(struct interval_fork){time_ns, tgid, parent_tgid, parent_tid});
	if (!s->match.by_pid)
		return;
	/*
	 * The kernel program makes children of targets targets itself, unless the parent has ended
	 * in the meantime. So user space makes children targets as well.
	 */
	if (proc_match_fork(&s->match, parent_tgid, tgid) || sampler_add_root(s->sampler, tgid))
		s->unfollowed++;
}

static void on_lost(void *ctx, uint64_t n)
{
	struct session *s = ctx;

	s->sideband_lost += n;
	/*
	 * The lost event may have been a mapping. So processes that aren't known to be Python are
	 * examined again.
	 */
	collect_look_again(s->collect);
}

const struct sideband_ops session_sideband_ops = {
	.mmap = on_mmap,
	.comm = on_comm,
	.fork = on_fork,
	.exit = on_exit_event,
	.lost = on_lost,
};
