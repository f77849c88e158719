/* SPDX-License-Identifier: BSD-2-Clause */
/* krait's own name, as the user has to type it. */
#ifndef BASE_SELF_H
#define BASE_SELF_H

/*
 * The word after `sudo` that runs this very file: `krait` where sudo finds it by that name, else its
 * whole path, quoted for a shell. sudo has a PATH of its own, and looks into no virtual environment
 * and no cache of uv. Static.
 */
const char *self_under_sudo(void);

#endif
