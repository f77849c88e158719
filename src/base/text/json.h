/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON text (RFC 8259). A string comes out as valid UTF-8 on one line, whatever it holds.
 * Bytes that aren't UTF-8 become U+FFFD. Controls, DEL and C1 are escaped, and so are U+2028 and
 * U+2029, which some readers take for the end of a line.
 */
#ifndef BASE_TEXT_JSON_H
#define BASE_TEXT_JSON_H

#include <stdio.h>
#include "base/text/str.h"

/* Appends @s to @out, or writes @s to the stream @out, as a JSON string with its quotes. */
void json_string(struct str *out, const char *s);
void json_put_string(FILE *out, const char *s);

/* Writes v / 10^places without rounding and without zeros at the end: 1500 and 3 give 1.5. */
void json_put_decimal(FILE *out, int64_t v, unsigned places);

#endif
