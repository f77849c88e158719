/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel program learns about a sample's process from the kernel's structs: its number in
 * a PID namespace, its owner, its executable, its parent, whether it is recorded, and whether its
 * user starts too many processes.
 */
#include "kernel_shim.h"
#include "kernel_task.h"

#include "events/question.bpf.h"
#include "process/proc.bpf.h"
#include "process/owner.bpf.h"

static int setup(void **state)
{
	(void)state;
	shim_clear();
	shim_map(procs);
	shim_map(roots);
	shim_map(exes);
	shim_map(suspects);
	shim_map(early_unmaps);
	shim_map(crowds);
	shim_map(counters);
	shim_add(&rings, sizeof(__u32), 8, true);
	crowded_until_ns = 0;
	began_ns = 0;
	settled = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shim_clear();
	return 0;
}

static void test_owner(void **state)
{
	struct made m;
	struct mm_struct___bits *bits = (void *)&m.mm;
	__u32 uid, gid;

	(void)state;
	make(&m, 7, NULL);
	bits->flags.__mm_flags[0] = SUID_DUMP_USER | 0xf0;
	assert_true(has_owner(&m.task, &uid, &gid));
	assert_int_equal(uid, 1000);
	assert_int_equal(gid, 100);
	bits->flags.__mm_flags[0] = 2; /* SUID_DUMP_ROOT */
	assert_false(has_owner(&m.task, &uid, &gid));
	bits->flags.__mm_flags[0] = SUID_DUMP_USER;
	m.who.caps = 1ull << 39;
	assert_false(has_owner(&m.task, &uid, &gid));
	m.who.caps = 0;
	/* if its user or group ids aren't all equal, the process has no owner that is certain */
	for (size_t i = 0; i < 4; i++) {
		__u32 *const ids[] = {&m.who.cred.euid.val, &m.who.cred.suid.val,
				      &m.who.cred.egid.val, &m.who.cred.sgid.val};
		__u32 was = *ids[i];

		*ids[i] = 0;
		assert_false(has_owner(&m.task, &uid, &gid));
		*ids[i] = was;
	}
	assert_true(has_owner(&m.task, &uid, &gid));
}

static void test_numbers(void **state)
{
	struct made m;

	(void)state;
	make(&m, 47, NULL);
	m.task.tgid = 48;
	/*
	 * krait is in the machine's first PID namespace, so it ignores numbers in other namespaces
	 */
	assert_int_equal(tgid_of(&m.task), 48);
	m.task.tgid = 47;
	m.pid.pid.level = 0;
	m.pid.pid.numbers[0].ns = &inner_ns;
	assert_int_equal(number_of(&m.pid.pid), 0); /* no namespace has the number 0 */
	SHIM_SET(pidns_inum, (__u32){200});
	make(&m, 47, NULL);
	assert_int_equal(tgid_of(&m.task), 7);
	/* the process isn't in the inner namespace, so numbers[1] isn't valid */
	m.pid.pid.level = 0;
	assert_int_equal(tgid_of(&m.task), 0);
	SHIM_SET(pidns_inum, (__u32){0});
}

static void test_image(void **state)
{
	struct made a, b;
	struct proc_key key;

	(void)state;
	make(&a, 5, NULL);
	fork_of(&b, 6, &a);
	assert_true(same_image(&a.task, &b.task));
	b.mm.start_stack +=
		16; /* after another execve() of the same file, the stack begins elsewhere */
	assert_false(same_image(&a.task, &b.task));
	b.mm.start_stack -= 16;
	b.mm.exe_file = &b.exe;
	assert_false(same_image(&a.task, &b.task));
	read_key(&a.task, 5, &key);
	assert_int_equal(key.start_ns, 5 * SECOND);
	assert_true(no_exec_since(&b.task, &key));
	b.task.self_exec_id = 1;
	assert_false(no_exec_since(&b.task, &key));
	b.task.self_exec_id = 0;
	key.exec_id = 1; /* the parent called execve() after the fork */
	assert_false(no_exec_since(&b.task, &key));
}

