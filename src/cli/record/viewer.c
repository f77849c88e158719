/* SPDX-License-Identifier: BSD-2-Clause */
/* Option --open: shows a file that krait has written to the user; see viewer.h. */
#include "cli/record/viewer.h"

#include "base/error.h"
#include "record/command/spawn.h"

int viewer_open(struct caller *caller, char *path)
{
	_cleanup_(spawn_fini) struct spawn s;
	int r = spawn_start(&s, (char *[]){"xdg-open", path, NULL}, caller_become, caller);

	if (!r)
		r = spawn_go(&s);
	return r ? err_wrap(r, "--open") : 0;
}
