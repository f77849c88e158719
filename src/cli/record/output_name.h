/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a name for the output if the user gave none. */
#ifndef CLI_RECORD_OUTPUT_NAME_H
#define CLI_RECORD_OUTPUT_NAME_H

#include <time.h>
#include "cli/record/record.h"

/*
 * Makes "krait-NAME-YYYYmmdd-HHMMSS.EXT" in *@ret (heap) at local time @now. NAME is that of the
 * recorded script or module, or "python" if several are recorded. It comes from a process, so only
 * letters, digits and "._-" of it are used. 0 or -ENOMEM + message.
 */
_must_use_ int output_name(const struct record_options *o, time_t now, char **ret);

#endif
