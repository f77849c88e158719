/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the symbols of a stripped file. The symbols are packed into the file itself
 * (.gnu_debugdata, Fedora's "mini debug information") or in a separate debug file. Both files come
 * from a target's file system and may be hostile.
 */
#ifndef SYMBOL_ELF_DEBUG_FILE_H
#define SYMBOL_ELF_DEBUG_FILE_H

#include "base/text/str.h"
#include "elf/elf_file.h"

/* the most bytes of .gnu_debugdata, unpacked; Fedora's largest have 10 MB */
#define MINI_DEBUG_MAX (128u << 20)

/*
 * Unpacks the ELF file in .gnu_debugdata of @f, whose descriptor is @fd, into anonymous memory, and
 * returns that memory's descriptor. -ENOENT: there is no .gnu_debugdata; -errno with a message.
 */
_must_use_ int debug_file_unpack(struct elf_file *f, int fd);

/*
 * Finds the separate debug file of @f. @fd: @f's descriptor. @path: @f's path below the directory
 * @root (-1: not known). Searches below @root, then in krait's own /usr/lib/debug. In each of them
 * it searches by build id, then by .gnu_debuglink (and its checksum). If nothing is found, it asks
 * the servers in DEBUGINFOD_URLS. Returns a descriptor, or -ENOENT. Appends to @refused why files
 * that were found don't belong to
 * @f.
 */
_must_use_ int debug_file_find(struct elf_file *f, int fd, const char *path, int root,
			       struct str *refused);

/*
 * Finds the file with the build id @id in the directories where @f's separate debug file would be.
 * Files that dwz makes are found in this way.
 */
_must_use_ int debug_file_find_id(struct elf_file *f, const uint8_t *id, size_t n, int root,
				  struct str *refused);

#endif
