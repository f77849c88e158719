/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the names of addresses in one ELF file; see elf_names.h. */
#include "symbol/elf/elf_names.h"

#include <elf.h>

#include "base/error.h"
#include "base/system/log.h"
#include "symbol/elf/debug_file.h"
#include "symbol/elf/symbol_table.h"

struct elf_names {
	struct symbol_table table;
	struct str refused;
};

struct reader {
	struct elf_names *names;
	/* loadable segments of the ELF file that the process runs, not of its debug file */
	const struct elf_load *loads;
	size_t loads_n;
};

static bool is_code(const struct reader *rd, uint64_t vaddr)
{
	for (size_t i = 0; i < rd->loads_n; i++) {
		const struct elf_load *load = &rd->loads[i];

		if (load->exec && vaddr >= load->vaddr && vaddr - load->vaddr < load->memsz)
			return true;
	}
	return false;
}

/*
 * Is @name a mapping symbol, such as $x, $d or $x.3? These mark for disassemblers where code and
 * data begin (AArch64, RISC-V).
 */
static bool is_mapping_symbol(const char *name, const struct elf_symbol *sym)
{
	return sym->type == STT_NOTYPE && name[0] == '$' && strchr("adtx", name[1]) && name[1] &&
	       (name[2] == '\0' || name[2] == '.');
}

/*
 * Ranks a symbol; a lower rank is better. A symbol with a size is better than a symbol without a
 * size. If both are equal in this, a function is better than a symbol without a type. If they are
 * also equal in this, global is better than weak, and weak better than local.
 */
static uint8_t rank(const struct elf_symbol *sym)
{
	unsigned bind = sym->bind == STB_LOCAL ? 2 : sym->bind == STB_WEAK ? 1 : 0;

	return (uint8_t)((sym->size == 0) << 3 | (sym->type == STT_NOTYPE) << 2 | bind);
}

static int add_symbol(const char *name, const struct elf_symbol *sym, void *arg)
{
	struct reader *rd = arg;

	if (sym->type != STT_FUNC && sym->type != STT_GNU_IFUNC && sym->type != STT_NOTYPE)
		return 0;
	if (!is_code(rd, sym->value) || is_mapping_symbol(name, sym))
		return 0;
	return symbol_table_add(&rd->names->table, name, sym->value, sym->size, rank(sym));
}

static void refuse(struct elf_names *n, const char *why)
{
	str_addf(&n->refused, "%s%s", n->refused.n ? "; " : "", why);
}

static int has_symbols(const char *name, const struct elf_symbol *sym, void *arg)
{
	return 1;
}

/*
 * Adds the symbols of a debug file. Which addresses are code depends on the segments of the ELF
 * file that the process runs, not of the debug file.
 */
static int read_companion(struct reader *rd, int fd, struct elf_file **ret)
{
	if (elf_file_open(fd, "debug file", ret) < 0) {
		refuse(rd->names, err_msg());
		return 0;
	}
	return elf_file_symbols(*ret, add_symbol, rd);
}

static int read_symbols(struct elf_names *n, struct elf_file *f, int fd, int root)
{
	/* the debug file stays open until the symbols are sorted, because it owns their names */
	_cleanup_elf_ struct elf_file *companion = NULL;
	_cleanup_close_ int other = -1;
	struct reader rd = {.names = n};
	int r;

	rd.loads_n = elf_file_loads(f, &rd.loads);
	r = elf_file_symbols(f, add_symbol, &rd);
	if (!r && !elf_file_symbol_table(f, false, has_symbols, NULL)) {
		other = debug_file_find(f, fd, elf_file_name(f), root, &n->refused);
		if (other < 0)
			other = debug_file_unpack(f, fd);
		if (other < 0 && other != -ENOENT)
			refuse(n, err_msg());
		if (other >= 0)
			r = read_companion(&rd, other, &companion);
	}
	return r ? r : symbol_table_sort(&n->table);
}

int elf_names_open(int fd, const char *path, int root, struct elf_names **ret)
{
	_cleanup_elf_ struct elf_file *f = NULL;
	struct elf_names *n;
	int r = elf_file_open(fd, path, &f);

	if (r)
		return r;
	n = calloc(1, sizeof(*n));
	r = n ? read_symbols(n, f, fd, root) : -ENOMEM;
	if (r) {
		elf_names_free(n);
		return r == -EFBIG ? err_wrap(r, "%s", path) : err_sys(r, "%s", path);
	}
	if (n->table.dropped)
		log_info("%s: %zu symbols beyond krait's limit are left out", path,
			 n->table.dropped);
	if (n->refused.n)
		log_info("%s: debug file not used: %s", path, n->refused.s);
	*ret = n;
	return 0;
}

void elf_names_free(struct elf_names *n)
{
	if (!n)
		return;
	symbol_table_fini(&n->table);
	str_fini(&n->refused);
	free(n);
}

bool elf_names_find(const struct elf_names *n, uint64_t vaddr, const struct elf_range *function,
		    struct elf_name *ret)
{
	const struct symbol *s = symbol_table_find(&n->table, vaddr);

	if (!s) {
		s = symbol_table_before(&n->table, vaddr);
		if (!s || s->size)
			return false;
		if (s->start != vaddr &&
		    (!function || s->start < function->start || vaddr >= function->end))
			return false;
	}
	*ret = (struct elf_name){n->table.names.s + s->name, s->start, s->size};
	return true;
}

const char *elf_names_refused(const struct elf_names *n)
{
	return n->refused.n ? n->refused.s : NULL;
}

size_t elf_names_bytes(const struct elf_names *n)
{
	return sizeof(*n) + n->table.list.cap * sizeof(*n->table.list.v) + n->table.names.cap +
	       n->refused.cap;
}

size_t elf_names_count(const struct elf_names *n)
{
	return n->table.list.n;
}
