/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks for an interpreter in one ELF file: is there one, which version is it, and can krait walk
 * its frames? If krait recognizes an interpreter but can't walk its frames, it says why. Nothing is
 * guessed.
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "base/system/far.h"
#include "python/find/image_internal.h"

void image_unsupported(struct py_image *image, const char *fmt, ...)
{
	va_list ap;

	/* only the first reason is kept, because later reasons only follow from it */
	if (image->unsupported[0])
		return;
	va_start(ap, fmt);
	vsnprintf(image->unsupported, sizeof(image->unsupported), fmt, ap);
	va_end(ap);
}

static unsigned major(const struct py_image *image)
{
	return image->hex_version >> 24;
}

static unsigned minor(const struct py_image *image)
{
	return image->hex_version >> 16 & 0xff;
}

/*
 * Does the file need a libpython? Then it doesn't contain the interpreter itself.
 * libpython3.so, the library of the stable ABI, is also such a file.
 */
static bool needs_libpython(struct elf_file *elf)
{
	const char *s;

	for (size_t i = 0; (s = elf_file_needed(elf, i)); i++) {
		if (str_starts(s, "libpython") || str_starts(s, "libpypy"))
			return true;
	}
	return false;
}

static void find_symbols(struct image_ctx *c, bool dynamic)
{
	static const char *const names[] = {
#define X(name) #name,
		IMAGE_SYMBOLS(X)
#undef X
	};

	elf_file_find_in(c->elf, dynamic, names, c->sym, SYM_MAX);
}

/*
 * The symbols of an interpreter are exported. In a program that was linked with hidden symbols they
 * are only in .symtab. .symtab is read only for programs, and for files that certainly have an
 * interpreter.
 */
static void find_all_symbols(struct image_ctx *c)
{
	struct elf_section sec;

	find_symbols(c, true);
	if (image_other_by_symbol(c) || c->sym[SYM__PyRuntime].value)
		return;
	if (image_has_runtime(c) || elf_file_is_program(c->elf) ||
	    elf_file_section(c->elf, ".PyRuntime", &sec))
		find_symbols(c, false);
}

/*
 * Finds _PyRuntime by its symbol, or by the section `.PyRuntime` (3.10+), which contains only
 * _PyRuntime and isn't stripped. In a program that has neither, krait looks for the first bytes of
 * _PyRuntime (3.13+).
 */
static bool find_runtime(struct image_ctx *c)
{
	const struct elf_symbol *sym = &c->sym[SYM__PyRuntime];
	struct elf_section sec;

	if (sym->value) {
		c->runtime = sym->value;
		c->runtime_size = sym->size;
	} else if (elf_file_section(c->elf, ".PyRuntime", &sec) && sec.vaddr) {
		c->runtime = sec.vaddr;
		c->runtime_size = sec.size;
	} else if (elf_file_is_program(c->elf)) {
		c->runtime = image_find_cookie(c);
	}
	return c->runtime != 0;
}

/*
 * 3.13+: does the file have debug offsets, by which it describes its structures? If so, fills in
 * the image from the debug offsets, or notes why krait can't profile the interpreter.
 */
static bool use_debug_offsets(struct image_ctx *c)
{
	struct py_image *image = c->image;
	uint8_t bytes[PY_DEBUG_READ];
	struct py_debug_offsets d;
	size_t n;

	n = elf_file_read(c->elf, c->runtime, bytes, sizeof(bytes));
	if (n < 16 || memcmp(bytes, PY_COOKIE, 8) != 0)
		return false;
	memcpy(&image->hex_version, bytes + 8, sizeof(image->hex_version));
	if (py_debug_offsets(bytes, n, &d) < 0) {
		image_unsupported(image, "CPython %u.%u: %s", major(image), minor(image),
				  err_msg());
		return true;
	}
	image->layout = d.layout;
	image->free_threaded = d.free_threaded;
	image->where.interp_head = c->runtime + d.interp_head;
	image->where.finalizing = d.finalizing ? c->runtime + d.finalizing : 0;
	image->where.gil = d.gil;
	image_counter_value(c, &d);
	if (d.free_threaded && !PY_HAS(d.layout.can, FREE_THREADED))
		image_unsupported(image, "free-threaded CPython %u.%u", major(image), minor(image));
	return true;
}

