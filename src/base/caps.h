/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capabilities of the calling thread: Linux keeps them per thread. Threads that parse data of
 * targets have no capability in effect, so that whatever such data leads them to open is opened
 * with the rights of krait's user alone.
 */
#ifndef BASE_CAPS_H
#define BASE_CAPS_H

#include <linux/capability.h>
#include "base/util.h"

#define CAPS_BIT(cap) (1ull << (cap))
#define CAPS_BPF      CAPS_BIT(39)		    /* fill maps (needed before 5.19) */
#define CAPS_READ     CAPS_BIT(CAP_DAC_READ_SEARCH) /* other users' debug files */
#define CAPS_IDS      (CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETGID)) /* files as the caller */

/* Gives up all but the three above for good, and takes these three out of effect. */
void caps_rest(void);

/*
 * Puts @caps into effect too, as far as they are permitted. Returns the capabilities that were in
 * effect before, for caps_restore().
 */
uint64_t caps_raise(uint64_t caps);
void caps_restore(uint64_t effective);

#endif
