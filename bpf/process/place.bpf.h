/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the control groups and the working directory of a new process, as the kernel's own numbers.
 * Reading them from /proc would be a third of what a new process costs. User space reads /proc only
 * if it doesn't know the numbers.
 */
#ifndef BPF_PROCESS_PLACE_H
#define BPF_PROCESS_PLACE_H

#include "kernel.h"

#define GROUP_MASK ((1ull << ABI_GROUP_SHIFT) - 1)

/* Returns the struct of type @type whose member @member is at @at. */
#define CORE_CONTAINER(at, type, member)                                                           \
	((struct type *)((char *)(at)-bpf_core_field_offset(struct type, member)))

walk_inline __u64 group_of(struct cgrp_cset_link *link)
{
	struct cgroup *group = BPF_CORE_READ(link, cgrp);

	return (__u64)BPF_CORE_READ(group, root, hierarchy_id) << ABI_GROUP_SHIFT |
	       (BPF_CORE_READ(group, kn, id) & GROUP_MASK);
}

/*
 * Reads the control groups of @task. Nothing is locked. If the task changes its groups at the same
 * time, the groups that are read may be a mix that no task has.
 */
walk_inline void read_groups(struct task_struct *task, struct proc_place *place)
{
	struct cgrp_cset_link *link;
	struct list_head *at, *end;
	struct css_set *set;

	if (!bpf_core_field_exists(task->cgroups))
		return;
	set = BPF_CORE_READ(task, cgroups);
	end = (void *)((char *)set + bpf_core_field_offset(struct css_set, cgrp_links));
	at = BPF_CORE_READ(set, cgrp_links.next);
	for (int i = 0; i < ABI_GROUPS; i++) {
		if (!at || at == end)
			break;
		link = CORE_CONTAINER(at, cgrp_cset_link, cgrp_link);
		place->group[i] = group_of(link);
		at = BPF_CORE_READ(link, cgrp_link.next);
	}
	if (at != end)
		/*
		 * the task has more control groups than there is room for, or the list can't be
		 * read
		 */
		place->group[0] = 0;
}

walk_inline void read_dir(struct task_struct *task, struct place_dir *dir)
{
	struct vfsmount *mnt = BPF_CORE_READ(task, fs, pwd.mnt);
	struct inode *inode = BPF_CORE_READ(task, fs, pwd.dentry, d_inode);
	struct mount___unique *mount;

	if (!mnt || !inode)
		return;
	mount = CORE_CONTAINER(mnt, mount___unique, mnt);
	if (!bpf_core_field_exists(mount->mnt_id_unique))
		return;
	dir->mount = BPF_CORE_READ(mount, mnt_id_unique);
	dir->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	dir->ino = BPF_CORE_READ(inode, i_ino);
	dir->generation = BPF_CORE_READ(inode, i_generation);
}

#endif
