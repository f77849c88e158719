/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files with native code: how the state of this folder begins and ends, and how unwind rows and
 * kernel names are asked for.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/work/worker.h"
#include "collect/native/native.h"

int natives_init(struct collect *c)
{
	c->natives = calloc(1, sizeof(*c->natives));
	if (!c->natives || !kernel_init(c) || !known_natives_init(c))
		return -ENOMEM;
	return c->config.unwind ? worker_open(&c->natives->worker) : 0;
}

void natives_fini(struct collect *c)
{
	struct natives *n = c->natives;

	if (!n)
		return;
	vec_foreach(native, &n->files)
		native_file_free(*native);
	vec_fini(&n->files);
	vec_foreach(root, &n->roots)
		close(root->fd);
	vec_fini(&n->roots);
	map_fini(&n->index);
	kernel_fini(c);
	free(n->known);
	free(n);
	c->natives = NULL;
}

static bool may_ask(const struct native_file *f)
{
	return f->rows == ROWS_NONE && f->table && f->fd >= 0 &&
	       (!f->retry_ns || clock_ns(CLOCK_MONOTONIC) >= f->retry_ns);
}

void native_rows_want(struct collect *c, struct native_file *f)
{
	if (!may_ask(f))
		return;
	f->rows = ROWS_ASKED;
	native_work_rows(c, f);
}

void native_rows_again(struct collect *c, struct native_file *f)
{
	f->rows = ROWS_NONE;
	native_rows_want(c, f);
}

void native_rows_want_cached(struct collect *c, struct native_file *f)
{
	if (f->uncached || !may_ask(f))
		return;
	f->rows = ROWS_ASKED;
	native_work_cached_rows(c, f);
}

/*
 * Were names looked for at all kernel addresses @pc[@n]? An address without a name may lie in code
 * that was loaded after the names were read, such as a module or a BPF program.
 */
bool kernel_ready(struct collect *c, const uint64_t *pc, size_t n)
{
	bool ask;

	if (!kernel_lacks(c, pc, n, &ask))
		return true;
	if (ask)
		native_work_kernel(c);
	return !kernel_is_asked(c);
}
