/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts what a process unmaps. perf's own records report new mappings, but late. No record says
 * that a mapping is gone, and another file may be mapped at its address a moment later. So the
 * programs in this file count each unmapping when it happens. From then on no native stack of this
 * process is unwound until user space has read the process's mappings again.
 */
#ifndef BPF_EVENTS_UNMAP_H
#define BPF_EVENTS_UNMAP_H

#include "native/search.bpf.h"
#include "process/proc.bpf.h"

/*
 * Returns the mappings of process @tgid, which @task belongs to. NULL: the mappings aren't known.
 */
walk_inline struct unwind_space *space_of(struct task_struct *task, __u32 tgid)
{
	const struct proc_entry *p = proc_entry_of(tgid);
	struct proc_key key;
	__u32 slot = p ? p->space : 0;

	barrier();
	if (!slot)
		return 0;
	read_key(task, tgid, &key);
	if (!same_key(&p->key, &key) && (p->key.start_ns || p->key.tgid != tgid))
		return 0;
	return bpf_map_lookup_elem(&spaces, &slot);
}

walk_inline void note_unmap(__u32 tgid, struct unwind_space *s)
{
	__u32 one = 1;

	if (s)
		__sync_fetch_and_add(&s->unmaps, 1);
	else
		bpf_map_update_elem(&early_unmaps, &tgid, &one, BPF_ANY);
}

walk_inline void on_unmap(struct vm_area_struct *vma)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 tgid;

	if (!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return;
	/*
	 * exit() and execve() unmap the whole mm. Nothing runs in it afterwards, so no old mapping
	 * can be taken for a new one, and these unmappings needn't be counted.
	 */
	if (BPF_CORE_READ(vma, vm_mm) != BPF_CORE_READ(task, mm))
		return;
	tgid = tgid_of(task);
	note_unmap(tgid, space_of(task, tgid));
}

/*
 * Returns 1 if chunk @number has a mapping between @start and @end, 0 if it has none, a negative
 * number if there is no such chunk.
 */
walk_global int chunk_maps(__u32 number, __u64 start, __u64 end)
{
	const struct space_chunk *c = (const void *)unwind_chunk_at(number);
	__u64 m;

	if (!c)
		return -1;
	m = bounded(search_space(c, end - 1), SPACE_MAPPINGS);
	return c->start[m] < end && c->start[m] + ((__u64)c->map[m].pages << 12) > start;
}

/* Tells whether @s has a mapping between @start and @end. */
walk_inline bool is_mapped(const struct unwind_space *s, __u64 start, __u64 end)
{
	for (__u32 i = 0; i < SPACE_CHUNKS && i < s->chunks; i++) {
		int r = chunk_maps(s->chunk[i], start, end);

		if (r)
			return r > 0;
	}
	return false;
}

/*
 * Called when the kernel has chosen @n bytes from @start on for a new mapping of the current
 * process. If krait knows an older mapping there, the older mapping was unmapped, and an unmapping
 * is counted. While user space reads the process's mappings, every new mapping counts as an
 * unmapping, because user space may have read the old one. A forked process without a sample yet
 * will get the known mappings of its parent, so the parent's are searched.
 */
walk_inline void on_new_place(__u64 start, __u64 n)
{
	struct task_struct *task = (void *)bpf_get_current_task(), *parent;
	__u32 tgid = tgid_of(task);
	struct unwind_space *own = space_of(task, tgid), *s = own;

	if (own && own->reading) {
		note_unmap(tgid, own);
		return;
	}
	if (!s && has_parents_image(task)) {
		parent = BPF_CORE_READ(task, real_parent);
		s = space_of(parent, tgid_of(parent));
	}
	if (s && start < SPACE_UNUSED && n < SPACE_UNUSED && is_mapped(s, start, start + n))
		note_unmap(tgid, own);
}

/*
 * Runs when the kernel calls uprobe_munmap() (kernel/events/uprobes.c), which it does for every
 * part of a file that is unmapped (unmap_single_vma() and its successors). (fentry would be
 * cheaper. But only loading a BPF object shows whether the kernel allows fentry, and a second
 * object would double the cost of loading, because all of the kernel's BTF is read again.) A
 * kprobe's context begins with the registers.
 */
SEC("kprobe/uprobe_munmap")
int on_munmap(struct bpf_perf_event_data *ctx)
{
	on_unmap((struct vm_area_struct *)CTX_ARG1(ctx));
	return 0;
}

/*
 * Used instead of on_munmap() where kprobes aren't allowed (a locked-down kernel). Nobody asks for
 * a certain address when a new library is mapped, so the kernel always searches for free addresses
 * (mm/mmap.c, vm_unmapped_area(); its tracepoint is in 5.7+).
 */
SEC("raw_tp/vm_unmapped_area")
int on_place(__u64 *args)
{
	struct vm_unmapped_area_info *info = (void *)args[1];

	on_new_place(args[0], BPF_CORE_READ(info, length));
	return 0;
}

#endif
