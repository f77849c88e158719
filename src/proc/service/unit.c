/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds systemd units in cgroup paths; see unit.h. */
#include "proc/service/unit.h"

/* Appends a unit's name, decoding the characters that systemd writes as \x2d and the like. */
static void add_unescaped(struct str *ret, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (n - i >= 4 && s[i] == '\\' && s[i + 1] == 'x' && hex_digit(s[i + 2]) >= 0 &&
		    hex_digit(s[i + 3]) >= 0) {
			char c = (char)(hex_digit(s[i + 2]) << 4 | hex_digit(s[i + 3]));

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
		if (str_n_ends(s, n, ".slice"))
			continue;
		if (!str_n_ends(s, n, ".service"))
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
