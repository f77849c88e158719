/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the two lists of a thread's functions, and compares them; see pypy.h. */
#include <errno.h>

#include "base/system/clock.h"
#include "python/heap/peek.h"
#include "python/pypy/internal.h"

int pypy_peek(const struct pypy *p, uint64_t addr, void *buf, size_t n)
{
	if (clock_ns(CLOCK_MONOTONIC) >= p->until_ns)
		return -ETIMEDOUT;
	return peek(p->pid, addr, buf, n);
}

int pypy_word(const struct pypy *p, uint64_t addr, uint64_t *ret)
{
	return pypy_peek(p, addr, ret, sizeof(*ret));
}

static int has_gil(const struct pypy *p, const struct pypy_thread *t)
{
	uint64_t holder;
	int r = pypy_word(p, p->gil, &holder);

	if (r)
		return r;
	return holder == t->ident ? -EBUSY : 0;
}

int pypy_list_read(const struct pypy *p, uint64_t head, pypy_ids *ret)
{
	struct pypy_entry e = {.next = head};
	int r = 0;

	while (!r && e.next && ret->n <= PYPY_FRAMES) {
		r = pypy_peek(p, e.next, &e, sizeof(e));
		if (!r && (e.kind < VMPROF_FIRST || e.kind > VMPROF_LAST))
			r = -EAGAIN;
		if (!r && e.kind != VMPROF_CODE)
			r = -EOPNOTSUPP;
		if (!r && vec_push(ret, e.value))
			r = -ENOMEM;
	}
	return r;
}

static int read_frame(const struct pypy *p, uint64_t addr, uint64_t id, struct pypy_frame *ret,
		      uint64_t *back)
{
	uint64_t words[PYPY_FRAME_WORDS], found;
	int64_t lasti;
	int r = addr ? pypy_peek(p, addr, words, sizeof(words)) : -EAGAIN;

	if (r)
		return r;
	lasti = (int64_t)pypy_field(words, p->at.lasti);
	*ret = (struct pypy_frame){
		.addr = addr, .code = pypy_field(words, p->at.code), .lasti = (int32_t)lasti};
	*back = pypy_field(words, p->at.back);
	if ((uint32_t)words[0] != p->at.frame_type || lasti != ret->lasti ||
	    (lasti != -1 && (lasti < 0 || lasti & 1)))
		return -EAGAIN;
	r = pypy_word(p, ret->code + p->at.id, &found);
	return r || found == id ? r : -EAGAIN;
}

/*
 * Follows the frames from the innermost one, at @addr, as long as vmprof's list @ids goes. 1: both
 * lists end here. 0: vmprof's list was only read up to here.
 */
static int follow(const struct pypy *p, uint64_t addr, const pypy_ids *ids, pypy_frames *ret)
{
	size_t n = MIN(ids->n, (size_t)PYPY_FRAMES);
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		struct pypy_frame f;

		r = read_frame(p, addr, ids->v[i], &f, &addr);
		if (!r && vec_push(ret, f))
			r = -ENOMEM;
	}
	if (r || n < ids->n)
		return r;
	return addr ? -EAGAIN : 1;
}

int pypy_frames_read(const struct pypy *p, const struct pypy_thread *t, pypy_frames *ret)
{
	uint64_t head, context, top;
	pypy_ids ids = {};
	int r = has_gil(p, t), held;

	r = r ? r : pypy_word(p, t->block + p->at.vmprof, &head);
	r = r ? r : pypy_word(p, t->block + p->at.context, &context);
	r = r ? r : pypy_word(p, context + p->at.top, &top);
	r = r ? r : pypy_list_read(p, head, &ids);
	r = r ? r : follow(p, top, &ids, ret);
	vec_fini(&ids);
	if (r < 0)
		return r;
	/* the thread may have taken the GIL meanwhile */
	held = has_gil(p, t);
	return held ? held : r;
}
