/* SPDX-License-Identifier: BSD-2-Clause */
/* krait itself: its process id, and its name as the user has to type it. */
#ifndef BASE_SYSTEM_SELF_H
#define BASE_SYSTEM_SELF_H

#include <sys/types.h>

/*
 * The word to type after `sudo` to run this very file: `krait` where sudo finds the file by that
 * name, else its whole path, quoted for a shell. sudo has a PATH of its own, and looks into no
 * virtual environment and no cache of uv. The text is in static storage.
 */
const char *self_under_sudo(void);

/* Returns krait's own process id, which is read once: don't call this in a child. */
pid_t self_pid(void);

#endif
