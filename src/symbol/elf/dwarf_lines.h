/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address -> file, line and inlined functions (--native-lines), from the file itself or its separate
 * debug file. Costs memory as large as the debug information: opened only when asked for.
 */
#ifndef SYMBOL_DWARF_LINES_H
#define SYMBOL_DWARF_LINES_H

#include "elf/dwarf_file.h"

/*
 * Opens what dwarf_file_find() is then asked; dwarf_file_free() in the end.
 * @fd, @path and @root as for elf_names_open(). 0; -ENODATA: no DWARF is to be had for this file;
 * -errno; with a message.
 */
_must_use_ int dwarf_lines_open(int fd, const char *path, int root, struct dwarf_file **ret);

#endif
