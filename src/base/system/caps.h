/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capabilities of the calling thread: Linux keeps them per thread. Data of a target may lead krait
 * to open a file. So threads that parse such data have no capability in effect, and open the file
 * with the rights of krait's user alone.
 */
#ifndef BASE_SYSTEM_CAPS_H
#define BASE_SYSTEM_CAPS_H

#include <linux/capability.h>
#include "base/util.h"

#define CAPS_BIT(cap) (1ull << (cap))
/* the capability that filling BPF maps needs before Linux 5.19 */
#define CAPS_BPF CAPS_BIT(39)
/* the capability to read debug files of other users */
#define CAPS_READ CAPS_BIT(CAP_DAC_READ_SEARCH)
/* the capabilities to open files as the user who called sudo */
#define CAPS_IDS (CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETGID))

/*
 * Gives up for good all capabilities except CAPS_BPF, CAPS_READ and CAPS_IDS. CAPS_BPF, CAPS_READ
 * and CAPS_IDS stay permitted, but aren't in effect until caps_raise().
 */
void caps_rest(void);

/* Gives up for good all capabilities, for a process that needs none. */
void caps_give_up(void);

/*
 * Puts the capabilities of @caps into effect, as far as they are permitted. Capabilities that are
 * in effect already stay in effect. Returns the capabilities that were in effect before, for
 * caps_restore().
 */
uint64_t caps_raise(uint64_t caps);
void caps_restore(uint64_t effective);

#endif
