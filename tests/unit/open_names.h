/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the symbol names of an ELF file that a test makes by hand. Include cmocka.h before this
 * header.
 */
#ifndef TESTS_UNIT_OPEN_NAMES_H
#define TESTS_UNIT_OPEN_NAMES_H

#include "elf_writer.h"
#include "base/cleanup.h"
#include "elf/elf_file.h"
#include "symbol/pytables/method_names.h"

static inline struct method_names *open_names(struct elf_writer *w)
{
	_cleanup_close_ int fd = ew_write(w);
	_cleanup_elf_ struct elf_file *f = NULL;
	struct method_names *names = NULL;

	assert_int_equal(elf_file_open(fd, "test", &f), 0);
	assert_int_equal(method_names_open(f, &names), 0);
	return names;
}

#endif
