/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the environments of other processes, and the one that krait itself got when it was
 * executed; see environment.h.
 */
#include "host/environment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include "base/text/str.h"
#include "host/users.h"

/* how many bytes are read at most; the kernel allows less: a quarter of the stack limit, 2 MiB */
#define MAX_BYTES (4u << 20)

/* Variables that sudo sets for its command. krait wants the values that the caller had. */
static const char *const set_by_sudo[] = {
	"PATH", "HOME", "USER", "LOGNAME", "USERNAME", "SHELL", "MAIL", "TERM",
};

void environment_fini(struct environment *e)
{
	vec_foreach(entry, &e->v)
		free(*entry);
	vec_fini(&e->v);
}

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=");
}

static bool same_name(const char *a, const char *b)
{
	size_t n = name_length(a);

	return n == name_length(b) && memcmp(a, b, n) == 0;
}

int environment_set(struct environment *e, const char *entry)
{
	char *copy = strdup(entry);
	int r;

	if (!copy)
		return -ENOMEM;
	vec_foreach(have, &e->v)
		if (*have && same_name(*have, copy)) {
			free(*have);
			*have = copy;
			return 0;
		}
	r = vec_reserve(&e->v, e->v.n + 2);
	if (r) {
		free(copy);
		return r;
	}
	/* a NULL ends the list if it has entries: the new entry replaces that NULL */
	e->v.n -= e->v.n > 0;
	e->v.v[e->v.n++] = copy;
	e->v.v[e->v.n++] = NULL;
	return 0;
}

int environment_parse(struct environment *e, const char *text, size_t n)
{
	while (n) {
		size_t length = strnlen(text, n);
		int r;

		if (length == n)
			/* the text was cut off in its last string, which is dropped */
			return 0;
		if (name_length(text) < length) {
			r = environment_set(e, text);
			if (r)
				return r;
		}
		text += length + 1;
		n -= length + 1;
	}
	return 0;
}

int environment_of_process(struct environment *e, pid_t pid)
{
	_cleanup_free_ char *text = malloc(MAX_BYTES);
	_cleanup_fclose_ FILE *f = NULL;
	char path[64];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	f = fopen(path, "re");
	if (!f || !text)
		return -errno;
	n = fread(text, 1, MAX_BYTES, f);
	return n ? environment_parse(e, text, n) : -ENODATA;
}

int environment_original(struct environment *e)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/stat", "re");
	uint64_t start = 0, end = 0;
	char text[4096];
	const char *s;
	size_t n;

	if (!f)
		return -errno;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	/*
	 * The process's name (comm) may contain blanks, so fields are counted from the ')' after
	 * it: field 3 follows. Fields 50 and 51 say where the environment begins and ends
	 * (proc(5)).
	 */
	s = strrchr(text, ')');
	for (int field = 3; s && field <= 50; field++)
		s = strchr(s + 1, ' ');
	if (!s || sscanf(s, " %" SCNu64 " %" SCNu64, &start, &end) != 2 || !start || end < start ||
	    end - start > MAX_BYTES)
		return -ENODATA;
	return environment_parse(e, (const char *)(uintptr_t)start, end - start);
}

static int set_pair(struct environment *e, const char *name, const char *value)
{
	_cleanup_str_ struct str entry = {};

	str_addf(&entry, "%s=%s", name, value);
	return entry.failed ? -ENOMEM : environment_set(e, str_cstr(&entry));
}

int environment_of_user(struct environment *e, uid_t uid)
{
	struct user u;
	int r = 0;

	for (char **own = environ; *own && !r; own++)
		r = environment_set(e, *own);
	if (r || users_get(uid, &u))
		return r;
	r = set_pair(e, "HOME", u.home);
	if (!r)
		r = set_pair(e, "USER", u.name);
	if (!r)
		r = set_pair(e, "LOGNAME", u.name);
	if (!r)
		r = set_pair(e, "SHELL", u.shell);
	users_fini(&u);
	return r;
}

static bool is_sudos(const char *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(set_by_sudo); i++)
		if (same_name(entry, set_by_sudo[i]))
			return true;
	return str_starts(entry, "SUDO_");
}

int environment_add_own(struct environment *e)
{
	int r = 0;

	for (char **own = environ; *own && !r; own++)
		if (!is_sudos(*own))
			r = environment_set(e, *own);
	return r;
}

const char *environment_get(const struct environment *e, const char *name)
{
	vec_foreach(entry, &e->v)
		if (*entry && same_name(*entry, name))
			return *entry + name_length(*entry) + 1;
	return NULL;
}
