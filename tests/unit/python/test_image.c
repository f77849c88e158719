/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interpreters in ELF files made by hand: which files krait recognizes, how it finds their version,
 * and with which message it refuses others. tests/layout/{check,live}.sh test real interpreters.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "debug_offsets.h"
#include "fake_python.h"
#include "python/find/image.h"

static int read_image(struct fake *f, const char *name, struct py_image *image)
{
	_cleanup_close_ int fd = ew_write(&f->w);

	return py_image_read(fd, name, image);
}

/* A stripped 3.8 has no version in its file name. The size of _PyRuntime tells its version. */
static void test_size_tells(void **state)
{
	struct py_image image;
	struct fake f = {0};

	ew_init(&f.w, ET_DYN);
	add_code_type(&f, 0, 112);
	ew_symbol(&f.w, "_PyRuntime", 0x4000, 1464, 1);
	assert_int_equal(read_image(&f, "/usr/bin/app", &image), 1);
	assert_string_equal(image.unsupported, "");
	assert_int_equal(image.hex_version >> 16, 0x308);
	assert_int_equal(image.layout.version, 0x308);
	assert_int_equal(image.where.tss, PY_TSS_KEY_GLIBC);
	assert_int_equal(image.where.tss_key, 0x4000 + 1396);
	assert_int_equal(image.where.tstate_current, 0x4000 + 1368);
	assert_int_equal(image.where.interp_head, 0x4000 + 32);
	assert_int_equal(image.code_type, f.type);
	assert_int_equal(image.start_vaddr, EW_TEXT);
}

/*
 * No release has a _PyRuntime of this size, so krait takes 3.8 from the file's name. It finds the
 * patch level at the end of a longer string.
 */
static void test_string_tells(void **state)
{
	struct py_image image;
	struct fake f = {0};

	ew_init(&f.w, ET_DYN);
	add_code_type(&f, 0, 112);
	add_string(&f, "1.2.13");
	add_string(&f, "/opt/python-3.8.18");
	add_string(&f, "3.9.1");
	ew_symbol(&f.w, "_PyRuntime", 0x4000, 2000, 1);
	assert_int_equal(read_image(&f, "/opt/lib/libpython3.8.so.1.0", &image), 1);
	assert_string_equal(image.unsupported, "");
	assert_int_equal(image.hex_version, 0x03081200);
}

/*
 * On AArch64, glibc's mutexes are larger than on other machines; musl's aren't. So a _PyRuntime of
 * 672 bytes belongs to 3.9 with glibc on AArch64, and to 3.10 elsewhere.
 */
static void test_arm64(void **state)
{
	struct py_image image;
	struct fake f = {0};

	ew_init(&f.w, ET_DYN);
	add_code_type(&f, 0, 112);
	ew_symbol(&f.w, "_PyRuntime", 0x4000, 672, 1);
	f.w.machine = EM_AARCH64;
	for (size_t i = 0; i < f.w.rela_n; i++)
		f.w.rela[i].r_info = ELF64_R_INFO(0, R_AARCH64_RELATIVE);
	assert_int_equal(read_image(&f, "app", &image), 1);
	assert_string_equal(image.unsupported, "");
	assert_int_equal(image.layout.version, 0x309);
	assert_int_equal(image.where.tss_key, 0x4000 + 604);
	assert_int_equal(image.where.tstate_current, 0x4000 + 584);
	assert_int_equal(image.where.interp_head, 0x4000 + 32);
	ew_dyn_string(&f.w, DT_NEEDED, "libc.musl-aarch64.so.1");
	assert_int_equal(read_image(&f, "app", &image), 1);
	assert_int_equal(image.hex_version >> 16, 0x30a);
}

/*
 * Of a 32-bit file krait reads only the ELF class. The file's name says which version of CPython it
 * is.
 */
static void test_32_bits(void **state)
{
	struct py_image image;
	struct fake f = {0};
	_cleanup_close_ int fd = -1;

	ew_init(&f.w, ET_DYN);
	fd = ew_write(&f.w);
	assert_int_equal(pwrite(fd, &(char){ELFCLASS32}, 1, EI_CLASS), 1);
	assert_int_equal(py_image_read(fd, "/usr/bin/python3.8", &image), 1);
	assert_string_equal(image.unsupported, "32-bit CPython 3.8");
	assert_int_equal(py_image_read(fd, "/lib/libpython3.11.so.1.0", &image), 1);
	assert_string_equal(image.unsupported, "32-bit CPython 3.11");
	assert_int_equal(py_image_read(fd, "python3", &image), 1);
	assert_string_equal(image.unsupported, "32-bit CPython");
	assert_int_equal(py_image_read(fd, "/lib/python3/app", &image), -ENOEXEC);
}

