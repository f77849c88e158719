/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which process is this, is it wanted, and what is known of its interpreter? New processes with a
 * known executable and forks of known processes are recognized by the kernel program itself, so
 * that a storm of short processes doesn't outrun user space. User space is asked about all other
 * processes.
 */
#ifndef BPF_PROCESS_PROC_H
#define BPF_PROCESS_PROC_H

#include "native/saved.bpf.h"
#include "process/crowd.bpf.h"
#include "maps.bpf.h"
#include "process/number.bpf.h"
#include "process/place.bpf.h"

#define MAX_ANCESTORS 16
/*
 * The time between the first question to user space about a process and the second. The time before
 * each further question is twice the time before the last one.
 */
#define ASK_FIRST_NS  1000000ull
#define ASK_SHIFT_MAX 10 /* how many times the time between questions is doubled: up to a second */

/*
 * Scratch memory, one struct per slot (enum walk_slot), for what is too large for the 512-byte BPF
 * stack.
 */
struct meeting {
	struct proc_entry entry;
	struct rec_proc rec;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_SLOTS);
	__type(key, __u32);
	__type(value, struct meeting);
} meetings SEC(".maps");

walk_inline void read_key(struct task_struct *task, __u32 tgid, struct proc_key *key)
{
	key->start_ns = BPF_CORE_READ(task, group_leader, start_time);
	key->tgid = tgid;
	key->exec_id = (__u32)BPF_CORE_READ(task, self_exec_id);
}

/*
 * Reads what read_task() needs, on kernels before 5.11. That takes eight helper calls and 0.5 us.
 */
walk_inline __u32 ask_for_task(struct rec_sample *rec, struct walk *w)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	read_key(task, BPF_CORE_READ(task, tgid), &rec->proc);
	rec->tid = BPF_CORE_READ(task, pid);
	rec->runtime_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	w->tp = thread_pointer(task);
	return BPF_CORE_READ(task, flags);
}

walk_inline __u32 load_task(struct rec_sample *rec, struct walk *w, struct proc_key *key)
{
	struct task_struct *task = bpf_get_current_task_btf();

	key->start_ns = task->group_leader->start_time;
	key->tgid = task->tgid;
	key->exec_id = (__u32)task->self_exec_id;
	rec->tid = task->pid;
	rec->runtime_ns = task->se.sum_exec_runtime;
	if (bpf_core_field_exists(task->thread.fsbase))
		w->tp = task->thread.fsbase;
	else
		w->tp = task->thread.uw.tp_value;
	return task->flags;
}

/*
 * Reads what every sample needs of the current task. Returns the task's flags. If rec->proc.tgid is
 * 0, the task isn't visible in krait's PID namespace.
 */
walk_inline __u32 read_task(struct rec_sample *rec, struct walk *w)
{
	struct proc_key key;
	__u32 flags;

	if (bpf_core_enum_value_exists(enum bpf_func_id___ask,
				       BPF_FUNC_get_current_task_btf___ask)) {
		flags = load_task(rec, w, &key);
	} else {
		flags = ask_for_task(rec, w);
		key = rec->proc;
	}
	if (pidns_inum) {
		struct task_struct *task = (void *)bpf_get_current_task();

		key.tgid = tgid_of(task);
		rec->tid = number_of(BPF_CORE_READ(task, thread_pid));
	}
	rec->proc = w->proc = key;
	return flags;
}

/*
 * Returns the entry of process @tgid, or NULL. An LRU map may give the memory of an entry to
 * another process at any time, even while a program reads the entry. The new key is written first.
 * So a copy of the entry counts only if the key is still the same after copying. Nothing is ever
 * written through this pointer.
 */
walk_inline const struct proc_entry *proc_entry_of(__u32 tgid)
{
	return bpf_map_lookup_elem(&procs, &tgid);
}

walk_inline bool same_key(const struct proc_key *a, const struct proc_key *b)
{
	return a->start_ns == b->start_ns && a->exec_id == b->exec_id && a->tgid == b->tgid;
}

/*
 * Tells whether process @tgid is in map `roots`, because the user asked for it, or is a descendant
 * of such a process.
 */
walk_inline bool is_wanted(struct task_struct *task, __u32 tgid)
{
	if (whole_machine || bpf_map_lookup_elem(&roots, &tgid))
		return true;
	if (!follow_children)
		return false;
	for (int i = 0; i < MAX_ANCESTORS; i++) {
		task = BPF_CORE_READ(task, real_parent);
		tgid = tgid_of(task);
		if (tgid <= 1)
			return false;
		if (bpf_map_lookup_elem(&roots, &tgid))
			return true;
	}
	return false;
}

