/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the symbols of a stripped file are: packed into itself (.gnu_debugdata, Fedora's "mini debug
 * information") or in a separate debug file. All of these come from a target's file system: hostile.
 */
#ifndef SYMBOL_DEBUG_FILE_H
#define SYMBOL_DEBUG_FILE_H

#include "base/str.h"
#include "elf/elf_file.h"

#define MINI_DEBUG_MAX (128u << 20) /* bytes unpacked; Fedora's largest have 10 MB */

/*
 * The ELF file in .gnu_debugdata of @f, whose descriptor is @fd, in anonymous memory: a descriptor.
 * -ENOENT: it has none; -errno with a message.
 */
_must_use_ int debug_file_unpack(struct elf_file *f, int fd);

/*
 * The separate debug file of @f (its descriptor: @fd), which is at @path below the directory @root (-1: not known): by
 * build id, then by .gnu_debuglink (with its checksum), below @root, then in krait's own
 * /usr/lib/debug, then from the servers in DEBUGINFOD_URLS. A descriptor, or -ENOENT. To @refused is
 * appended why a file that was there isn't it.
 */
_must_use_ int debug_file_find(struct elf_file *f, int fd, const char *path, int root,
			       struct str *refused);

/* The file with this build id, where @f's separate debug file would be: what dwz makes. */
_must_use_ int debug_file_find_id(struct elf_file *f, const uint8_t *id, size_t n, int root,
				  struct str *refused);

#endif