static void test_wrong_offset(void **state)
{
	struct py_image image;
	struct fake f = {0};

	ew_init(&f.w, ET_DYN);
	add_code_type(&f, 0, 120);
	ew_symbol(&f.w, "_PyRuntime", 0x4000, 1464, 1);
	assert_int_equal(read_image(&f, "python3.8", &image), 1);
	assert_string_equal(image.unsupported,
			    "CPython 3.8 with code objects that krait doesn't know");
}

static void test_trace_refs(void **state)
{
	struct py_image image;
	struct fake f = {0};

	ew_init(&f.w, ET_DYN);
	add_code_type(&f, 16, 112);
	ew_symbol(&f.w, "_PyRuntime", 0x4000, 1464, 1);
	assert_int_equal(read_image(&f, "python3.8", &image), 1);
	assert_string_equal(image.unsupported, "");
	assert_int_equal(image.layout.ob_type, 24);
	assert_int_equal(image.layout.code_name, 128);
	assert_int_equal(image.layout.tstate_frame, 24);
}

static void test_unknown_object(void **state)
{
	struct py_image image;
	struct fake f = {0};

	ew_init(&f.w, ET_DYN);
	add_code_type(&f, 8, 112);
	ew_symbol(&f.w, "_PyRuntime", 0x4000, 1464, 1);
	assert_int_equal(read_image(&f, "python3.8", &image), 1);
	assert_string_equal(image.unsupported,
			    "CPython 3.8 whose objects have a header that krait doesn't know");
}

static void test_old_and_unknown(void **state)
{
	struct py_image image;
	struct fake f = {0};

	ew_init(&f.w, ET_DYN);
	ew_symbol(&f.w, "_PyThreadState_Current", 0x4000, 8, 1);
	ew_symbol(&f.w, "PyCode_Type", 0x4100, 408, 1);
	assert_int_equal(read_image(&f, "/usr/lib/libpython3.5m.so.1.0", &image), 1);
	assert_string_equal(image.unsupported, "CPython 3.5");
	assert_int_equal(read_image(&f, "/usr/bin/app", &image), 1);
	assert_string_equal(image.unsupported, "CPython of an unknown version");
}

static void test_others(void **state)
{
	struct py_image image;
	struct fake f = {0};

	/*
	 * a program that needs libpython isn't an interpreter itself, whatever symbols it defines
	 */
	ew_init(&f.w, ET_DYN);
	ew_symbol(&f.w, "_PyRuntime", 0x4000, 1464, 1);
	ew_dyn_string(&f.w, DT_NEEDED, "libpython3.8.so.1.0");
	assert_int_equal(read_image(&f, "python3.8", &image), 0);

	ew_init(&f.w, ET_DYN);
	ew_symbol(&f.w, "rpython_startup_code", 0x1000, 16, 1);
	assert_int_equal(read_image(&f, "/usr/lib/libpypy3.11-c.so", &image), 1);
	assert_string_equal(image.unsupported, "PyPy 3.11");
	assert_int_equal(image.pypy_gil, 0);

	ew_init(&f.w, ET_DYN);
	ew_symbol(&f.w, "main", 0x1000, 16, 1);
	assert_int_equal(read_image(&f, "/usr/bin/python3.11", &image), 0);
}

