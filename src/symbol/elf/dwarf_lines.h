/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds an address's source file, line and inlined functions (--native-lines), from debug
 * information (DWARF) in the file itself or in its separate debug file. Debug information takes as
 * much memory as it has bytes, so it is opened only on request.
 */
#ifndef SYMBOL_ELF_DWARF_LINES_H
#define SYMBOL_ELF_DWARF_LINES_H

#include "elf/dwarf_file.h"

/*
 * Opens the DWARF that dwarf_file_find() then searches; free it with dwarf_file_free(). @fd, @path
 * and @root are as for elf_names_open(). 0; -ENODATA: there is no DWARF for this file; -errno.
 * Failures leave a message.
 */
_must_use_ int dwarf_lines_open(int fd, const char *path, int root, struct dwarf_file **ret);

#endif
