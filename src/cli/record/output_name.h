/* SPDX-License-Identifier: BSD-2-Clause */
/* The name of the output where none was given. */
#ifndef CLI_RECORD_OUTPUT_NAME_H
#define CLI_RECORD_OUTPUT_NAME_H

#include <time.h>
#include "cli/record/record.h"

/*
 * "krait-NAME-YYYYmmdd-HHMMSS.EXT" in *@ret (heap) at local time @now. NAME is the script or module
 * that is recorded, "python" where there are several; it comes from a process, so only letters,
 * digits and "._-" of it are taken. 0 or -ENOMEM + message.
 */
_must_use_ int output_name(const struct record_options *o, time_t now, char **ret);

#endif