static void test_parent(void **state)
{
	const struct proc_key key = {5 * SECOND, 5, 0};
	struct proc_entry entry = {
		.key = key, .state = PROC_PYTHON, .space = 3, .where = {.layout = 9}};
	static struct meeting m;
	struct made a, b;
	__u32 tgid = 5, one = 1;

	(void)state;
	make(&a, 5, NULL);
	fork_of(&b, 6, &a);
	memset(&m, 0, sizeof(m));
	read_key(&b.task, 6, &m.entry.key);
	/* the parent isn't in the kernel program's map */
	assert_false(known_parent(&b.task, &m));
	bpf_map_update_elem(&procs, &tgid, &entry, BPF_ANY);
	assert_true(known_parent(&b.task, &m));
	assert_int_equal(m.rec.parent, 5);
	assert_int_equal(m.entry.space, 3);
	assert_int_equal(m.entry.where.layout, 9);
	/* the parent's mappings were read before the fork */
	assert_int_equal(m.entry.space_before_ns, 6 * SECOND);
	b.mm.start_stack++; /* the forked process has called execve() */
	assert_false(known_parent(&b.task, &m));
	assert_int_equal(m.entry.space, 0);
	b.mm.start_stack--;
	/* the parent itself uses the mappings of its own parent */
	entry.space_before_ns = 2;
	bpf_map_update_elem(&procs, &tgid, &entry, BPF_ANY);
	assert_true(known_parent(&b.task, &m));
	assert_int_equal(m.entry.space_before_ns, 2);
	tgid = 6;
	bpf_map_update_elem(&early_unmaps, &tgid, &one, BPF_ANY);
	assert_true(known_parent(&b.task, &m));
	assert_int_equal(m.entry.space, 0); /* the forked process itself has unmapped code */
	/* the map's entry is of an earlier process with the parent's pid */
	entry.key.start_ns++;
	tgid = 5;
	bpf_map_update_elem(&procs, &tgid, &entry, BPF_ANY);
	assert_false(known_parent(&b.task, &m));
}

/*
 * With children followed, all descendants of a root (a process that the user named) are recorded.
 */
static void test_wanted(void **state)
{
	struct made init, root, child, grandchild, other;
	__u32 tgid = 10, one = 1;

	(void)state;
	make(&init, 1, NULL);
	make(&root, 10, &init);
	make(&child, 11, &root);
	make(&grandchild, 12, &child);
	make(&other, 13, &init);
	bpf_map_update_elem(&roots, &tgid, &one, BPF_ANY);
	assert_true(is_wanted(&root.task, 10));
	assert_false(is_wanted(&grandchild.task, 12));
	SHIM_SET(follow_children, (bool){true});
	assert_true(is_wanted(&grandchild.task, 12));
	assert_false(is_wanted(&other.task, 13));
	SHIM_SET(follow_children, (bool){false});
	SHIM_SET(whole_machine, (bool){true});
	assert_true(is_wanted(&other.task, 13));
	SHIM_SET(whole_machine, (bool){false});
}

static void test_executables(void **state)
{
	struct exe_entry exe = {.start_vaddr = 0x400000, .where = {.layout = 4}};
	static const struct {
		__u8 kind, state;
	} wanted[] = {{EXE_OTHER, PROC_IGNORED}, {EXE_HOST, PROC_HOST}, {EXE_LINKED, PROC_LINKING}};
	static struct meeting m;
	struct made a;
	__u32 tgid = 5, one = 1;

	(void)state;
	make(&a, 5, NULL);
	memset(&m, 0, sizeof(m));
	read_key(&a.task, 5, &m.entry.key);
	m.rec.exe = (struct exe_key){.dev = 8 << 20 | 1, .ino = 5, .bytes = 4096};
	assert_int_equal(known_exe(&a.task, &m), PROC_PENDING);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		exe.kind = wanted[i].kind;
		bpf_map_update_elem(&exes, &m.rec.exe, &exe, BPF_ANY);
		assert_int_equal(known_exe(&a.task, &m), wanted[i].state);
	}
	exe.kind = EXE_PYTHON;
	bpf_map_update_elem(&exes, &m.rec.exe, &exe, BPF_ANY);
	assert_int_equal(known_exe(&a.task, &m), PROC_PYTHON);
	assert_int_equal(m.entry.where.layout, 4);
	/* the process maps a libpython, but its executable isn't Python */
	exe.kind = EXE_OTHER;
	bpf_map_update_elem(&exes, &m.rec.exe, &exe, BPF_ANY);
	bpf_map_update_elem(&suspects, &tgid, &one, BPF_ANY);
	assert_int_equal(known_exe(&a.task, &m), PROC_PENDING);
	/* the inode number now belongs to another file */
	m.rec.exe.generation++;
	bpf_map_update_elem(&exes, &m.rec.exe, &(struct exe_entry){.kind = EXE_PYTHON}, BPF_ANY);
	assert_int_equal(known_exe(&a.task, &m), PROC_PYTHON);
}

