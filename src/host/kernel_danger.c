/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knows, by patch level, the kernels on which sampling can freeze the machine; see kernel_danger.h.
 */
#include "host/kernel_danger.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>
#include "base/cleanup.h"
#include "base/error.h"

#define ANY_PATCH UINT32_MAX

/* Series of kernels that can freeze if their patch level is below .fixed. */
static const struct {
	unsigned int major, minor, fixed;
} dangerous[] = {
	{5, 19, ANY_PATCH}, {6, 0, ANY_PATCH}, {6, 1, 36}, {6, 2, ANY_PATCH}, {6, 3, 10},
};

/*
 * Reads a version such as "6.1.27" at the start of @text. Returns how many numbers it has (0 to 3).
 */
static int read_version(const char *text, struct kernel_version *ret)
{
	*ret = (struct kernel_version){};
	if (!isdigit((unsigned char)*text))
		return 0;
	return sscanf(text, "%5u.%5u.%5u", &ret->major, &ret->minor, &ret->patch);
}

/*
 * Takes the patch level of the version at the start of @text, if the first two numbers of that
 * version are those of @ret.
 */
static bool take_same_series(struct kernel_version *ret, const char *text)
{
	struct kernel_version v;

	if (read_version(text, &v) != 3 || v.major != ret->major || v.minor != ret->minor)
		return false;
	ret->patch = v.patch;
	ret->patch_known = true;
	return true;
}

/*
 * Takes the patch level from a word of @text that is a version of the same series: with @last_only
 * only from the last word, as in "Ubuntu 6.2.0-39.40-generic 6.2.16".
 */
static bool take_from_words(struct kernel_version *ret, const char *text, bool last_only)
{
	bool found = false;

	for (const char *s = text; *s;) {
		size_t n = strcspn(s, " \n");

		if (!last_only || !s[n] || !s[n + strspn(s + n, " \n")])
			found |= take_same_series(ret, s);
		s += n;
		s += strspn(s, " \n");
	}
	return found;
}

/*
 * Tells whether the release is like "6.1.0-9-amd64" or "6.2.0-39-generic": patch level 0 with a
 * number after it is a distribution's own count, not upstream's patch level.
 */
static bool is_distribution_count(const char *release, const struct kernel_version *v)
{
	const char *dash = strchr(release, '-');

	return v->patch == 0 && dash && isdigit((unsigned char)dash[1]);
}

int kernel_version_parse(struct kernel_version *ret, const char *release, const char *version,
			 const char *signature)
{
	int n = read_version(release, ret);

	if (n < 2)
		return -EINVAL;
	if (signature && take_from_words(ret, signature, true))
		return 0;
	if (take_from_words(ret, version, false))
		return 0;
	ret->patch_known = n == 3 && !is_distribution_count(release, ret);
	return 0;
}

enum kernel_danger kernel_danger(const struct kernel_version *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(dangerous); i++) {
		if (dangerous[i].major != v->major || dangerous[i].minor != v->minor)
			continue;
		if (dangerous[i].fixed == ANY_PATCH)
			return KERNEL_FREEZES;
		if (!v->patch_known)
			return KERNEL_MAY_FREEZE;
		return v->patch < dangerous[i].fixed ? KERNEL_FREEZES : KERNEL_SAFE;
	}
	return KERNEL_SAFE;
}

bool kernel_at_least(const struct kernel_version *v, unsigned int major, unsigned int minor)
{
	return v->major > major || (v->major == major && v->minor >= minor);
}

/* Reads /proc/version_signature, which only Ubuntu has. Returns false if there is no such file. */
static bool read_signature(char *buf, size_t n)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/version_signature", "re");

	return f && fgets(buf, n, f);
}

int kernel_version_running(struct kernel_version *ret)
{
	char signature[256];
	struct utsname name;

	uname(&name);
	if (kernel_version_parse(ret, name.release, name.version,
				 read_signature(signature, sizeof(signature)) ? signature : NULL))
		return err_set(-EINVAL, "the kernel calls itself '%s', which isn't a version",
			       name.release);
	return 0;
}

int kernel_danger_refuse(void)
{
	struct kernel_version v;
	int r = kernel_version_running(&v);

	if (r)
		return r;
	switch (kernel_danger(&v)) {
	case KERNEL_FREEZES:
		return err_set(
			-EOPNOTSUPP,
			"kernel %u.%u.%u can freeze the machine when a profiler reads user memory; "
			"update to 6.1.36, 6.3.10, 6.4 or later",
			v.major, v.minor, v.patch);
	case KERNEL_MAY_FREEZE:
		return err_set(
			-EOPNOTSUPP,
			"kernels of the series %u.%u can freeze the machine when a profiler reads "
			"user memory, unless they have the fix; this one doesn't tell its patch "
			"level; update to 6.1.36, 6.3.10, 6.4 or later",
			v.major, v.minor);
	default:
		return 0;
	}
}
