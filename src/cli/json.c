/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON text; see json.h. */
#include "cli/json.h"

#include "profile/utf8.h"

void json_string(struct str *out, const char *s)
{
	_cleanup_str_ struct str clean = {};

	utf8_clean(&clean, s, strlen(s));
	out->failed |= clean.failed;
	str_add_c(out, '"');
	for (const char *c = str_cstr(&clean); *c; c++) {
		if (*c == '"' || *c == '\\')
			str_addf(out, "\\%c", *c);
		else if ((unsigned char)*c < 0x20)
			str_addf(out, "\\u%04x", *c);
		else
			str_add_c(out, *c);
	}
	str_add_c(out, '"');
}
