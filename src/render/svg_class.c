/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Colours. The family says what a frame is (svg.css has their fills for light and dark pages), the
 * member is a hash of the module, so that a module looks the same in every picture.
 */
#include "render/svg.h"

/* Sizes of the families in svg.css: .p0 to .p9 and so on. */
enum { PYTHON_COLOURS = 10, NATIVE_COLOURS = 4, KERNEL_COLOURS = 3 };

/* FNV-1a, 32 bits, with the high bits folded in: few colours are taken from it. */
static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h ^ h >> 16;
}

static char family(const struct svg_function *f)
{
	static const char by_origin[] = {
		[ORIGIN_OWN] = 'p', [ORIGIN_PACKAGE] = 'q', [ORIGIN_STDLIB] = 's'};
	static const char by_kind[KIND_MAX] = {
		[KIND_NATIVE] = 'n', [KIND_KERNEL] = 'k', [KIND_GC] = 'g', [KIND_MARK] = 'm'};

	if (f->root)
		return 'r';
	return f->kind == KIND_PYTHON ? by_origin[f->origin] : by_kind[f->kind];
}

void svg_class(struct svg_function *f)
{
	f->class[0] = family(f);
	f->class[1] = '\0';
	if (f->root)
		return;
	if (f->kind == KIND_PYTHON)
		f->class[1] = '0' + hash(f->file) % PYTHON_COLOURS;
	else if (f->kind == KIND_NATIVE)
		f->class[1] = '0' + hash(f->module) % NATIVE_COLOURS;
	else if (f->kind == KIND_KERNEL)
		f->class[1] = '0' + hash(f->name) % KERNEL_COLOURS;
	f->class[2] = '\0';
}

const char *svg_kind_name(const struct svg_function *f)
{
	static const char *const origins[] = {[ORIGIN_OWN] = "your code",
					      [ORIGIN_PACKAGE] = "packages",
					      [ORIGIN_STDLIB] = "standard library"};
	static const char *const kinds[KIND_MAX] = {[KIND_NATIVE] = "native",
						    [KIND_KERNEL] = "kernel",
						    [KIND_GC] = "garbage collector",
						    [KIND_MARK] = "marks"};

	if (f->root)
		return "";
	return f->kind == KIND_PYTHON ? origins[f->origin] : kinds[f->kind];
}
