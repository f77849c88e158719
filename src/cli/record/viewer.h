/* SPDX-License-Identifier: BSD-2-Clause */
/* Option --open: shows a file that krait has written to the user. */
#ifndef CLI_RECORD_VIEWER_H
#define CLI_RECORD_VIEWER_H

#include "host/caller.h"

/*
 * Opens @path in the caller's desktop (by xdg-open), with the caller's rights. Doesn't wait. 0 or
 * -errno + message.
 */
_must_use_ int viewer_open(struct caller *caller, char *path);

#endif