/* PyPy's GIL is the word that pypy_thread_attach() locks, after it has looked at its thread. */
static void test_pypy_gil(void **state)
{
	static const uint8_t attach[] = {
		0x53,						/* push %rbx */
		0x83, 0xb8, 0,	  0,	0,    0,    0x2a,	/* cmpl $0x2a, 0(%rax) */
		0x48, 0x8b, 0x93, 0x38, 0,    0,    0,		/* mov 0x38(%rbx), %rdx */
		0xf0, 0x48, 0x0f, 0xb1, 0x15, 0xe8, 0x0f, 0, 0, /* lock cmpxchg %rdx, ... */
	};
	struct py_image image;
	struct fake f = {0};

	ew_init(&f.w, ET_DYN);
	ew_symbol(&f.w, "pypy_thread_attach", EW_TEXT, sizeof(attach), 1);
	ew_symbol(&f.w, "pypy_setup_home", EW_TEXT, 16, 1);
	ew_append(f.w.text, sizeof(f.w.text), &f.w.text_n, attach, sizeof(attach));
	assert_int_equal(read_image(&f, "/usr/lib/libpypy3.11-c.so", &image), 1);
	assert_string_equal(image.unsupported, "PyPy 3.11");
	assert_int_equal(image.pypy_gil, EW_TEXT + sizeof(attach) + 0xfe8);
	/* krait wasn't tried with this version */
	assert_int_equal(read_image(&f, "/usr/lib/libpypy3.10-c.so", &image), 1);
	assert_int_equal(image.pypy_gil, 0);
	/* the function doesn't look at its thread */
	f.w.text[7] = 0x2b;
	assert_int_equal(read_image(&f, "/usr/lib/libpypy3.11-c.so", &image), 1);
	assert_int_equal(image.pypy_gil, 0);
	/* what it locks isn't a variable of the file */
	f.w.text[7] = 0x2a;
	f.w.text[19] = 0x17;
	assert_int_equal(read_image(&f, "/usr/lib/libpypy3.11-c.so", &image), 1);
	assert_int_equal(image.pypy_gil, 0);
}

/*
 * Checks what krait takes a file for that is called @name, has the ELF type @type, and defines
 * @symbols. @what: the interpreter's name; NULL: none.
 */
static void check_other(const char *name, uint16_t type, const char *const *symbols,
			const char *what)
{
	struct py_image image;
	struct fake f = {0};

	ew_init(&f.w, type);
	for (size_t i = 0; symbols[i]; i++)
		ew_symbol(&f.w, symbols[i], 0x4000 + 0x1000 * i, 16, 1);
	assert_int_equal(read_image(&f, name, &image), what ? 1 : 0);
	assert_string_equal(image.unsupported, what ?: "");
}

/*
 * krait recognizes interpreters other than CPython by the symbols that they define, and by their
 * file names.
 */
static void test_named(void **state)
{
#define SYMBOLS(...) ((const char *const[]){__VA_ARGS__, NULL})
	check_other("app", ET_EXEC, SYMBOLS("mp_execute_bytecode"), "MicroPython");
	check_other("micropython", ET_EXEC, SYMBOLS("main"), "MicroPython");
	check_other("rustpython", ET_EXEC, SYMBOLS("main"), "RustPython");
	check_other("graalpy", ET_EXEC, SYMBOLS("main"), "GraalPy");
	check_other("libpythonvm.so", ET_DYN, SYMBOLS("graal_create_isolate"), "GraalPy");
	check_other("python3.8", ET_DYN,
		    SYMBOLS("_PyRuntime", "_Py_RecursionLimitLowerWaterMark_Precomputed"),
		    "Pyston");
	check_other("python3.10", ET_DYN, SYMBOLS("_PyRuntime", "Ci_cinderx_initialized"),
		    "Cinder");
	check_other("python3.8", ET_DYN, SYMBOLS("_PyRuntime", "_PyEval_ShadowByteCodeEnabled"),
		    "Cinder");
	/*
	 * not interpreters: an extension of an ordinary CPython, another library, libraries with a
	 * program's name
	 */
	check_other("_cinderx.so", ET_DYN, SYMBOLS("Ci_cinderx_initialized"), NULL);
	check_other("libapp.so", ET_DYN, SYMBOLS("graal_create_isolate"), NULL);
	check_other("libpythonvm.so", ET_DYN, SYMBOLS("main"), NULL);
	check_other("micropython.so", ET_DYN, SYMBOLS("main"), NULL);
}

/*
 * Adds PyCode_Type with the members that krait needs, and debug offsets as in 3.13 or later.
 * Returns the address of the offsets.
 */
