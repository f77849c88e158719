/* SPDX-License-Identifier: BSD-2-Clause */
/* --open: shows a finished file to the user. */
#ifndef CLI_RECORD_VIEWER_H
#define CLI_RECORD_VIEWER_H

#include "host/caller.h"

/*
 * Opens @path with the caller's desktop (xdg-open), as the caller, without waiting. 0 or -errno +
 * message.
 */
_must_use_ int viewer_open(struct caller *caller, char *path);

#endif
