/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pyimage FILE...: prints what py_image_read() finds in ELF files, as lines "name value", for tests
 * and for examining an unknown interpreter.
 *
 * pyimage --layout 3.7.2 prints krait's layout of that version (--trace-refs: of a build with
 * Py_TRACE_REFS, --arm64: for AArch64 with glibc).
 *
 * pyimage --debug-offsets FILE prints the layout from the first bytes of a _PyRuntime in FILE. Exit
 * code: 0 if each file has an interpreter, 1 if one has none, 2 for wrong usage or an error.
 */
#include <fcntl.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "python/find/image_internal.h"
#include "python/layout/tables.h"

static void print_layout(const struct py_layout *l)
{
	printf("version %u\nwalk %u\nstr_kind_shift %u\ngil_bit %u\n", l->version, l->walk,
	       l->str_kind_shift, l->gil_bit);
	printf("gil_struct_holder %u\ngil_struct_locked %u\ngil_struct_wait %u\n", PY_GIL_HOLDER,
	       PY_GIL_LOCKED, PY_GIL_WAIT);
	printf("interpreters_next_id %u\n", PY_NEXT_ID);
#define X(name) printf(#name " %u\n", l->name);
	PY_OFFSETS(X)
#undef X
}

static void print_runtime(const struct py_runtime_row *row, unsigned growth)
{
	printf("runtime_size %u\nruntime_interp_head %u\nruntime_tss_key %u\n", row->size,
	       row->interp_head, row->tss_key);
	if (row->tstate_current)
		printf("runtime_tstate_current %u\nruntime_gil_holder %llu\n", row->tstate_current,
		       (unsigned long long)py_gil_before(row->tstate_current, growth) +
			       PY_GIL_HOLDER);
	printf("gil_struct_wait_bytes %u\n", PY_GIL_WAIT_BYTES + growth);
}

static void print_where(const struct py_where *w)
{
	printf("tstate_current 0x%llx\ninterp_head 0x%llx\ntss %u\ntss_key 0x%llx\n"
	       "tls_got 0x%llx\ntls_offset %lld\n",
	       (unsigned long long)w->tstate_current, (unsigned long long)w->interp_head, w->tss,
	       (unsigned long long)w->tss_key, (unsigned long long)w->tls_got,
	       (long long)w->tls_offset);
	printf("codes_made 0x%llx\nfinalizing 0x%llx\n", (unsigned long long)w->codes_made,
	       (unsigned long long)w->finalizing);
	printf("gil %u\ngil_holder 0x%llx\ngil_locked 0x%llx\ngil_wait 0x%llx\n"
	       "gil_struct_wait_bytes %u\n",
	       w->gil, (unsigned long long)w->gil_holder, (unsigned long long)w->gil_locked,
	       (unsigned long long)w->gil_wait, w->gil_wait_bytes);
}

static int print_image(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct py_image image;
	int r;

	if (fd < 0) {
		perror(path);
		return 2;
	}
	r = py_image_read(fd, path, &image);
	if (r < 0) {
		fprintf(stderr, "%s\n", err_msg());
		return 2;
	}
	printf("file %s\nimage %d\n", path, r);
	if (!r)
		return 1;
	printf("hex_version 0x%08x\nunsupported %s\nfree_threaded %d\ndebug %d\nexec_fixed %d\n"
	       "start_vaddr 0x%llx\n",
	       image.hex_version, image.unsupported, image.free_threaded, image.debug,
	       image.exec_fixed, (unsigned long long)image.start_vaddr);
	print_where(&image.where);
	print_layout(&image.layout);
	return 0;
}

static int print_table(const char *version, bool trace_refs, unsigned growth)
{
	unsigned major, minor, patch = 0;
	const struct py_layout *table;
	const struct py_runtime_row *row;
	struct py_runtime_row grown;
	struct py_layout l;

	if (sscanf(version, "%u.%u.%u", &major, &minor, &patch) < 2)
		return 2;
	table = py_layout_table(major << 8 | minor, patch);
	row = py_runtime_table(major << 8 | minor, patch);
	if (!table)
		return 1;
	l = *table;
	if (trace_refs)
		py_layout_trace_refs(&l);
	print_layout(&l);
	if (row) {
		grown = py_runtime_grow(row, growth);
		print_runtime(&grown, growth);
	}
	return 0;
}

static int print_debug_offsets(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	uint8_t bytes[PY_DEBUG_READ];
	struct py_layout l;
	size_t n;

	if (!f) {
		perror(path);
		return 2;
	}
	n = fread(bytes, 1, sizeof(bytes), f);
	if (py_layout_from_debug_offsets(bytes, n, &l) < 0) {
		fprintf(stderr, "%s: %s\n", path, err_msg());
		return 2;
	}
	print_layout(&l);
	return 0;
}

int main(int argc, char **argv)
{
	int rc = argc > 1 ? 0 : 2;

	if (argc == 3 && streq(argv[1], "--layout"))
		return print_table(argv[2], false, 0);
	if (argc == 3 && streq(argv[1], "--trace-refs"))
		return print_table(argv[2], true, 0);
	if (argc == 3 && streq(argv[1], "--arm64"))
		return print_table(argv[2], false, 16);
	if (argc == 3 && streq(argv[1], "--debug-offsets"))
		return print_debug_offsets(argv[2]);
	for (int i = 1; i < argc; i++)
		rc = MAX(rc, print_image(argv[i]));
	return rc;
}
