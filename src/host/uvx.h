/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the recorded command run outside of the environment that `uvx --from krait-profiler krait`
 * makes for krait.
 */
#ifndef HOST_UVX_H
#define HOST_UVX_H

#include "host/environment.h"

/*
 * uvx makes a virtual environment for krait and puts it first in PATH. With that PATH, a Python
 * without the user's packages would run `python app.py`. So this function removes that virtual
 * environment from the PATH in @e or, if @e is empty, from krait's own PATH. The environment stays
 * in PATH if it has other packages too (`uvx --with`), or if the user activated it. 0 or -errno.
 */
_must_use_ int uvx_leave(struct environment *e);

#endif
