/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON text, for --json and --summary-json. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "base/str.h"

/* Appends @s as a JSON string with its quotes; bytes that aren't UTF-8 become U+FFFD. */
void json_string(struct str *out, const char *s);

#endif