walk_inline __s64 mtime_ns(struct inode *inode)
{
	if (bpf_core_field_exists(inode->i_mtime_sec))
		return BPF_CORE_READ(inode, i_mtime_sec) * 1000000000ll +
		       BPF_CORE_READ(inode, i_mtime_nsec);
	if (bpf_core_field_exists(inode->__i_mtime))
		return BPF_CORE_READ(inode, __i_mtime.tv_sec) * 1000000000ll +
		       BPF_CORE_READ(inode, __i_mtime.tv_nsec);
	return BPF_CORE_READ(inode, i_mtime.tv_sec) * 1000000000ll +
	       BPF_CORE_READ(inode, i_mtime.tv_nsec);
}

/*
 * Reads what identifies the executable's file: its device, inode and times, as the kernel has them.
 */
walk_inline void read_exe(struct task_struct *task, struct rec_proc *rec)
{
	struct inode *inode = BPF_CORE_READ(task, mm, exe_file, f_inode);

	rec->exe.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	rec->exe.ino = BPF_CORE_READ(inode, i_ino);
	rec->exe.generation = BPF_CORE_READ(inode, i_generation);
	rec->exe.bytes = BPF_CORE_READ(inode, i_size);
	rec->exe.mtime_ns = mtime_ns(inode);
}

/* Returns the state of a process by its executable; PROC_PENDING if the executable isn't known. */
walk_inline __u8 known_exe(struct task_struct *task, struct meeting *m)
{
	struct exe_entry *exe = bpf_map_lookup_elem(&exes, &m->rec.exe);

	if (!exe)
		return PROC_PENDING;
	if (exe->kind == EXE_OTHER || exe->kind == EXE_HOST) {
		if (bpf_map_lookup_elem(&suspects, &m->entry.key.tgid))
			return PROC_PENDING;
		if (all_processes)
			return PROC_NATIVE;
		return exe->kind == EXE_HOST ? PROC_HOST : PROC_IGNORED;
	}
	if (exe->kind == EXE_LINKED) {
		m->entry.where.own_program = exe->where.own_program;
		return PROC_LINKING;
	}
	m->entry.where = exe->where;
	py_where_add_bias(&m->entry.where, BPF_CORE_READ(task, mm, start_code) - exe->start_vaddr);
	return PROC_PYTHON;
}

/*
 * Copies *@p into m->entry. False: the map has given the entry's memory to another process before
 * the copy was complete.
 */
walk_inline bool copy_entry(struct meeting *m, const struct proc_entry *p)
{
	__builtin_memset(m, 0, sizeof(*m));
	m->entry = *p;
	barrier();
	return same_key(&m->entry.key, &p->key);
}

/*
 * Writes m->entry, a changed copy of the entry of process @tgid, back to the map. Writes it only if
 * the entry still belongs to the same process and is in state @state. If user space changes the
 * entry between the last two lines of this function, the answer of user space is lost, and user
 * space is asked again.
 */
walk_inline void put_back(__u32 tgid, const struct meeting *m, __u8 state)
{
	const struct proc_entry *p = proc_entry_of(tgid);

	if (p && p->state == state && same_key(&p->key, &m->entry.key))
		bpf_map_update_elem(&procs, &tgid, &m->entry, BPF_EXIST);
}

/* Returns the state in entry @p of process image @key; 0: the entry belongs to another image. */
walk_inline __u8 state_of(const struct proc_entry *p, const struct proc_key *key)
{
	__u8 state = p->state;

	barrier();
	return same_key(&p->key, key) ? state : 0;
}

/*
 * Copies what entry @p says of process image @key. Returns the state of the process; 0: the entry
 * belongs to another image.
 */
walk_inline __u8 copy_where(struct py_where *where, __u32 *space, __u64 *space_before_ns,
			    const struct proc_entry *p, const struct proc_key *key)
{
	__u8 state = p->state;

	*where = p->where;
	*space = p->space;
	*space_before_ns = p->space_before_ns;
	barrier();
	return same_key(&p->key, key) ? state : 0;
}

walk_inline bool is_at(struct task_struct *task, const struct image_place *place)
{
	return place->start_code == BPF_CORE_READ(task, mm, start_code) &&
	       place->start_stack == BPF_CORE_READ(task, mm, start_stack);
}

