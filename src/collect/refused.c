/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps what collect_examine() found out of an interpreter that krait doesn't understand. */
#include <errno.h>

#include "base/error.h"
#include "collect/internal.h"

int refused_note(struct collect *c, pid_t tgid, const char *what)
{
	snprintf(c->images->refused, sizeof(c->images->refused), "%s", what);
	c->images->pypy_gil = 0;
	return err_set(-ENOTSUP, "process %d can't be profiled: %s", tgid, what);
}

int refused_image(struct collect *c, pid_t tgid, const struct image_at *at)
{
	const struct py_image *image = &at->file->image;
	int r = refused_note(c, tgid, image->unsupported);

	if (image->pypy_gil)
		c->images->pypy_gil = image->pypy_gil + image_bias(at);
	return r;
}

const char *collect_not_understood(const struct collect *c)
{
	return c->images->refused;
}

uint64_t collect_pypy_gil(const struct collect *c)
{
	return c->images->pypy_gil;
}

void collect_set_unsupported(struct collect *c, const struct proc_key *key, const char *what)
{
	struct process *p = process_known(c, key);

	if (p)
		snprintf(p->unsupported, sizeof(p->unsupported), "%s", what);
}
