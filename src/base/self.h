/* SPDX-License-Identifier: BSD-2-Clause */
/* krait itself: its number, and its name as the user has to type it. */
#ifndef BASE_SELF_H
#define BASE_SELF_H

#include <sys/types.h>

/*
 * The word after `sudo` that runs this very file: `krait` where sudo finds it by that name, else its
 * whole path, quoted for a shell. sudo has a PATH of its own, and looks into no virtual environment
 * and no cache of uv. Static.
 */
const char *self_under_sudo(void);

/* krait's own number, which is asked for once: not for a child of it. */
pid_t self_pid(void);

#endif