/*
 * Have tasks @a and @b the same executable, loaded at the same place? (That the counts of execs are
 * equal isn't proof enough.)
 */
walk_inline bool same_image(struct task_struct *a, struct task_struct *b)
{
	struct image_place place = {BPF_CORE_READ(a, mm, start_code),
				    BPF_CORE_READ(a, mm, start_stack)};

	return BPF_CORE_READ(a, mm, exe_file, f_inode) == BPF_CORE_READ(b, mm, exe_file, f_inode) &&
	       is_at(b, &place);
}

/*
 * Was @task forked, and has it not called execve() since the fork? (copy_process() in
 * kernel/fork.c)
 */
walk_inline bool has_parents_image(struct task_struct *task)
{
	return (__u32)BPF_CORE_READ(task, parent_exec_id) ==
	       (__u32)BPF_CORE_READ(task, self_exec_id);
}

/*
 * Was @task forked, and has neither @task nor its parent called execve() since the fork? @key: the
 * parent's key.
 */
walk_inline bool no_exec_since(struct task_struct *task, const struct proc_key *key)
{
	return (__u32)BPF_CORE_READ(task, parent_exec_id) == key->exec_id &&
	       has_parents_image(task);
}

/*
 * Uses for @task what is known of its parent, if neither has called execve() since @task was
 * forked. Then @task also has the parent's mappings, if these were read before the fork. If the
 * parent uses the mappings of its own parent in turn, these must have been read before the parent
 * was forked.
 */
walk_inline bool known_parent(struct task_struct *task, struct meeting *m)
{
	struct task_struct *parent = BPF_CORE_READ(task, real_parent);
	__u32 tgid = tgid_of(parent);
	const struct proc_entry *p = proc_entry_of(tgid);
	__u64 before_ns = 0;
	struct proc_key key;
	bool known;

	m->rec.parent = tgid;
	read_key(parent, tgid, &key);
	known = p &&
		copy_where(&m->entry.where, &m->entry.space, &before_ns, p, &key) == PROC_PYTHON &&
		no_exec_since(task, &key) && same_image(parent, task);
	m->entry.space_before_ns = before_ns ? before_ns : m->entry.key.start_ns;
	if (!known || bpf_map_lookup_elem(&early_unmaps, &m->entry.key.tgid))
		m->entry.space = 0;
	return known;
}

/*
 * Reads the name and the arguments of the process, which are shown to people. The kernel program
 * reads them because the process may be gone when user space could look.
 */
walk_inline void read_names(struct task_struct *task, struct rec_proc *rec)
{
	__u64 start = BPF_CORE_READ(task, mm, arg_start), n = BPF_CORE_READ(task, mm, arg_end);

	BPF_CORE_READ_STR_INTO(&rec->comm, task, group_leader, comm);
	n -= start;
	if (n > sizeof(rec->args))
		n = sizeof(rec->args);
	opaque(n);
	if (n > sizeof(rec->args))
		return;
	read_user(rec->args, n, start);
}

/*
 * Sends m->entry to user space. Wakes user space if it has to answer. Unless the recording is
 * `patient`, wakes user space for any process, because the process may be gone soon. Doesn't wake
 * user space for a process that is only counted. Returns false if the ring refused the record. Then
 * no sample of the process may be sent, because user space couldn't name it.
 */
walk_inline bool tell_user(struct meeting *m, __u64 now)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	bool wakes =
		!is_counted_only(m->entry.state) && (!patient || m->entry.state == PROC_PENDING);

	m->rec.type = REC_PROC;
	m->rec.state = m->entry.state;
	m->rec.new = m->entry.new;
	m->rec.start_boot_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	m->rec.uid = uid_of(task);
	m->rec.proc = m->entry.key;
	m->rec.where = m->entry.where;
	m->rec.space = (__u16)m->entry.space;
	m->rec.time_ns = now;
	m->entry.asked_ns = now;
	m->entry.asks++;
	return !ring_output(&m->rec, sizeof(m->rec),
			    wakes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/*
 * Tells whether the process began after sampling did, or has called execve() since its first
 * sample.
 */
walk_inline bool is_new(const struct proc_key *key)
{
	const struct proc_entry *p = proc_entry_of(key->tgid);

	return key->start_ns >= began_ns || (p && p->key.start_ns == key->start_ns &&
					     (p->new || p->key.exec_id != key->exec_id));
}

/*
 * Reads the control groups and working directory of the process whose entry is being made. Returns
 * 0.
 */
walk_global int read_place(__u32 slot)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct meeting *m = bpf_map_lookup_elem(&meetings, &slot);

	if (!m)
		return 0;
	m->rec.task = (__u64)BPF_CORE_READ(task, group_leader);
	read_groups(task, &m->rec.place);
	read_dir(task, &m->rec.place.dir);
	return 0;
}

