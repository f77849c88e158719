/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of recording that `krait version` and `krait completion` call. They are in cli/bpf. In
 * a krait built without BPF, cli/no_bpf has functions of these names that do nothing.
 */
#ifndef CLI_PARTS_H
#define CLI_PARTS_H

#include "base/text/str.h"

/* For `krait version`: appends ", NAME VERSION" for each library that only recording needs. */
void parts_add_recording(struct str *ret);

/* For `krait completion`: returns the names of the events that can be recorded; NULL-terminated. */
const char *const *parts_event_names(void);

#endif
