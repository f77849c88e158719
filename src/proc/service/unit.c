/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds systemd units in cgroup paths; see unit.h. */
#include "proc/service/unit.h"

#include <ctype.h>
#include <stdlib.h>

static bool ends(const char *s, size_t n, const char *suffix)
{
	size_t m = strlen(suffix);

	return n > m && !memcmp(s + n - m, suffix, m);
}

/* Appends a unit's name, in which systemd writes some characters as \x2d. */
static void add_unescaped(struct str *ret, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (n - i >= 4 && s[i] == '\\' && s[i + 1] == 'x' &&
		    isxdigit((unsigned char)s[i + 2]) && isxdigit((unsigned char)s[i + 3])) {
			char digits[] = {s[i + 2], s[i + 3], '\0'};
			char c = (char)strtol(digits, NULL, 16);

			str_add_c(ret, c ?: '?');
			i += 3;
		} else {
			str_add_c(ret, s[i]);
		}
	}
}

bool unit_from_cgroup(const char *path, struct str *ret)
{
	bool in_user = false;
	size_t n;

	for (const char *s = path + (*path == '/'); *s; s += n + (s[n] == '/')) {
		n = strcspn(s, "/");
		if (ends(s, n, ".slice"))
			continue;
		if (!ends(s, n, ".service"))
			return false;
		if (!in_user && n > 5 && !memcmp(s, "user@", 5)) {
			in_user = true;
			continue;
		}
		add_unescaped(ret, s, n - strlen(".service"));
		return true;
	}
	return false;
}