static void use_table(struct image_ctx *c)
{
	struct py_image *image = c->image;
	const struct py_layout *layout;

	image->hex_version = image_version(c);
	layout = py_layout_table(image->hex_version >> 16, image->hex_version >> 8 & 0xff);
	if (layout)
		image->layout = *layout;
	else if (image->hex_version)
		image_unsupported(image, "CPython %u.%u", major(image), minor(image));
	else
		image_unsupported(image, "CPython of an unknown version");
	if (PY_HAS(image->layout.can, COUNTER_SYMBOL))
		image_counter_symbol(c);
}

static void examine(struct image_ctx *c)
{
	struct py_image *image = c->image;

	image->exec_fixed = elf_file_is_exec(c->elf);
	if (!elf_file_text_start(c->elf, &image->start_vaddr))
		image_unsupported(image, "a file without an executable segment");
	image->debug = c->sym[SYM__Py_RefTotal].value || c->sym[SYM__Py_GetRefTotal].value;
	image->code_type = c->sym[SYM_PyCode_Type].value;
	if (!c->runtime || !use_debug_offsets(c))
		use_table(c);
	if (!image->unsupported[0] && !image->code_type)
		image->code_type = image_find_code_type(c);
	if (!image->code_type)
		image_unsupported(image, "CPython %u.%u without the symbol PyCode_Type",
				  major(image), minor(image));
	if (!image->unsupported[0])
		image_check(c);
	if (!image->unsupported[0])
		image_roots(c);
}

static void name_it(struct py_image *image, const char *what, unsigned version)
{
	if (version)
		image_unsupported(image, "%s %u.%u", what, version >> 8, version & 0xff);
	else
		image_unsupported(image, "%s", what);
}

static void name_other(struct image_ctx *c, const char *other, const char *path)
{
	unsigned version = image_version_after(path, "pypy");

	name_it(c->image, other, version);
	if (version == PY_PYPY_TRIED && streq(other, "PyPy"))
		c->image->pypy_gil = image_pypy_gil(c);
}

/*
 * Tells whether the file is a 32-bit interpreter. Only the file's name shows that it is an
 * interpreter.
 */
static bool is_32_bit_python(int fd, const char *path)
{
	const char *name = path_base(path);
	uint8_t ident[EI_NIDENT];

	return (str_starts(name, "python") || str_starts(name, "libpython")) &&
	       far_pread(fd, ident, sizeof(ident), 0) == sizeof(ident) &&
	       !memcmp(ident, ELFMAG, SELFMAG) && ident[EI_CLASS] == ELFCLASS32;
}

int py_image_read(int fd, const char *name, struct py_image *ret)
{
	_cleanup_elf_ struct elf_file *elf = NULL;
	struct image_ctx c = {.image = ret};
	const char *other;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = elf_file_open(fd, name, &elf);
	if (r == -ENOEXEC && is_32_bit_python(fd, name)) {
		name_it(ret, "32-bit CPython", image_version_after(name, "python"));
		return 1;
	}
	if (r)
		return r;
	if (needs_libpython(elf))
		return 0;
	c.elf = elf;
	find_all_symbols(&c);
	other = image_other_by_symbol(&c);
	if (other) {
		name_other(&c, other, name);
		return 1;
	}
	if (find_runtime(&c) || image_has_runtime(&c)) {
		examine(&c);
		return 1;
	}
	other = image_other_by_name(&c, name);
	if (other)
		name_it(ret, other, 0);
	return other ? 1 : 0;
}
