/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds lines and inlined functions in DWARF; see dwarf_file.h. */
#include "elf/dwarf_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>

#include "base/error.h"
#include "base/system/far.h"
#include "base/map.h"
#include "base/work/slice.h"
#include "base/vec.h"
#include "elf/dwarf_bounds.h"
#include "elf/elf_sections.h"

/* the most address ranges of all units together, and the most of all functions together */
#define RANGES_MAX (16u << 20)
#define LINE_BYTES 64 /* how many bytes of memory libdw takes for one line */
/* value by which libdw knows that there is no alternate debug file */
#define NO_ALT ((Dwarf *)-1)

/*
 * A range of addresses of a unit or a function, and the offset of the unit's or function's DIE in
 * .debug_info.
 */
struct dwarf_range {
	uint64_t start, end;
	Dwarf_Off entry;
};
typedef VEC(struct dwarf_range) dwarf_ranges_vec;

struct dwarf_file {
	Elf *elf, *alt_elf;
	/*
	 * descriptors of copies of the files of .elf and .alt_elf, if these are on a file system
	 * that may not answer (base/system/far.h); else -1
	 */
	int copy, alt_copy;
	Dwarf *dwarf, *alt;
	bool indexed;
	dwarf_ranges_vec units;
	VEC(dwarf_ranges_vec) functions; /* the functions of each unit for which they were needed */
	struct map by_unit;		 /* offset of a unit's DIE -> index into .functions */
	size_t n_ranges;		 /* number of ranges in all of .functions */
	/* memory that the unpacked sections and the lines take, in bytes */
	uint64_t bytes;
	uint64_t lines; /* how many bytes of line programs have been run */
	/* offset of a line program -> 1: libdw may run the program; 2: libdw may not run it */
	struct map by_program;
};

static int open_dwarf(int fd, const char *name, Elf **elf, int *copy, Dwarf **ret, uint64_t *sum)
{
	uint64_t bytes;

	*copy = far_copy(fd);
	fd = *copy >= 0 ? *copy : fd;
	elf_version(EV_CURRENT);
	*elf = elf_open_bounded(fd);
	bytes = *elf ? dwarf_sections_bytes(*elf, fd) : 0;
	*sum += bytes;
	if (!bytes)
		return err_set(-ENODATA, "%s has no DWARF", name);
	if (bytes > DWARF_BYTES_MAX)
		return err_set(-EFBIG, "%s has more DWARF than %s allows, or more than %llu MiB",
			       name, limit_names.memory, DWARF_BYTES_MAX >> 20);
	*ret = dwarf_begin_elf(*elf, DWARF_C_READ, NULL);
	if (!*ret)
		return err_set(-ENODATA, "%s: %s", name, dwarf_errmsg(-1));
	return 0;
}

int dwarf_file_open(int fd, const char *name, struct dwarf_file **ret)
{
	struct dwarf_file *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return err_sys(-ENOMEM, "%s", name);
	d->copy = d->alt_copy = -1;
	map_init(&d->by_unit);
	map_init(&d->by_program);
	r = open_dwarf(fd, name, &d->elf, &d->copy, &d->dwarf, &d->bytes);
	if (r) {
		dwarf_file_free(d);
		return r;
	}
	dwarf_setalt(d->dwarf, NO_ALT);
	*ret = d;
	return 0;
}

void dwarf_file_free(struct dwarf_file *d)
{
	if (!d)
		return;
	vec_fini(&d->units);
	vec_foreach(list, &d->functions)
		vec_fini(list);
	vec_fini(&d->functions);
	map_fini(&d->by_unit);
	map_fini(&d->by_program);
	if (d->dwarf)
		dwarf_setalt(d->dwarf, NULL);
	dwarf_end(d->dwarf);
	dwarf_end(d->alt);
	elf_end(d->elf);
	elf_end(d->alt_elf);
	far_drop(d->copy);
	far_drop(d->alt_copy);
	free(d);
}

size_t dwarf_file_alt_id(const struct dwarf_file *d, uint8_t id[static ELF_BUILD_ID_MAX])
{
	const char *name;
	const void *bytes;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(d->dwarf, &name, &bytes);

	if (n <= 0 || n > ELF_BUILD_ID_MAX)
		return 0;
	memcpy(id, bytes, (size_t)n);
	return (size_t)n;
}

int dwarf_file_set_alt(struct dwarf_file *d, int fd)
{
	int r = d->alt_elf ? err_set(-EEXIST, "the DWARF already has an alternate debug file")
			   : open_dwarf(fd, "alternate debug file", &d->alt_elf, &d->alt_copy,
					&d->alt, &d->bytes);

	if (!r)
		dwarf_setalt(d->dwarf, d->alt);
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct dwarf_range *x = a, *y = b;

	return x->start != y->start ? (x->start < y->start ? -1 : 1)
				    : (x->end < y->end) - (x->end > y->end);
}

