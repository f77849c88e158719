/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers questions about one process; see process.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "collect/common/raw.h"
#include "collect/process/process.h"
#include "proc/read/stat.h"
#include "python/heap/heap.h"

struct process *process_newest(const struct collect *c, uint32_t tgid)
{
	uint64_t *i = map_get(&c->processes->by_tgid, tgid);

	return i ? process_at(c, *i - 1) : NULL;
}

/*
 * Do threads of the process still run? Called when perf has reported that the first thread of the
 * process has ended: other threads may go on running (pthread_exit() in main).
 */
bool process_has_threads(const struct process *p)
{
	char path[64];
	struct stat st;

	/*
	 * In most cases all threads of the process have ended when this is called. kill() shows
	 * that at a tenth of the cost of looking into /proc.
	 */
	if (kill((pid_t)p->key.tgid, 0) && errno == ESRCH)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/task", p->key.tgid);
	/*
	 * The directory has 2 links of its own, and 1 for the directory of each thread. The first
	 * thread, which has ended, still has its directory.
	 */
	return !stat(path, &st) && st.st_nlink > 3;
}

bool process_is_gone(const struct process *p)
{
	return p->ended && (p->replaced || !process_has_threads(p));
}

bool process_is(const struct process *p, const struct proc *proc)
{
	struct proc_stat stat;

	return !proc_stat_read(proc->dirfd, &stat) && proc_stat_start_ns(&stat) == p->start_boot_ns;
}

bool process_open(struct process *p, struct proc *ret)
{
	int r = proc_open(ret, p->key.tgid);

	p->ended |= r == -ESRCH;
	return !r;
}

bool process_is_awaited(const struct collect *c, const struct process *p, const struct waiting *w)
{
	if (p->samples || (!p->expected && p->state != PROC_PENDING))
		return false;
	return w->flush == c->flushes ||
	       (!collect_has_earlier(c, w->round) && (p->expected || !p->met_ns));
}

uint64_t process_exec_ns(const struct collect *c, uint32_t tgid)
{
	const uint64_t *at = map_get(&c->processes->execs, tgid);

	return at ? *at : 0;
}

void process_note_version(struct collect *c, uint16_t version)
{
	if (!heap_is_known(version))
		c->stats.newer_version = version;
}

uint32_t process_mapping_of(struct collect *c, uint16_t version)
{
	struct processes *all = c->processes;
	char name[32];

	if (all->mapping && all->mapping_version == version)
		return all->mapping;
	snprintf(name, sizeof(name), "[python %u.%u]", version >> 8, version & 0xff);
	all->mapping_version = version;
	all->mapping = profile_mapping(
		c->profile, &(struct profile_mapping){.name = profile_string(c->profile, name),
						      .kind = KIND_PYTHON});
	return all->mapping;
}

void process_is_python(struct collect *c, struct process *p, uint16_t version)
{
	p->version = version;
	process_note_version(c, version);
	p->mapping = process_mapping_of(c, version);
}
