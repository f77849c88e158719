/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Colours. The family says what a frame is (svg.css has their fills for light and dark pages), the
 * member is a hash of the module, so that a module looks the same in every picture.
 */
#include "render/svg.h"

/* Sizes of the families in svg.css: .p0 to .p9 and so on. */
enum { PYTHON_COLOURS = 10, NATIVE_COLOURS = 4, KERNEL_COLOURS = 3 };

/* FNV-1a, 32 bits, with the high bits folded in: few colours are taken from it. */
static uint32_t hash(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h ^ h >> 16;
}

/* The top package, or the file itself: "numpy" of numpy/core/a.py, "app.py". */
static uint32_t hash_package(const char *file)
{
	return hash(file, strcspn(file + (*file == '/'), "/") + (*file == '/'));
}

void svg_class(struct svg_function *f)
{
	static const char family[] = {
		[ORIGIN_OWN] = 'p', [ORIGIN_PACKAGE] = 'q', [ORIGIN_STDLIB] = 's'};
	unsigned n;

	if (f->root) {
		strcpy(f->class, "r");
		return;
	}
	switch (f->kind) {
	case KIND_PYTHON:
		n = (f->origin == ORIGIN_OWN ? hash(f->file, strlen(f->file))
					     : hash_package(f->file)) %
		    PYTHON_COLOURS;
		snprintf(f->class, sizeof(f->class), "%c%u", family[f->origin], n);
		return;
	case KIND_NATIVE:
		n = hash(f->module, strlen(f->module)) % NATIVE_COLOURS;
		snprintf(f->class, sizeof(f->class), "n%u", n);
		return;
	case KIND_KERNEL:
		n = hash(f->name, strlen(f->name)) % KERNEL_COLOURS;
		snprintf(f->class, sizeof(f->class), "k%u", n);
		return;
	case KIND_GC:
		strcpy(f->class, "g");
		return;
	default:
		strcpy(f->class, "m");
	}
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
