/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes apart the records of the side band (perf's reports of what processes do). Their formats:
 * include/uapi/linux/perf_event.h, enum perf_event_type. Because sample_id_all and sample_type TIME
 * are set, each record ends with its time.
 */
#include <limits.h>

#include "base/system/clock.h"
#include "sampler/sideband/internal.h"

struct body_mmap2 {
	uint32_t tgid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char path[];
};

struct body_comm {
	uint32_t tgid, tid;
	char comm[];
};

struct body_task {
	uint32_t tgid, parent_tgid;
	uint32_t tid, parent_tid;
	uint64_t time_ns;
};

struct body_lost {
	uint64_t id, lost;
};

bool sideband_split(const struct perf_event_header *h, struct record *ret)
{
	if (h->size < sizeof(*h) + sizeof(uint64_t))
		return false;
	*ret = (struct record){.h = h,
			       .body = (const uint8_t *)(h + 1),
			       .n = h->size - sizeof(*h) - sizeof(uint64_t)};
	memcpy(&ret->time_ns, ret->body + ret->n, sizeof(ret->time_ns));
	return true;
}

/* Does the record only say that a thread began, ended or has a new name? */
static bool is_of_thread(const struct record *r, const struct body_task *b)
{
	switch (r->h->type) {
	case PERF_RECORD_COMM:
		return !(r->h->misc & PERF_RECORD_MISC_COMM_EXEC);
	case PERF_RECORD_FORK:
		return b->tgid == b->parent_tgid;
	case PERF_RECORD_EXIT:
		return b->tid != b->tgid;
	default:
		return false;
	}
}

/* All records begin with the tgid, except those that report lost records. */
bool sideband_is_of(const struct record *r, uint32_t tgid)
{
	struct body_task b = {};

	if (r->h->type == PERF_RECORD_LOST || r->n < sizeof(b.tgid))
		return true;
	memcpy(&b, r->body, MIN(r->n, sizeof(b)));
	return b.tgid == tgid && !is_of_thread(r, &b);
}

/*
 * A process outside krait's PID namespace has pid 0, a process that was already reaped has pid -1.
 */
static bool foreign(uint32_t tgid)
{
	return tgid == 0 || tgid == UINT32_MAX;
}

/*
 * Returns the string from offset @at on in the body of record @r; NULL if no '\0' ends the string.
 */
static const char *text_of(const struct record *r, size_t at)
{
	if (r->n <= at || !memchr(r->body + at, '\0', r->n - at))
		return NULL;
	return (const char *)r->body + at;
}

static bool on_mmap(struct sideband *s, const struct record *r)
{
	const struct sideband_config *c = &s->config;
	const char *path = text_of(r, offsetof(struct body_mmap2, path));
	struct body_mmap2 b;

	if (!path)
		return false;
	memcpy(&b, r->body, sizeof(b));
	s->stats.foreign += foreign(b.tgid);
	if (c->ops->mmap && !foreign(b.tgid))
		c->ops->mmap(c->ctx, &(struct sideband_mmap){
					     .tgid = b.tgid,
					     .tid = b.tid,
					     .addr = b.addr,
					     .len = b.len,
					     .pgoff = b.pgoff,
					     .dev = (uint64_t)b.maj << 20 | b.min,
					     .ino = b.ino,
					     .ino_generation = b.ino_generation,
					     .prot = b.prot,
					     .flags = b.flags,
					     .path = path,
					     .time_ns = r->time_ns,
					     .gone = lives_gone(&s->lives, b.tgid, r->time_ns)});
	return true;
}

static bool on_comm(struct sideband *s, const struct record *r)
{
	const struct sideband_config *c = &s->config;
	const char *comm = text_of(r, offsetof(struct body_comm, comm));
	struct body_comm b;

	if (!comm)
		return false;
	memcpy(&b, r->body, sizeof(b));
	s->stats.foreign += foreign(b.tgid);
	if (c->ops->comm && !foreign(b.tgid))
		c->ops->comm(c->ctx, b.tgid, b.tid, comm, r->h->misc & PERF_RECORD_MISC_COMM_EXEC,
			     r->time_ns);
	return true;
}

static bool on_task(struct sideband *s, const struct record *r)
{
	const struct sideband_config *c = &s->config;
	struct body_task b;

	if (r->n < sizeof(b))
		return false;
	memcpy(&b, r->body, sizeof(b));
	s->stats.foreign += foreign(b.tgid);
	if (foreign(b.tgid))
		return true;
	if (r->h->type == PERF_RECORD_FORK && c->ops->fork)
		c->ops->fork(c->ctx, b.tgid, b.tid, b.parent_tgid, b.parent_tid, r->time_ns);
	else if (r->h->type == PERF_RECORD_EXIT && c->ops->exit)
		c->ops->exit(c->ctx, b.tgid, b.tid, r->time_ns);
	return true;
}

static bool on_lost(struct sideband *s, const struct record *r)
{
	struct body_lost b;

	if (r->n < sizeof(b))
		return false;
	memcpy(&b, r->body, sizeof(b));
	s->stats.lost += b.lost;
	if (s->config.ops->lost)
		s->config.ops->lost(s->config.ctx, b.lost);
	return true;
}

bool sideband_dispatch(struct sideband *s, const struct record *r)
{
	switch (r->h->type) {
	case PERF_RECORD_MMAP2:
		return on_mmap(s, r);
	case PERF_RECORD_COMM:
		return on_comm(s, r);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return on_task(s, r);
	case PERF_RECORD_LOST:
		return on_lost(s, r);
	default: /* a type of record that krait hasn't asked for, perhaps of a newer kernel */
		return true;
	}
}

/*
 * A record that another CPU is writing may be missing in that CPU's ring for this long after its
 * time.
 */
#define WRITTEN_NS NSEC_PER_MSEC

void sideband_note_life(struct sideband *s, const struct record *r, uint64_t now_ns)
{
	struct body_task b = {};

	/* A COMM record also begins with the tgid. */
	memcpy(&b, r->body, MIN(r->n, sizeof(b)));
	if (r->h->type == PERF_RECORD_COMM && r->h->misc & PERF_RECORD_MISC_COMM_EXEC)
		lives_began(&s->lives, b.tgid);
	else if (r->h->type == PERF_RECORD_FORK && b.tgid == b.parent_tgid)
		lives_thread(&s->lives, b.tgid);
	else if (r->h->type == PERF_RECORD_FORK)
		lives_began(&s->lives, b.tgid);
	else if (r->h->type == PERF_RECORD_EXIT && b.tid == b.tgid &&
		 r->time_ns + WRITTEN_NS < now_ns)
		lives_ended(&s->lives, b.tgid, r->time_ns);
}

size_t sideband_longest(void)
{
	return sizeof(struct body_mmap2) + PATH_MAX + 64;
}