static uint64_t add_new_python(struct fake *f, const uint64_t *offsets, size_t n)
{
	static const char *const names[] = {"co_argcount", "co_flags",	  "co_filename",
					    "co_name",	   "co_qualname", "co_linetable"};
	static const uint64_t at[] = {52, 48, 112, 120, 128, 136};
	uint64_t name = add_string(f, "code"), s[ARRAY_SIZE(names)], runtime;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		s[i] = add_string(f, names[i]);
	f->members = EW_DATA + f->w.data_n;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const uint64_t member[] = {s[i], 0, at[i], 0, 0};

		ew_data(&f->w, member, sizeof(member));
	}
	/* zeros: the end of the array of members, and the words of the type object */
	f->type = ew_u64(&f->w, 0) + 40;
	for (int i = 0; i < 40; i++)
		ew_u64(&f->w, 0);
	ew_set_u64(&f->w, f->type + 24, name);
	ew_set_u64(&f->w, f->type + 32, 208);
	ew_set_u64(&f->w, f->type + 240, f->members);
	runtime = ew_data(&f->w, offsets, n * sizeof(*offsets));
	return runtime;
}

/*
 * A 3.15 whose only symbol is that of the accessor function. krait finds _PyRuntime by its section,
 * and PyCode_Type by its tp_name, 'code'.
 */
static void test_section_and_scan(void **state)
{
	static const uint8_t accessor[] = {0x64, 0x48, 0x8b, 0x04, 0x25,
					   0xd8, 0xff, 0xff, 0xff, 0xc3};
	struct py_image image;
	struct fake f = {0};
	uint64_t runtime;

	ew_init(&f.w, ET_EXEC);
	runtime = add_new_python(&f, debug_offsets_3_15, ARRAY_SIZE(debug_offsets_3_15));
	ew_symbol(&f.w, "PyGILState_GetThisThreadState", ew_text(&f.w, accessor, sizeof(accessor)),
		  10, 1);
	f.w.named = ".PyRuntime";
	f.w.named_sh = (Elf64_Shdr){0, SHT_PROGBITS, SHF_ALLOC, runtime, runtime, 1000};
	assert_int_equal(read_image(&f, "app", &image), 1);
	assert_string_equal(image.unsupported, "");
	assert_int_equal(image.hex_version, 0x030f02f0);
	assert_int_equal(image.code_type, f.type);
	assert_int_equal(image.where.interp_head, runtime + 936);
	assert_int_equal(image.where.tss, PY_TSS_TLS_STATIC);
	assert_int_equal(image.where.tls_offset, -40);
	assert_true(image.exec_fixed);
}

/*
 * A 3.14 without section headers. krait finds its debug offsets by the cookie at their beginning.
 */
static void test_cookie(void **state)
{
	struct py_image image;
	struct fake f = {0};
	uint64_t runtime;

	ew_init(&f.w, ET_EXEC);
	runtime = add_new_python(&f, debug_offsets_3_14, ARRAY_SIZE(debug_offsets_3_14));
	f.w.no_sections = true;
	assert_int_equal(read_image(&f, "app", &image), 1);
	assert_string_equal(image.unsupported, "");
	assert_int_equal(image.layout.version, 0x30e);
	assert_int_equal(image.where.tss_key, runtime + 2340);
}

static void test_unknown_debug_offsets(void **state)
{
	uint64_t offsets[ARRAY_SIZE(debug_offsets_3_15)];
	struct py_image image;
	struct fake f = {0};

	memcpy(offsets, debug_offsets_3_15, sizeof(offsets));
	offsets[1] = 0x031000f0;
	offsets[44] = 4000; /* owner */
	ew_init(&f.w, ET_EXEC);
	ew_symbol(&f.w, "_PyRuntime", add_new_python(&f, offsets, ARRAY_SIZE(offsets)), 1000, 1);
	assert_int_equal(read_image(&f, "app", &image), 1);
	assert_non_null(
		strstr(image.unsupported,
		       "CPython 3.16: the interpreter's _Py_DebugOffsets have an impossible owner: "
		       "4000"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size_tells),
		cmocka_unit_test(test_string_tells),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_32_bits),
		cmocka_unit_test(test_wrong_offset),
		cmocka_unit_test(test_trace_refs),
		cmocka_unit_test(test_unknown_object),
		cmocka_unit_test(test_old_and_unknown),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_pypy_gil),
		cmocka_unit_test(test_section_and_scan),
		cmocka_unit_test(test_cookie),
		cmocka_unit_test(test_unknown_debug_offsets),
		cmocka_unit_test(test_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
