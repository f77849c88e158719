/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What recording adds to commands that every krait has. Defined in cli/bpf, and without effect in
 * cli/no_bpf.
 */
#ifndef CLI_PARTS_H
#define CLI_PARTS_H

#include "base/text/str.h"

/* For `krait version`: appends ", NAME VERSION" for each library that only recording needs. */
void parts_add_recording(struct str *ret);

/* For `krait completion`: the events that can be recorded, NULL-terminated. */
const char *const *parts_event_names(void);

#endif