/*
 * Creates the entry in the map `procs` of the current task's process image, and sends it to user
 * space. To be called if the image has no entry, or if its entry says that its samples are only
 * counted. Returns 0.
 */
walk_global int meet_process(__u32 slot, __u32 tgid)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct meeting *m = bpf_map_lookup_elem(&meetings, &slot);

	if (!m)
		return 0;
	__builtin_memset(m, 0, sizeof(*m));
	read_key(task, tgid, &m->entry.key);
	m->entry.state = PROC_IGNORED;
	if (is_wanted(task, tgid)) {
		read_exe(task, &m->rec);
		m->entry.state = known_parent(task, m) ? PROC_PYTHON : known_exe(task, m);
		m->entry.new = is_new(&m->entry.key);
		if (m->entry.new &&is_crowded(task)) {
			m->entry.state = crowded_state(m->entry.state);
			/*
			 * doesn't keep the slot in map `spaces`, which has the parent's mappings;
			 * another process may get that slot later
			 */
			m->entry.space = 0;
		}
	}
	if (m->entry.state != PROC_IGNORED && m->entry.state != PROC_HOST) {
		read_names(task, &m->rec);
		if (!is_counted_only(m->entry.state))
			read_place(slot);
		if (!tell_user(m, bpf_ktime_get_ns()))
			return 0; /* the next sample of the process will try again */
	}
	bpf_map_update_elem(&procs, &tgid, &m->entry, BPF_ANY);
	return 0;
}

/*
 * Asks user space again what the process is. User space couldn't answer before, because the
 * process's program was still being loaded.
 */
walk_global int ask_again(__u32 slot, __u32 tgid)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct meeting *m = bpf_map_lookup_elem(&meetings, &slot);
	const struct proc_entry *p = proc_entry_of(tgid);
	__u64 now = bpf_ktime_get_ns();
	__u32 shift;

	if (!m || !p || !copy_entry(m, p) || m->entry.key.tgid != tgid)
		return 0;
	shift = m->entry.asks < ASK_SHIFT_MAX ? m->entry.asks : ASK_SHIFT_MAX;
	if (now - m->entry.asked_ns < ASK_FIRST_NS << (shift & 15))
		return 0;
	read_exe(task, &m->rec);
	read_names(task, &m->rec);
	tell_user(m, now);
	put_back(tgid, m, m->entry.state);
	return 0;
}

/*
 * Takes over an entry that user space made before the first sample, if the process still runs the
 * image that user space saw. Else the process gets an entry as any new process does. Returns 0.
 */
walk_global int adopt_process(__u32 slot, __u32 tgid)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct meeting *m = bpf_map_lookup_elem(&meetings, &slot);
	const struct proc_entry *p = proc_entry_of(tgid);

	if (!m || !p)
		return 0;
	if (!copy_entry(m, p) || m->entry.key.tgid != tgid || m->entry.key.start_ns ||
	    !is_at(task, &m->entry.place))
		return meet_process(slot, tgid);
	read_key(task, tgid, &m->entry.key);
	read_exe(task, &m->rec);
	read_names(task, &m->rec);
	if (tell_user(m, bpf_ktime_get_ns()))
		bpf_map_update_elem(&procs, &tgid, &m->entry, BPF_ANY);
	return 0;
}

/*
 * Returns the entry of the current process image @key, and creates the entry if there is none.
 * NULL: it couldn't be created. The memory of the entry may be given to another process at any
 * time: see copy_where().
 */
walk_inline const struct proc_entry *current_proc(__u32 slot, const struct proc_key *key)
{
	__u32 tgid = key->tgid;
	const struct proc_entry *p = proc_entry_of(tgid);
	struct task_struct *task;

	if (p && same_key(&p->key, key) &&
	    (!is_counted_only(p->state) || is_crowded((void *)bpf_get_current_task())))
		return p;
	task = (void *)bpf_get_current_task();
	if (!BPF_CORE_READ(task, mm, start_code))
		return 0; /* the thread is inside execve(), when neither image is mapped */
	if (p && !p->key.start_ns)
		adopt_process(slot, tgid);
	else
		meet_process(slot, tgid);
	return proc_entry_of(tgid);
}

#endif
