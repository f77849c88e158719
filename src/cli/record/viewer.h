/* SPDX-License-Identifier: BSD-2-Clause */
/* --open: shows a finished file to the user. */
#ifndef CLI_RECORD_VIEWER_H
#define CLI_RECORD_VIEWER_H

#include "host/caller.h"

/*
 * Lets the caller's desktop open @path (xdg-open), as the caller; doesn't wait. 0 or -errno +
 * message.
 */
_must_use_ int viewer_open(struct caller *caller, char *path);

#endif
