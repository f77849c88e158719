/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as an ELF file, as krait does for interpreters, symbols and build ids. If the
 * first byte is even, the other bytes are the file. If it is odd, they say how a valid file (a
 * CPython 3.14 made by hand) is changed, so that the code that reads the inner parts of a file runs
 * as well. Bit 1 of the first byte makes that file one for AArch64; bit 2 makes it one loaded at
 * fixed addresses (ET_EXEC).
 */
#include <stdlib.h>
#include "../unit/debug_offsets.h"
#include "../unit/dispatch_table.h"
#include "base/cleanup.h"
#include "elf/elf_file.h"
#include "python/find/image.h"
#include "symbol/elf/elf_names.h"
#include "symbol/pytables/method_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void add_code_type(struct elf_writer *w)
{
	static const uint8_t accessor[] = {0x83, 0x3d, 0, 0x10, 0, 0, 0, 0x74, 0x0a, 0xbf, 0x20,
					   0x49, 0,    0, 0xe9, 0, 0, 0, 0,    0x31, 0xc0, 0xc3};
	uint64_t name = ew_data(w, "code", 5), member = ew_data(w, "co_filename", 12);
	const uint64_t members[] = {member, 0, 112, 0, 0, 0, 0, 0};
	uint64_t table = ew_data(w, members, sizeof(members));
	uint64_t type[52] = {[3] = name, [4] = 208, [30] = table};

	ew_symbol(w, "PyCode_Type", ew_data(w, type, sizeof(type)), sizeof(type), 1);
	ew_symbol(w, "PyGILState_GetThisThreadState", ew_text(w, accessor, sizeof(accessor)), 8, 1);
}

static void add_methods(struct elf_writer *w)
{
	const uint64_t defs[] = {ew_data(w, "first", 6), EW_TEXT, 4, 0, 0, 0, 0, 0};
	uint64_t methods = ew_data(w, defs, sizeof(defs)), name = ew_data(w, "mod.Type", 9);
	const uint64_t slots[] = {52, EW_TEXT, 64, methods, 0, 0};
	const uint64_t spec[] = {name, 32, 0, ew_data(w, slots, sizeof(slots))};
	const uint64_t type[52] = {1, 0, 0, name, 32, 0, EW_TEXT, [29] = methods};

	ew_data(w, spec, sizeof(spec));
	ew_symbol(w, "Some_Type", ew_data(w, type, sizeof(type)), sizeof(type), 1);
	ew_symbol(w, "PyType_Ready", EW_TEXT, 16, 1);
	ew_symbol(w, "PyCMethod_New", EW_TEXT, 64, 1);
}

/*
 * Adds a table of opcode handlers, constants, and a symbol for the table, all within one page, so
 * that the fuzzer's changes hit them.
 */
static void add_opcodes(struct elf_writer *w)
{
	const struct dt_header header = dt_header(EW_CONST);
	uint64_t table[DT_OPCODES];

	dt_table(table, DT_HANDLERS - 1);
	dt_place(w, &header);
	ew_const(w, table, sizeof(table));
	ew_symbol(w, "_PyEval_EvalFrameDefault", EW_TEXT, 16, 1);
}

/*
 * Makes the valid file with the changes in @data: triples {low byte of the offset, high byte of the
 * offset, new byte}.
 */
static int patched(uint16_t type, uint16_t machine, const uint8_t *data, size_t n)
{
	struct elf_writer w;
	int fd;

	ew_init(&w, type);
	w.machine = machine;
	add_code_type(&w);
	add_methods(&w);
	add_opcodes(&w);
	ew_symbol(&w, "_PyRuntime", ew_data(&w, debug_offsets_3_14, sizeof(debug_offsets_3_14)),
		  4096, 1);
	ew_rela(&w, EW_DATA, R_X86_64_RELATIVE, 0, EW_DATA);
	w.sym[ew_symbol(&w, "function", EW_TEXT, 16, 1)].st_info =
		ELF64_ST_INFO(STB_WEAK, STT_FUNC);
	ew_dyn_string(&w, DT_NEEDED, "libc.so.6");
	ew_build_id(&w, (const uint8_t *)"0123456789abcdefghij", 20);
	fd = ew_write(&w);
	for (size_t i = 0; i + 3 <= n; i += 3)
		ew_put(fd, data[i] | (data[i + 1] & 0x9f) << 8, &data[i + 2], 1);
	return fd;
}

static int any_symbol(const char *name, const struct elf_symbol *sym, void *arg)
{
	*(size_t *)arg += strlen(name) + sym->size;
	return 0;
}

static void use_elf(int fd)
{
	_cleanup_elf_ struct elf_file *f = NULL;
	uint8_t id[ELF_BUILD_ID_MAX], bytes[256];
	struct elf_section section;
	struct elf_reloc reloc;
	uint64_t v;
	size_t sum = 0;

	if (elf_file_open(fd, "fuzz", &f) < 0)
		return;
	check(elf_file_build_id(f, id) <= sizeof(id));
	elf_file_symbols(f, any_symbol, &sum);
	if (elf_file_section(f, ".rodata", &section))
		check(elf_file_read(f, section.vaddr, bytes, sizeof(bytes)) <= sizeof(bytes));
	for (uint64_t at = 0; at < 0x40; at += 8) {
		elf_file_reloc(f, EW_DATA + at, &reloc);
		elf_file_pointer(f, EW_DATA + at, &v);
	}
	for (size_t i = 0; i < 4 && elf_file_needed(f, i); i++)
		sum += strlen(elf_file_needed(f, i));
}

static void use_names(int fd)
{
	const struct elf_range text = {EW_TEXT, EW_DATA};
	struct elf_names *names;
	struct elf_name name;

	if (elf_names_open(fd, "fuzz", -1, &names) < 0)
		return;
	for (uint64_t at = 0; at < 0x4000; at += 0x10) {
		if (!elf_names_find(names, at, &text, &name))
			continue;
		check(name.start <= at && strlen(name.name) > 0);
		check(!name.size || at - name.start < name.size);
	}
	elf_names_free(names);
}

static void use_methods(int fd)
{
	_cleanup_elf_ struct elf_file *f = NULL;
	struct method_names *names;

	if (elf_file_open(fd, "fuzz", &f) < 0 || method_names_open(f, &names) < 0)
		return;
	for (uint64_t at = 0; at < 0x4000; at += 0x10) {
		const char *name = method_names_find(names, at);

		check(!name || *name);
	}
	check(method_names_bytes(names) < 1 << 20);
	method_names_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_close_ int fd = -1;
	struct py_image image;
	int r;

	if (!n)
		return 0;
	if (data[0] & 1) {
		fd = patched(data[0] & 4 ? ET_EXEC : ET_DYN, data[0] & 2 ? EM_AARCH64 : EM_X86_64,
			     data + 1, n - 1);
	} else {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		ew_put(fd, 0, data + 1, n - 1);
	}
	r = py_image_read(fd, "/usr/bin/python3.8", &image);
	check(r <= 1);
	if (r == 1 && !image.unsupported[0])
		check(image.layout.version && image.code_type && image.where.interp_head);
	use_elf(fd);
	use_names(fd);
	use_methods(fd);
	return 0;
}