static void test_entries(void **state)
{
	const struct proc_key key = {5 * SECOND, 5, 0};
	struct proc_entry entry = {.key = key, .state = PROC_PENDING, .space = 3};
	static struct meeting m;
	struct py_where where;
	__u64 before_ns;
	__u32 tgid = 5, space;

	(void)state;
	bpf_map_update_elem(&procs, &tgid, &entry, BPF_ANY);
	assert_true(copy_entry(&m, proc_entry_of(5)));
	m.entry.asks = 4;
	put_back(5, &m, PROC_PENDING);
	assert_int_equal(proc_entry_of(5)->asks, 4);
	assert_int_equal(copy_where(&where, &space, &before_ns, proc_entry_of(5), &key),
			 PROC_PENDING);
	assert_int_equal(space, 3);
	/* user space answered after the entry was copied; its answer must stay */
	entry.state = PROC_PYTHON;
	bpf_map_update_elem(&procs, &tgid, &entry, BPF_ANY);
	m.entry.asks = 5;
	put_back(5, &m, PROC_PENDING);
	assert_int_equal(proc_entry_of(5)->asks, 0);
	/* the pid now belongs to another process */
	entry.key.start_ns++;
	entry.state = PROC_PENDING;
	bpf_map_update_elem(&procs, &tgid, &entry, BPF_ANY);
	put_back(5, &m, PROC_PENDING);
	assert_int_equal(proc_entry_of(5)->asks, 0);
	assert_int_equal(copy_where(&where, &space, &before_ns, proc_entry_of(5), &key), 0);
	put_back(6, &m, PROC_PENDING);
	assert_null(proc_entry_of(6));
}

/*
 * The record of a process repeats the process's entry in the map. If user space has to answer, the
 * record wakes it.
 */
static void test_told(void **state)
{
	static struct meeting m;
	const struct rec_proc *rec = (const void *)shim.sent[0].bytes;
	struct made a;

	(void)state;
	make(&a, 5, NULL);
	shim.task = &a.task;
	memset(&m, 0, sizeof(m));
	read_key(&a.task, 5, &m.entry.key);
	m.entry.state = PROC_PENDING;
	m.entry.space = 7;
	assert_true(tell_user(&m, 99));
	assert_int_equal(shim.n_sent, 1);
	assert_int_equal(shim.sent[0].flags, BPF_RB_FORCE_WAKEUP);
	assert_int_equal(rec->type, REC_PROC);
	assert_int_equal(rec->state, PROC_PENDING);
	assert_int_equal(rec->proc.tgid, 5);
	assert_int_equal(rec->space, 7);
	assert_int_equal(rec->uid, 1000);
	assert_int_equal(rec->start_boot_ns, 5 * SECOND + 3);
	assert_int_equal(rec->time_ns, 99);
	assert_int_equal(m.entry.asks, 1);
	m.entry.state = PROC_CROWDED;
	assert_true(tell_user(&m, 100));
	assert_int_equal(shim.sent[1].flags, BPF_RB_NO_WAKEUP);
	shim.full = true;
	assert_false(tell_user(&m, 101));
}

static void test_new(void **state)
{
	struct proc_entry entry = {.key = {5 * SECOND, 5, 0}, .state = PROC_PYTHON};
	struct proc_key key = entry.key;
	__u32 tgid = 5;

	(void)state;
	began_ns = 6 * SECOND;
	assert_false(is_new(&key));
	key.start_ns = began_ns;
	assert_true(is_new(&key));
	key = entry.key;
	bpf_map_update_elem(&procs, &tgid, &entry, BPF_ANY);
	assert_false(is_new(&key));
	key.exec_id = 1; /* the process has called execve() since the kernel program first saw it */
	assert_true(is_new(&key));
}

static void test_crowds(void **state)
{
	static const __u8 states[][2] = {
		{PROC_PENDING, PROC_UNASKED}, {PROC_UNASKED, PROC_UNASKED},
		{PROC_IGNORED, PROC_IGNORED}, {PROC_HOST, PROC_HOST},
		{PROC_PYTHON, PROC_CROWDED},  {PROC_NATIVE, PROC_CROWDED},
	};
	__u64 until_ns = 50;
	__u32 uid = 1000;
	struct made a;

	(void)state;
	make(&a, 5, NULL);
	assert_false(is_crowded(&a.task));
	bpf_map_update_elem(&crowds, &uid, &until_ns, BPF_ANY);
	shim.now_ns = 49;
	assert_true(is_crowded(&a.task));
	shim.now_ns = 50;
	assert_false(is_crowded(&a.task));
	shim.now_ns = 49;
	a.who.cred.uid.val = 1001;
	assert_false(is_crowded(&a.task));
	crowded_until_ns = 50; /* until this time, all users count as starting too many processes */
	assert_true(is_crowded(&a.task));
	shim.now_ns = 50;
	assert_false(is_crowded(&a.task));
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		assert_int_equal(crowded_state(states[i][0]), states[i][1]);
}