/* Adds the address ranges of @die to @list. 0 or -ENOMEM, -E2BIG. */
static int add_ranges(dwarf_ranges_vec *list, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		int r = list->n < RANGES_MAX ? 0 : -E2BIG;

		/* ranges that begin at 0 belong to code that the linker dropped */
		if (!r && start && start < end)
			r = vec_push(list, (struct dwarf_range){start, end, dwarf_dieoffset(die)});
		if (r)
			return r;
	}
	return 0;
}

/*
 * Returns the range that covers @addr. If several ranges cover it, returns the one that starts
 * last. (The ranges of units or functions hardly overlap.)
 */
static const struct dwarf_range *find_range(const dwarf_ranges_vec *list, uint64_t addr)
{
	size_t n = count_upto(list->v, list->n, start, addr);

	for (int look = 0; n-- > 0 && look < 16; look++)
		if (addr < list->v[n].end)
			return &list->v[n];
	return NULL;
}

static void sort(dwarf_ranges_vec *list)
{
	if (list->n)
		qsort(list->v, list->n, sizeof(*list->v), compare);
}

/* Does the unit have a part in a .dwo file? libdw would open whatever path the unit names. */
static bool is_split(Dwarf_Die *unit)
{
	Dwarf_Attribute attr;

	return dwarf_attr(unit, DW_AT_dwo_name, &attr) ||
	       dwarf_attr(unit, DW_AT_GNU_dwo_name, &attr);
}

/*
 * Lists the units of the file. A unit that can't be read ends the list; the units before it are
 * kept.
 */
static void index_units(struct dwarf_file *d)
{
	Dwarf_Off at = 0, next;
	size_t header;

	d->indexed = true;
	while (dwarf_nextcu(d->dwarf, at, &next, &header, NULL, NULL, NULL) == 0 && next > at) {
		Dwarf_Die unit;

		if (dwarf_offdie(d->dwarf, at + header, &unit) && !is_split(&unit) &&
		    add_ranges(&d->units, &unit) < 0)
			break;
		at = next;
	}
	sort(&d->units);
}

static int index_functions(dwarf_ranges_vec *list, Dwarf_Die *die, int depth);

/*
 * Adds the ranges of the functions in @die, also of those in namespaces and types: C++ and Rust
 * have functions there.
 */
static int index_function(dwarf_ranges_vec *list, Dwarf_Die *die, int depth)
{
	int r = 0;

	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		r = add_ranges(list, die);
		break;
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_lexical_block:
		break;
	default:
		return 0;
	}
	return r || depth >= DWARF_DEPTH_MAX ? r : index_functions(list, die, depth + 1);
}

static int index_functions(dwarf_ranges_vec *list, Dwarf_Die *die, int depth)
{
	Dwarf_Die child;
	int r = 0, more = dwarf_child(die, &child);

	while (!more && !r) {
		r = index_function(list, &child, depth);
		more = dwarf_siblingof(&child, &child);
	}
	return r;
}

/*
 * Returns the functions of @unit, which are indexed at the first call for this unit. All indexes
 * are kept, because stacks go from unit to unit, and indexing a unit takes milliseconds. NULL: no
 * memory.
 */
static const dwarf_ranges_vec *unit_functions(struct dwarf_file *d, Dwarf_Die *unit)
{
	const uint64_t *known = map_get(&d->by_unit, dwarf_dieoffset(unit));
	dwarf_ranges_vec list = {};

	if (known)
		return &d->functions.v[*known];
	if (map_put(&d->by_unit, dwarf_dieoffset(unit), d->functions.n))
		return NULL;
	if (index_functions(&list, unit, 0) < 0 || list.n > RANGES_MAX - d->n_ranges)
		vec_fini(&list);
	sort(&list);
	if (vec_push(&d->functions, list)) {
		vec_fini(&list);
		map_del(&d->by_unit, dwarf_dieoffset(unit));
		return NULL;
	}
	d->n_ranges += list.n;
	return &d->functions.v[d->functions.n - 1];
}

static const char *function_name(Dwarf_Die *die)
{
	static const unsigned int names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
					     DW_AT_name};
	Dwarf_Attribute attr;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (dwarf_attr_integrate(die, names[i], &attr))
			return dwarf_formstring(&attr);
	return NULL;
}

