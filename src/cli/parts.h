/* SPDX-License-Identifier: BSD-2-Clause */
/* What `krait version` says is in it. */
#ifndef CLI_PARTS_H
#define CLI_PARTS_H

#include "base/str.h"

/* Appends ", NAME VERSION" of each library that only recording needs; none with BPF=no. */
void parts_add_recording(struct str *ret);

#endif