/*
 * A task's control groups as the kernel has them: a ring of links that begins and ends in the
 * task's css_set.
 */
struct groups {
	struct cgroup_root root[ABI_GROUPS + 1];
	struct kernfs_node node[ABI_GROUPS + 1];
	struct cgroup group[ABI_GROUPS + 1];
	struct cgrp_cset_link link[ABI_GROUPS + 1];
	struct css_set set;
};

static void make_groups(struct made *m, struct groups *g, size_t n)
{
	struct list_head *at = &g->set.cgrp_links;

	for (size_t i = 0; i < n; i++) {
		g->root[i].hierarchy_id = (int)i;
		g->node[i].id = 100 + i;
		g->group[i] = (struct cgroup){.kn = &g->node[i], .root = &g->root[i]};
		g->link[i].cgrp = &g->group[i];
		at->next = &g->link[i].cgrp_link;
		at = at->next;
	}
	at->next = &g->set.cgrp_links;
	m->task.cgroups = &g->set;
}

static void test_groups(void **state)
{
	static struct groups g, other;
	struct proc_place place = {};
	struct made m;

	(void)state;
	shim.newest = true;
	make(&m, 5, NULL);
	make_groups(&m, &g, 2);
	read_groups(&m.task, &place);
	assert_int_equal(place.group[0], 100);
	assert_int_equal(place.group[1], 1ull << ABI_GROUP_SHIFT | 101);
	assert_int_equal(place.group[2], 0);
	make_groups(&m, &g, ABI_GROUPS);
	read_groups(&m.task, &place);
	assert_int_equal(place.group[0], 100);
	assert_int_equal(place.group[ABI_GROUPS - 1] >> ABI_GROUP_SHIFT, ABI_GROUPS - 1);
	/* the task is in more control groups than a record has room for */
	make_groups(&m, &g, ABI_GROUPS + 1);
	read_groups(&m.task, &place);
	assert_int_equal(place.group[0], 0);
	/* a link was freed while the list was being read, and is now in another task's list */
	make_groups(&m, &other, 3);
	make_groups(&m, &g, 2);
	g.link[1].cgrp_link.next = &other.link[0].cgrp_link;
	read_groups(&m.task, &place);
	assert_int_equal(place.group[0], 0);
	/* the list of control groups can't be read to its end */
	g.link[1].cgrp_link.next = NULL;
	read_groups(&m.task, &place);
	assert_int_equal(place.group[0], 0);
}

static void test_directory(void **state)
{
	struct super_block sb = {.s_dev = 8 << 20 | 1};
	struct inode inode = {.i_ino = 7, .i_generation = 3, .i_sb = &sb};
	struct dentry dentry = {.d_inode = &inode};
	struct mount___unique mount = {.mnt_id_unique = 0x80000005};
	struct fs_struct fs = {.pwd = {&mount.mnt, &dentry}};
	struct place_dir dir = {};
	struct made m;

	(void)state;
	make(&m, 5, NULL);
	m.task.fs = &fs;
	shim.newest = false;
	read_dir(&m.task, &dir);
	/* before Linux 6.8 the number of a mount may be used again, so it isn't read */
	assert_int_equal(dir.mount, 0);
	shim.newest = true;
	read_dir(&m.task, &dir);
	assert_int_equal(dir.mount, 0x80000005);
	assert_int_equal(dir.ino, 7);
	assert_int_equal(dir.dev, 8 << 20 | 1);
	assert_int_equal(dir.generation, 3);
}

/*
 * User space asks how much code a process has mapped, and names the process's start time and count
 * of execs. There is no answer if either has changed.
 */
static void test_question(void **state)
{
	struct made m;
	__u64 args[3];

	(void)state;
	make(&m, 5, NULL);
	m.mm.exec_vm = 1234;
	m.task.self_exec_id = 2;
	args[0] = (uintptr_t)&m.task;
	args[1] = 5 * SECOND;
	args[2] = 2;
	assert_int_equal(on_question(args), 1234);
	args[2] = 1; /* asks about the program before the last execve() */
	assert_int_equal(on_question(args), 0);
	args[2] = 2;
	args[1]++; /* the pid now belongs to another process */
	assert_int_equal(on_question(args), 0);
	args[1]--;
	m.task.mm = NULL; /* it has ended */
	assert_int_equal(on_question(args), 0);
	args[0] = 0;
	assert_int_equal(on_question(args), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_image, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wanted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_executables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crowds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_question, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