/*
 * May libdw run the line program of @unit? A single byte of a program can make a line, for which
 * libdw keeps LINE_BYTES. So a program may run only if it is no longer than those that compilers
 * make.
 */
static bool may_run_lines(struct dwarf_file *d, Dwarf_Die *unit)
{
	const uint64_t *known;
	Dwarf_Attribute attr;
	Dwarf_Word at;
	uint64_t n;

	if (dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attr), &at))
		return false;
	known = map_get(&d->by_program, at + 1);
	if (known)
		return *known == 1;
	n = dwarf_program_bytes(d->elf, at);
	if (n > DWARF_LINES_MAX || n > DWARF_LINES_ALL - d->lines ||
	    map_put(&d->by_program, at + 1, 1)) {
		(void)!map_put(&d->by_program, at + 1, 2);
		return false;
	}
	d->lines += n;
	d->bytes += n * LINE_BYTES;
	return true;
}

/* Sets @ret's file and line to where the inlined function @die was called. */
static void call_site(struct dwarf_file *d, Dwarf_Die *die, Dwarf_Die *unit, struct dwarf_call *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word file = 0, line = 0;
	Dwarf_Files *files;
	size_t n;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &line) == 0)
		ret->line = (uint32_t)MIN(line, (Dwarf_Word)UINT32_MAX);
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &file) == 0 &&
	    may_run_lines(d, unit) && dwarf_getsrcfiles(unit, &files, &n) == 0 && file < n)
		ret->file = dwarf_filesrc(files, file, NULL, NULL);
}

/* Gets the scope inside @die that covers @addr: a block or an inlined function. */
static bool inner_scope(Dwarf_Die *die, uint64_t addr, Dwarf_Die *ret)
{
	int more = dwarf_child(die, ret);

	for (; !more; more = dwarf_siblingof(ret, ret)) {
		int tag = dwarf_tag(ret);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(ret, addr) > 0)
			return true;
	}
	return false;
}

/*
 * Gets @function and the functions inlined into it whose code is at @addr, at most @max. ret[0] is
 * the innermost function, the last entry is @function itself. Returns the number of entries.
 */
static size_t scopes(Dwarf_Die *function, uint64_t addr, Dwarf_Die *ret, size_t max)
{
	Dwarf_Die at = *function, inner;
	size_t n = 0;

	ret[n++] = at;
	for (int depth = 0; n < max && depth < DWARF_DEPTH_MAX; depth++) {
		if (!inner_scope(&at, addr, &inner))
			break;
		at = inner;
		if (dwarf_tag(&at) == DW_TAG_inlined_subroutine)
			ret[n++] = at;
	}
	for (size_t i = 0; i < n / 2; i++) {
		Dwarf_Die swap = ret[i];

		ret[i] = ret[n - 1 - i];
		ret[n - 1 - i] = swap;
	}
	return n;
}

static void source_line(struct dwarf_file *d, Dwarf_Die *unit, uint64_t addr,
			struct dwarf_call *ret)
{
	Dwarf_Line *line = may_run_lines(d, unit) ? dwarf_getsrc_die(unit, addr) : NULL;
	int n;

	if (!line)
		return;
	ret->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &n) == 0 && n > 0)
		ret->line = (uint32_t)n;
}

size_t dwarf_file_find(struct dwarf_file *d, uint64_t vaddr, struct dwarf_call *ret, size_t max)
{
	Dwarf_Die unit, function, scope[DWARF_DEPTH_MAX];
	const dwarf_ranges_vec *functions;
	const struct dwarf_range *range;
	size_t n;

	if (!d->indexed)
		index_units(d);
	range = find_range(&d->units, vaddr);
	if (!max || !range || !dwarf_offdie(d->dwarf, range->entry, &unit))
		return 0;
	ret[0] = (struct dwarf_call){};
	source_line(d, &unit, vaddr, &ret[0]);
	functions = unit_functions(d, &unit);
	range = functions ? find_range(functions, vaddr) : NULL;
	if (!range || !dwarf_offdie(d->dwarf, range->entry, &function))
		return 1;
	n = scopes(&function, vaddr, scope, MIN(max, (size_t)DWARF_DEPTH_MAX));
	for (size_t i = 0; i < n; i++) {
		ret[i].function = function_name(&scope[i]);
		ret[i].inlined = i + 1 < n;
		if (i + 1 < n) {
			ret[i + 1] = (struct dwarf_call){};
			call_site(d, &scope[i], &unit, &ret[i + 1]);
		}
	}
	return n;
}

size_t dwarf_file_bytes(const struct dwarf_file *d)
{
	return d->bytes + (d->units.cap + d->n_ranges) * sizeof(struct dwarf_range);
}
