/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What recording adds to commands that every krait has. cli/bpf has these functions; in a krait
 * without BPF those of cli/no_bpf do nothing.
 */
#ifndef CLI_PARTS_H
#define CLI_PARTS_H

#include "base/text/str.h"

/* For `krait version`: appends ", NAME VERSION" for each library that only recording needs. */
void parts_add_recording(struct str *ret);

/* For `krait completion`: the events that can be recorded, NULL-terminated. */
const char *const *parts_event_names(void);

#endif
