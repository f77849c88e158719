/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capabilities of the calling thread, which Linux keeps for each thread by itself. Threads that
 * parse what targets hand krait have none in effect, so that whatever they are led to open is
 * opened with the rights of krait's user alone.
 */
#ifndef BASE_CAPS_H
#define BASE_CAPS_H

#include <linux/capability.h>
#include "base/util.h"

#define CAPS_BIT(cap) (1ull << (cap))
#define CAPS_BPF      CAPS_BIT(39)		    /* fill maps (before 5.19 that wants it) */
#define CAPS_READ     CAPS_BIT(CAP_DAC_READ_SEARCH) /* other users' debug files */
#define CAPS_IDS      (CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETGID)) /* files as the caller */

/* Gives up for good all but the three above, and has none of them in effect. */
void caps_rest(void);

/*
 * Has @caps in effect too, as far as they are permitted. What was in effect before, for
 * caps_restore().
 */
uint64_t caps_raise(uint64_t caps);
void caps_restore(uint64_t effective);

#endif
