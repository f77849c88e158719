/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as call frame information, in a file made by hand (tests/unit/cfi_writer.h). The
 * result must be unwind rows as rows.h defines them. The bits of the first byte say where the bytes
 * are: bit 0: AArch64; bit 1: in .debug_frame; bit 2: without section headers; bit 3: compressed.
 * An input of more than a page is a .debug_frame at the end of the file (tests/fuzz/worst.py).
 */
#include <stdlib.h>
#include <sys/mman.h>
#include "../unit/cfi_writer.h"
#include "symbol/elf/function_parts.h"

#define HDR	 0xff0 /* offset of .eh_frame_hdr in the data */
#define AT_LARGE 0x100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_rule(const struct unwind_rule *u, bool aarch64)
{
	static const struct unwind_rule none = {};

	check(u->cfa <= UNWIND_INDEXED &&
	      !(u->slots & ~(UNWIND_FP_FROM_FP | UNWIND_BX_FROM_FP | UNWIND_RA_IN_INDEX)) &&
	      (u->cfa == UNWIND_INDEXED || u->slots & UNWIND_RA_IN_INDEX || !u->index));
	check(u->cfa != UNWIND_UNKNOWN || !memcmp(u, &none, sizeof(*u)));
	check(u->cfa != UNWIND_PLT || (!aarch64 && u->reg == 7 && u->off >= 0 && u->off < 16));
	check(u->cfa != UNWIND_SIGNAL || (!aarch64 && u->off >= 0));
	check(u->cfa == UNWIND_DEREF || u->cfa == UNWIND_INDEXED || !u->off2);
	check(u->ra != UNWIND_LOST &&
	      (aarch64 || u->ra != UNWIND_SAME || u->slots & UNWIND_RA_IN_INDEX));
	check(!(u->slots & UNWIND_RA_IN_INDEX) ||
	      (!aarch64 && u->ra == UNWIND_SAME && u->index < 16));
}

static void check_rows(const struct unwind_rows *r, bool aarch64)
{
	check(r->base == EW_TEXT && (r->bad == 0) == (r->why[0] == 0));
	vec_foreach(u, &r->rules)
		check_rule(u, aarch64);
	check(!r->rules.n || r->rules.v[0].cfa == UNWIND_UNKNOWN);
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct unwind_row *row = &r->rows.v[i];

		check(row->key <= EW_DATA - EW_TEXT && row->rule < r->rules.n);
		check(!i || (row[-1].key < row->key && row[-1].rule != row->rule));
		check(unwind_rows_find(r, r->base + row->key) == &r->rules.v[row->rule]);
	}
	check(!r->rows.n || r->rows.v[r->rows.n - 1].rule == 0);
	for (size_t i = 0; i < r->fdes.n; i++) {
		const struct unwind_fde *fde = &r->fdes.v[i];

		check(fde->start < fde->end && fde->end <= EW_DATA - EW_TEXT);
		check(!i || fde[-1].end <= fde->start);
		check(unwind_rows_fde(r, r->base + fde->end - 1) == fde);
		check(unwind_rows_find(r, r->base + fde->start));
	}
	check(!unwind_rows_find(r, r->base - 1) && !unwind_rows_fde(r, r->base - 1));
}

/*
 * Checks the unwind rows that krait makes from the file's instructions. The code has the same bytes
 * as the input.
 */
static void check_parts(int fd, const struct unwind_rows *rows)
{
	_cleanup_elf_ struct elf_file *f = NULL;
	struct function_parts *p = NULL;

	if (elf_file_open(fd, "test", &f) || function_parts_open(f, &p) || !p)
		return;
	vec_foreach(fde, &rows->fdes) {
		uint64_t whole = function_parts_find(p, rows->base + fde->start);
		const struct unwind_fde *found = whole ? unwind_rows_fde(rows, whole) : NULL;

		check(!whole || (found && found != fde && rows->base + found->start == whole &&
				 !function_parts_find(p, whole)));
	}
	function_parts_free(p);
}

static void read_large(const uint8_t *data, size_t n)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	_cleanup_close_ int fd = -1;
	struct elf_writer ew;

	ew_init(&ew, ET_DYN);
	ew.named = ".debug_frame";
	ew.named_sh = (Elf64_Shdr){0, SHT_PROGBITS, 0, 0, AT_LARGE, n};
	fd = ew_write(&ew);
	ew_put(fd, AT_LARGE, data, n);
	if (!cw_read(fd, &rows))
		check_rows(&rows, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	struct cfi_writer w = {};
	struct elf_writer ew;
	_cleanup_close_ int fd = -1;

	if (!n)
		return 0;
	if (n - 1 > sizeof(w.bytes)) {
		read_large(data + 1, n - 1);
		return 0;
	}
	w.debug = data[0] & 2;
	cw_bytes(&w, data + 1, n - 1);
	ew_init(&ew, ET_DYN);
	cw_place(&w, &ew);
	ew.machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64;
	ew.no_sections = data[0] & 4;
	if (data[0] & 4)
		ew.eh_frame_hdr = EW_DATA + HDR;
	if (data[0] & 8)
		ew.named_sh.sh_flags = SHF_COMPRESSED;
	/* the header leads to EW_DATA */
	memcpy(ew.data + HDR, "\x01\x1b\x03\x3b\x0c\xf0\xff\xff", 8);
	ew_text(&ew, data + 1, n - 1);
	fd = ew_write(&ew);
	if (cw_read(fd, &rows))
		return 0;
	check_rows(&rows, data[0] & 1);
	check_parts(fd, &rows);
	return 0;
}
