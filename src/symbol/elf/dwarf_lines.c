/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the file that has the DWARF of a given ELF file; see dwarf_lines.h. */
#include "symbol/elf/dwarf_lines.h"

#include "base/error.h"
#include "base/system/log.h"
#include "symbol/elf/debug_file.h"

/*
 * Adds the debug file that dwz made, which several debug files share. Without that file, names of
 * functions may be missing, but lines are complete.
 */
static void add_alt(struct dwarf_file *d, struct elf_file *f, int root, struct str *refused)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n = dwarf_file_alt_id(d, id);
	_cleanup_close_ int fd = n ? debug_file_find_id(f, id, n, root, refused) : -1;

	if (fd >= 0 && dwarf_file_set_alt(d, fd) < 0)
		log_info("%s: %s", elf_file_name(f), err_msg());
}

int dwarf_lines_open(int fd, const char *path, int root, struct dwarf_file **ret)
{
	_cleanup_elf_ struct elf_file *f = NULL;
	_cleanup_str_ struct str refused = {};
	_cleanup_close_ int debug = -1;
	int r = elf_file_open(fd, path, &f);

	if (r)
		return r;
	r = dwarf_file_open(fd, path, ret);
	if (r == -ENODATA) {
		debug = debug_file_find(f, fd, path, root, &refused);
		if (debug >= 0)
			r = dwarf_file_open(debug, path, ret);
	}
	if (!r)
		add_alt(*ret, f, root, &refused);
	if (refused.n)
		log_info("%s: debug file not used: %s", path, refused.s);
	return r;
}
