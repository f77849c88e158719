/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds libpython in processes whose executable is linked with libpython or loads it by dlopen().
 * The address of libpython differs between processes. It is read from the loader's list of
 * libraries (struct r_debug, struct link_map of glibc and musl, which debuggers use), so that a
 * process that lives for 60 ms needs no answer from user space.
 */
#ifndef BPF_PROCESS_LINKED_H
#define BPF_PROCESS_LINKED_H

#include "process/known.bpf.h"
#include "process/proc.bpf.h"

/* how many libraries of the loader's list are looked at; a linked libpython comes early */
#define MAX_LIBRARIES	  64
#define MAX_LINKING_TRIES 200 /* after this many samples without a libpython, user space is asked */

struct link_map {
	__u64 addr, name, dynamic, next;
};

/*
 * Sets w->acc to the hash (check_dynamic()) over the dynamic section at @addr. Negative: the
 * section isn't readable.
 */
walk_global int check_library(__u32 slot, __u64 addr)
{
	struct walk *w = walk_state(slot);
	__u64 h = 0;

	if (!w || read_user(w->text, TEXT_BYTES, addr))
		return -1;
	for (__u32 i = 0; i < ABI_DYNAMIC_ENTRIES; i++)
		h = check_dynamic(h, ((__u64 *)w->text)[2 * i], ((__u64 *)w->text)[2 * i + 1]);
	w->acc = h;
	return 0;
}

/*
 * Looks at the entry at @at of the loader's list of libraries. Sets w->found to the load bias if
 * the entry is that of the library whose dynamic section lies at @dynamic and has this @check.
 * Returns the address of the next entry; 0: there is none.
 */
walk_global __u64 see_library(__u32 slot, __u64 at, __u64 dynamic, __u64 check)
{
	struct walk *w = walk_state(slot);
	struct link_map map;

	if (!w || read_user(&map, sizeof(map), at))
		return 0;
	if (map.dynamic - map.addr == dynamic && !check_library(slot, map.dynamic) &&
	    w->acc == check)
		w->found = map.addr;
	return map.next;
}

/* Returns the load bias of libpython in the current process; 0: libpython isn't mapped (yet). */
walk_inline __u64 find_library(struct walk *w, const struct exe_entry *exe, __u64 bias)
{
	__u64 debug = 0, at = 0;

	if (read_user(&debug, sizeof(debug), exe->debug_slot + bias) || !debug ||
	    read_user(&at, sizeof(at), debug + 8))
		return 0;
	w->found = 0;
	for (int i = 0; i < MAX_LIBRARIES && at && !w->found; i++)
		at = see_library(w->slot, at, exe->lib_dynamic, exe->lib_check);
	return w->found;
}

/*
 * Looks for libpython in a process in state PROC_LINKING, PROC_HOST or PROC_PENDING. If it is
 * found, sets w->where and returns 1.
 */
walk_global int find_linked(__u32 slot, __u32 tgid)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct walk *w = walk_state(slot);
	struct meeting *m = bpf_map_lookup_elem(&meetings, &slot);
	const struct proc_entry *p = proc_entry_of(tgid);
	struct exe_entry *exe;
	__u8 state;
	__u64 bias;

	if (!w || !m || !p || !copy_entry(m, p) || !same_key(&m->entry.key, &w->proc))
		return 0;
	state = m->entry.state;
	read_exe(task, &m->rec);
	exe = bpf_map_lookup_elem(&exes, &m->rec.exe);
	bias = exe && exe->lib_dynamic
		       ? find_library(w, exe,
				      BPF_CORE_READ(task, mm, start_code) - exe->start_vaddr)
		       : 0;
	if (!bias) {
		if (!exe || (state == PROC_LINKING && m->entry.asks++ > MAX_LINKING_TRIES))
			m->entry.state = PROC_PENDING;
		if (m->entry.state != state || state == PROC_LINKING)
			put_back(tgid, m, state);
		if (m->entry.state != state)
			forget_strangers();
		return 0;
	}
	m->entry.where = exe->where;
	py_where_add_bias(&m->entry.where, bias);
	m->entry.state = PROC_PYTHON;
	read_names(task, &m->rec);
	read_place(slot);
	if (!tell_user(m, bpf_ktime_get_ns()))
		return 0;
	w->where = m->entry.where;
	bpf_map_update_elem(&procs, &tgid, &m->entry, BPF_ANY);
	forget_strangers();
	return 1;
}

#endif
