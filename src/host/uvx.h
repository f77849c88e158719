/* SPDX-License-Identifier: BSD-2-Clause */
/* Leaves the environment that `uvx --from krait-profiler krait` makes for krait. */
#ifndef HOST_UVX_H
#define HOST_UVX_H

#include "host/environment.h"

/*
 * uvx puts an environment with krait in it first in PATH. Then `python app.py` would be run by a
 * Python without the user's packages. So this removes the environment from PATH: from that of @e,
 * or of krait's own environment if @e is empty. It stays if it has other packages (`uvx --with`),
 * or if the user activated it. 0 or -errno.
 */
_must_use_ int uvx_leave(struct environment *e);

#endif
