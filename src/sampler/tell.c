/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes to the kernel programs' maps what krait knows of processes, executables and interpreters.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "base/error.h"
#include "sample.skel.h"
#include "sampler/internal.h"

static int update(struct bpf_map *map, const void *key, const void *value)
{
	return bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY) ? -errno : 0;
}

/*
 * Called when the map `procs` was changed: forgets which processes were noted as not recorded,
 * because these may be recorded now.
 */
static void forget_strangers(struct sampler *s)
{
	__atomic_fetch_add(&s->skel->bss->strangers_epoch, 1, __ATOMIC_SEQ_CST);
}

/*
 * Deletes the entry of a process if the entry says that it isn't recorded. At the process's next
 * sample the kernel program decides anew.
 */
static void forget_if_ignored(struct sampler *s, pid_t tgid)
{
	int fd = bpf_map__fd(s->skel->maps.procs);
	uint32_t key = tgid;
	struct proc_entry e;

	if (!bpf_map_lookup_elem(fd, &key, &e) &&
	    (e.state == PROC_IGNORED || e.state == PROC_HOST || e.state == PROC_NATIVE))
		bpf_map_delete_elem(fd, &key);
	forget_strangers(s);
}

int sampler_add_root(struct sampler *s, pid_t tgid)
{
	uint32_t key = tgid, one = 1;
	int r = update(s->skel->maps.roots, &key, &one);

	if (r)
		return err_sys(r, "can't add process %d", tgid);
	/*
	 * the process may have been sampled before the user asked for it, and noted as not recorded
	 */
	forget_if_ignored(s, tgid);
	return 0;
}

void sampler_remove_root(struct sampler *s, pid_t tgid)
{
	uint32_t key = tgid;

	bpf_map_delete_elem(bpf_map__fd(s->skel->maps.roots), &key);
}

int sampler_add_layout(struct sampler *s, const struct py_layout *layout, uint16_t *index)
{
	struct py_layout l = *layout;
	uint32_t key = s->n_layouts;
	int r;

	py_layout_set_block(&l);
	for (unsigned i = 0; i < s->n_layouts; i++) {
		if (memcmp(&s->layouts[i], &l, sizeof(l)))
			continue;
		*index = i;
		return 0;
	}
	if (key >= ABI_MAX_LAYOUTS)
		return err_set(-ENOSPC, "there are more than %d different interpreters",
			       ABI_MAX_LAYOUTS);
	r = update(s->skel->maps.layouts, &key, &l);
	if (r)
		return err_sys(r, "can't add an interpreter's layout");
	s->layouts[key] = l;
	*index = s->n_layouts++;
	return 0;
}

const struct py_layout *sampler_layout(const struct sampler *s, uint16_t index)
{
	return index < s->n_layouts ? &s->layouts[index] : NULL;
}

int sampler_set_proc(struct sampler *s, const struct proc_key *key, enum proc_state state,
		     const struct py_where *where, const struct image_place *place, uint32_t space)
{
	struct proc_entry e = {.key = *key, .state = state, .space = space};
	uint32_t tgid = key->tgid;
	int r;

	e.several = state == PROC_PYTHON && map_get(&s->several, tgid);
	if (where)
		e.where = *where;
	if (place)
		e.place = *place;
	r = update(s->skel->maps.procs, &tgid, &e);
	forget_strangers(s);
	return r ? err_sys(r, "can't describe process %u", tgid) : 0;
}

int sampler_set_several(struct sampler *s, const struct proc_several *several)
{
	uint32_t tgid = several->tgid;
	int r;

	if (several->n < 2) {
		if (map_get(&s->several, tgid)) {
			map_del(&s->several, tgid);
			bpf_map_delete_elem(bpf_map__fd(s->skel->maps.several), &tgid);
		}
		return 0;
	}
	r = update(s->skel->maps.several, &tgid, several);
	r = r ? r : map_put(&s->several, tgid, 1);
	return r ? err_sys(r, "can't tell the kernel programs about the interpreters of process %u",
			   tgid)
		 : 0;
}

void sampler_suspect(struct sampler *s, pid_t tgid)
{
	uint32_t key = tgid, one = 1;

	(void)!update(s->skel->maps.suspects, &key, &one);
	forget_if_ignored(s, tgid);
}

int sampler_add_exe(struct sampler *s, const struct exe_key *key, const struct exe_entry *entry)
{
	int r = update(s->skel->maps.exes, key, entry);

	return r ? err_sys(r, "can't tell the kernel programs about an executable") : 0;
}

uint64_t sampler_code_pages(struct sampler *s, const struct proc_key *key, uint64_t task)
{
	uint64_t args[] = {task, key->start_ns, key->exec_id};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	if (!task || bpf_prog_test_run_opts(bpf_program__fd(s->skel->progs.on_question), &opts))
		return 0;
	return opts.retval;
}

void sampler_crowd(struct sampler *s, uint32_t uid, uint64_t until_ns)
{
	if (uid == SAMPLER_ALL_USERS)
		s->skel->bss->crowded_until_ns = until_ns;
	else
		(void)!update(s->skel->maps.crowds, &uid, &until_ns);
}
