/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the CPython version of a file without debug offsets (2.7-3.12). Since 3.11 the file has the
 * version itself (Py_Version). For older versions the file's name, the size of _PyRuntime and the
 * version string in .rodata decide together, because the file's name may be anything ("python",
 * "uwsgi", "deleted").
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/work/slice.h"
#include "python/find/image_internal.h"

#define RODATA_MAX    (64u << 20)
#define VERSION_CHARS "0123456789.+abrc"

unsigned image_version_after(const char *name, const char *prefix)
{
	const char *s = strstr(path_base(name), prefix);
	unsigned major, minor;
	int end = 0;

	if (!s || sscanf(s + strlen(prefix), "%1u.%2u%n", &major, &minor, &end) != 2 || !end)
		return 0;
	return major << 8 | minor;
}

static unsigned version_by_name(struct image_ctx *c)
{
	const char *name = elf_file_name(c->elf), *soname = elf_file_soname(c->elf);
	unsigned version = soname ? image_version_after(soname, "libpython") : 0;

	return version ? version : image_version_after(name, "python");
}

/*
 * Turns the string @s, such as "3.8.18", "3.8.0rc1" or "3.9.2+", into PY_VERSION_HEX without the
 * serial number. Returns 0 if the string is no version.
 */
static uint32_t parse_version(const char *s, size_t n)
{
	unsigned major, minor, patch;
	int end = 0;

	if (n < 5 || n > 12 || (s[0] != '2' && s[0] != '3') ||
	    sscanf(s, "%1u.%2u.%2u%n", &major, &minor, &patch, &end) != 3)
		return 0;
	if ((major == 2 && minor != 7) || strspn(s + end, VERSION_CHARS) != n - (size_t)end)
		return 0;
	return major << 24 | minor << 16 | patch << 8;
}

/*
 * Returns the version at the end of the string @s of @n bytes. The linker stores only the longer of
 * two strings if it ends in the shorter one, as in "/opt/python-3.8.18".
 */
static uint32_t version_at_end(const char *s, size_t n)
{
	size_t at = n;

	while (at > 0 && strchr(VERSION_CHARS, s[at - 1]))
		at--;
	return parse_version(s + at, n - at);
}

/*
 * Returns the version that the version string in @text gives, if @text has exactly one such string
 * of @version (0: of any version); else 0.
 */
static uint32_t scan_strings(const char *text, size_t n, unsigned version)
{
	uint32_t found = 0;
	size_t len;

	for (size_t i = 0; (len = strnlen(text + i, n - i)) < n - i; i += len + 1) {
		uint32_t v = version_at_end(text + i, len);

		if (!v || (version && v >> 16 != version))
			continue;
		if (found && found != v)
			return 0;
		found = v;
	}
	return found;
}

static uint32_t version_by_string(struct image_ctx *c, unsigned version)
{
	_cleanup_free_ char *text = NULL;
	struct elf_section sec;
	size_t n;

	if (!elf_file_section(c->elf, ".rodata", &sec) || sec.nobits || sec.size > RODATA_MAX ||
	    !slice_spend(sec.size * WORK_BYTE))
		return 0;
	text = malloc(sec.size + 1);
	if (!text)
		return 0;
	n = elf_file_read(c->elf, sec.vaddr, text, sec.size);
	text[n] = 0;
	return scan_strings(text, n, version);
}

static uint32_t version_by_symbol(struct image_ctx *c)
{
	const struct elf_symbol *sym = &c->sym[SYM_Py_Version];
	uint64_t value;

	if (!sym->value || !elf_file_read_u64(c->elf, sym->value, &value) || value > UINT32_MAX)
		return 0;
	return value >> 24 == 3 ? (uint32_t)value : 0;
}

unsigned image_mutex_growth(struct image_ctx *c)
{
	const char *s;

	if (elf_file_machine(c->elf) != ELF_AARCH64)
		return 0;
	/*
	 * with musl, pthread_mutex_t has 40 bytes on all machines; a needed library's name shows
	 * whether it is musl
	 */
	for (size_t i = 0; (s = elf_file_needed(c->elf, i)); i++) {
		if (str_starts(s, "libc.musl-") || streq(s, "libc.so"))
			return 0;
	}
	return 16;
}

uint32_t image_version(struct image_ctx *c)
{
	uint32_t hex = version_by_symbol(c);
	unsigned version, growth = image_mutex_growth(c);
	const struct py_runtime_row *row =
		py_runtime_by_size(c->runtime_size - MIN(c->runtime_size, (uint64_t)growth));

	if (hex)
		return hex;
	version = row ? row->version : version_by_name(c);
	hex = version_by_string(c, version);
	/*
	 * only the file's name gave @version, and it may be wrong, so a version string is searched
	 */
	if (!hex && !row && version)
		hex = version_by_string(c, 0);
	if (!hex && row)
		return (uint32_t)version << 16 | (uint32_t)row->patch_first << 8;
	return hex ? hex : (uint32_t)version << 16;
}
