/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accessors are small functions of CPython (PyGILState_GetThisThreadState, PyInterpreterState_Head)
 * from whose code krait learns where a variable is. The test puts their code, as disassembled from
 * real builds, into small ELF files with the relocations that the code needs. Comments name the
 * version of CPython that has the code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "elf_writer.h"
#include "python/find/accessor.h"

/*
 * Makes the RIP-relative operand at @at refer to @addr. Its instruction ends at offset @end of the
 * text.
 */
static void patch(uint8_t *code, size_t at, size_t end, uint64_t addr)
{
	int32_t disp = (int32_t)(addr - (EW_TEXT + end));

	memcpy(code + at, &disp, sizeof(disp));
}

static struct accessor decode(struct elf_writer *w, const uint8_t *code, size_t n)
{
	_cleanup_elf_ struct elf_file *f = NULL;
	_cleanup_close_ int fd = -1;

	assert_int_equal(ew_text(w, code, n), EW_TEXT);
	fd = ew_write(w);
	assert_int_equal(elf_file_open(fd, "test", &f), 0);
	return accessor_read(f, EW_TEXT);
}

/* code of 2.7 and 3.6: mov interp_head(%rip),%rax; ret */
static void test_global(void **state)
{
	uint8_t code[] = {0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc3};
	struct elf_writer w;
	struct accessor a;

	ew_init(&w, ET_DYN);
	patch(code, 3, 7, 0x3010);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_GLOBAL);
	assert_int_equal(a.addr, 0x3010);
}

/* code of 3.6: cmpq $0,autoInterpreterState; je; mov autoTLSkey,%edi; jmp PyThread_get_key_value */
static void test_key_variable(void **state)
{
	uint8_t code[] = {0x48, 0x83, 0x3d, 0, 0, 0, 0, 0,    0x74, 0x0e, 0x8b, 0x3d, 0,   0,
			  0,	0,    0xe9, 0, 0, 0, 0, 0x0f, 0x1f, 0x00, 0x31, 0xc0, 0xc3};
	struct elf_writer w;
	struct accessor a;

	ew_init(&w, ET_DYN);
	patch(code, 3, 8, 0x3010);
	patch(code, 12, 16, 0x2f00);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_KEY);
	assert_int_equal(a.addr, 0x2f00);
}

/*
 * code of 3.14, clang, _PyRuntime by GOT: cmpl; je; mov 0x924(%rax),%edi; pop; jmp
 * pthread_getspecific
 */
static void test_key_in_runtime(void **state)
{
	uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x05, 0,	  0,	0,    0,    0x83,
			  0xb8, 0x20, 0x09, 0,	  0,	0,    0x74, 0x0c, 0x8b, 0xb8, 0x24, 0x09,
			  0,	0,    0x5d, 0xe9, 0,	0,    0,    0,	  0x31, 0xc0, 0x5d, 0xc3};
	struct elf_writer w;
	struct accessor a;
	uint64_t got;

	ew_init(&w, ET_DYN);
	got = ew_u64(&w, 0);
	ew_rela(&w, got, R_X86_64_GLOB_DAT, ew_symbol(&w, "_PyRuntime", 0x4000, 8, SHN_ABS), 0);
	patch(code, 7, 11, got);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_KEY);
	assert_int_equal(a.addr, 0x4924);
}

/* code of 3.13, gcc: lea 0x870(%rax),%rbx; mov %rbx,%rdi; call PyThread_tss_is_created */
static void test_argument(void **state)
{
	uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x05, 0,	  0,
			  0,	0,    0x53, 0x48, 0x8d, 0x98, 0x70, 0x08, 0,
			  0,	0x48, 0x89, 0xdf, 0xe8, 0,    0,    0,	  0};
	struct elf_writer w;
	struct accessor a;
	uint64_t got;

	ew_init(&w, ET_DYN);
	got = ew_u64(&w, 0);
	ew_rela(&w, got, R_X86_64_RELATIVE, 0, 0x4000);
	patch(code, 7, 11, got);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_ARGUMENT);
	assert_int_equal(a.addr, 0x4870);
}

/* code of 3.14, not PIE: cmpl; je; mov $autoTSSkey,%edi; jmp PyThread_tss_get */
static void test_argument_fixed(void **state)
{
	static const uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x83, 0x3d, 0,	 0x10, 0,
				       0,    0,	   0x74, 0x0a, 0xbf, 0x20, 0x49, 0,    0,
				       0xe9, 0,	   0,	 0,    0,    0x31, 0xc0, 0xc3};
	struct elf_writer w;
	struct accessor a;

	ew_init(&w, ET_EXEC);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_ARGUMENT);
	assert_int_equal(a.addr, 0x4920);
}

/* code of 3.15, executable: mov %fs:-40,%rax; ret */
static void test_tls_static(void **state)
{
	static const uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x64, 0x48, 0x8b,
				       0x04, 0x25, 0xd8, 0xff, 0xff, 0xff, 0xc3};
	struct elf_writer w;
	struct accessor a;

	ew_init(&w, ET_EXEC);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_TLS);
	assert_int_equal(a.offset, -40);
}

/*
 * code in which the linker relaxed the TLS access to local-exec: mov %fs:0,%rax; lea
 * -24(%rax),%rax; mov (%rax),%rax
 */
static void test_tls_relaxed(void **state)
{
	static const uint8_t from_gd[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0,    0,
					  0,	0,    0x48, 0x8d, 0x80, 0xe8, 0xff,
					  0xff, 0xff, 0x48, 0x8b, 0x00, 0xc3};
	/* the same access relaxed from initial-exec: mov $-24,%rax; mov %fs:(%rax),%rax */
	static const uint8_t from_ie[] = {0x48, 0xc7, 0xc0, 0xe8, 0xff, 0xff,
					  0xff, 0x64, 0x48, 0x8b, 0x00, 0xc3};
	struct elf_writer w;
	struct accessor a;

	ew_init(&w, ET_EXEC);
	a = decode(&w, from_gd, sizeof(from_gd));
	assert_int_equal(a.kind, ACCESS_TLS);
	assert_int_equal(a.offset, -24);
	ew_init(&w, ET_EXEC);
	a = decode(&w, from_ie, sizeof(from_ie));
	assert_int_equal(a.kind, ACCESS_TLS);
	assert_int_equal(a.offset, -24);
}

/*
 * code of 3.15, shared, local-dynamic: lea GOT(%rip),%rdi; call __tls_get_addr; pop; mov
 * 0x28(%rax),%rax
 */
static void test_tls_local_dynamic(void **state)
{
	uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8d,
			  0x3d, 0,    0,    0,	  0,	0xe8, 0,    0,	  0,	0,
			  0x5d, 0x48, 0x8b, 0x80, 0x28, 0,    0,    0,	  0xc3};
	struct elf_writer w;
	struct accessor a;
	uint64_t got;

	ew_init(&w, ET_DYN);
	got = ew_u64(&w, 0);
	ew_rela(&w, got, R_X86_64_DTPMOD64, 0, 0);
	patch(code, 11, 15, got);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_TLS_PAIR);
	assert_int_equal(a.addr, got);
	assert_int_equal(a.offset, 0x28);
}

/*
 * code of 3.12: data16 lea GOT(%rip),%rdi; data16 data16 rex.W call __tls_get_addr; mov (%rax),%rax
 */
static void test_tls_general_dynamic(void **state)
{
	uint8_t code[] = {0x48, 0x83, 0xec, 0x08, 0x66, 0x48, 0x8d, 0x3d, 0, 0,
			  0,	0,    0x66, 0x66, 0x48, 0xe8, 0,    0,	  0, 0,
			  0x48, 0x8b, 0x00, 0x48, 0x83, 0xc4, 0x08, 0xc3};
	struct elf_writer w;
	struct accessor a;
	uint64_t got;

	ew_init(&w, ET_DYN);
	got = ew_u64(&w, 0);
	ew_rela(&w, got, R_X86_64_DTPMOD64, 0, 0);
	patch(code, 8, 12, got);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_TLS_PAIR);
	assert_int_equal(a.offset, 0);
}

/* code with -mtls-dialect=gnu2: lea x@tlsdesc(%rip),%rax; call *(%rax); mov %fs:(%rax),%rax */
static void test_tls_descriptor(void **state)
{
	uint8_t code[] = {0x48, 0x8d, 0x05, 0, 0, 0, 0, 0xff, 0x10, 0x64, 0x48, 0x8b, 0x00, 0xc3};
	uint8_t added[] = {0x48, 0x8d, 0x05, 0, 0, 0, 0,    0xff, 0x10, 0x64, 0x48, 0x03,
			   0x04, 0x25, 0,    0, 0, 0, 0x48, 0x8b, 0x40, 0x10, 0xc3};
	struct elf_writer w;
	struct accessor a;
	uint64_t got;

	ew_init(&w, ET_DYN);
	got = ew_u64(&w, 0);
	ew_rela(&w, got, R_X86_64_TLSDESC, 0, 0);
	patch(code, 3, 7, got);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_TLS_DESC);
	assert_int_equal(a.addr, got + 8);
	w.text_n = 0;
	patch(added, 3, 7, got);
	a = decode(&w, added, sizeof(added));
	assert_int_equal(a.kind, ACCESS_TLS_DESC);
	assert_int_equal(a.offset, 0x10);
}

/* code with -ftls-model=initial-exec: mov x@gottpoff(%rip),%rax; mov %fs:(%rax),%rax */
static void test_tls_initial_exec(void **state)
{
	uint8_t code[] = {0x48, 0x8b, 0x05, 0, 0, 0, 0, 0x64, 0x48, 0x8b, 0x00, 0xc3};
	struct elf_writer w;
	struct accessor a;
	uint64_t got;

	ew_init(&w, ET_DYN);
	got = ew_u64(&w, 0);
	ew_rela(&w, got, R_X86_64_TPOFF64, 0, 0);
	patch(code, 3, 7, got);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_TLS_DESC);
	assert_int_equal(a.addr, got);
}

/*
 * The path without a jump returns NULL. The jne leads to the path on which krait finds the
 * variable.
 */
static void test_branch(void **state)
{
	uint8_t code[] = {0x83, 0x3d, 0, 0, 0, 0, 0,	0x75, 0x03, 0x31, 0xc0, 0xc3,
			  0x8b, 0x3d, 0, 0, 0, 0, 0xe9, 0,    0,    0,	  0};
	struct elf_writer w;
	struct accessor a;

	ew_init(&w, ET_DYN);
	patch(code, 14, 18, 0x2f00);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_KEY);
	assert_int_equal(a.addr, 0x2f00);
}

/*
 * code by gcc -O0: cmpq; jne 1f; mov $0,%eax; jmp 2f; 1: mov key,%eax; mov %eax,%edi; call; 2: pop;
 * ret
 */
static void test_unoptimized(void **state)
{
	uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0x3d, 0,	  0,	0,    0,    0,
			  0x75, 0x07, 0xb8, 0,	  0,	0,    0,    0xeb, 0x0d, 0x8b, 0x05, 0,
			  0,	0,    0,    0x89, 0xc7, 0xe8, 0,    0,	  0,	0,    0x5d, 0xc3};
	struct elf_writer w;
	struct accessor a;

	ew_init(&w, ET_DYN);
	patch(code, 23, 27, 0x2f00);
	a = decode(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_KEY);
	assert_int_equal(a.addr, 0x2f00);
}

static struct accessor decode_arm64(struct elf_writer *w, const uint32_t *code, size_t n)
{
	w->machine = EM_AARCH64;
	return decode(w, (const uint8_t *)code, n);
}

/*
 * code of 3.13, executable: bti c; adrp; add; ldr w1; cbz; ldr w0,[x0,#2164]; b pthread_getspecific
 */
static void test_arm64_key(void **state)
{
	static const uint32_t code[] = {0xd503245f, 0xd0000000, 0x9122a000, 0xb9487001, 0x34000061,
					0xb9487400, 0x17fe2d9e, 0xd2800000, 0xd65f03c0};
	struct elf_writer w;
	struct accessor a;

	ew_init(&w, ET_EXEC);
	a = decode_arm64(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_KEY);
	assert_int_equal(a.addr, 0x3000 + 0x8a8 + 2164);
}

/* code of 3.11, shared: adrp; ldr GOT; ldr x1; cbz; add x0,x0,#0x260; b PyThread_tss_get */
static void test_arm64_argument(void **state)
{
	static const uint32_t code[] = {0xb0000000, 0xf9400000, 0xf9412c01, 0xb4000061,
					0x91098000, 0x17fe6ad7, 0xd2800000, 0xd65f03c0};
	struct elf_writer w;
	struct accessor a;

	ew_init(&w, ET_DYN);
	ew_rela(&w, ew_u64(&w, 0), R_AARCH64_GLOB_DAT,
		ew_symbol(&w, "_PyRuntime", 0x4000, 8, SHN_ABS), 0);
	a = decode_arm64(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_ARGUMENT);
	assert_int_equal(a.addr, 0x4260);
}

/*
 * Code of a 3.15 executable by gcc, and code by clang as lld relaxes it (from another packager's
 * 3.14).
 */
static void test_arm64_static(void **state)
{
	static const uint32_t gcc[] = {0xd503245f, 0xd53bd040, 0xd503233f, 0xa9bf7bfd,
				       0xd503201f, 0x91008000, 0x910003fd, 0xa8c17bfd,
				       0xd50323bf, 0xf9400000, 0xd65f03c0};
	static const uint32_t lld[] = {0xd2a00000, 0xf2800500, 0xd503201f, 0xd503201f,
				       0xd53bd048, 0xf8606900, 0xd65f03c0};
	struct elf_writer w;
	struct accessor a;

	ew_init(&w, ET_EXEC);
	a = decode_arm64(&w, gcc, sizeof(gcc));
	assert_int_equal(a.kind, ACCESS_TLS);
	assert_int_equal(a.offset, 0x20);
	ew_init(&w, ET_DYN);
	a = decode_arm64(&w, lld, sizeof(lld));
	assert_int_equal(a.kind, ACCESS_TLS);
	assert_int_equal(a.offset, 0x28);
}

/* code of 3.15, shared: mrs x1; adrp; ldr x2; add x0; blr x2; ldr x0,[x1,x0] */
static void test_arm64_descriptor(void **state)
{
	static const uint32_t code[] = {0xd503233f, 0xd53bd041, 0xa9bf7bfd, 0x910003fd,
					0xb0000000, 0xf9400402, 0x91002000, 0xd63f0040,
					0xf8606820, 0xa8c17bfd, 0xd50323bf, 0xd65f03c0};
	struct elf_writer w;
	struct accessor a;

	ew_init(&w, ET_DYN);
	ew_u64(&w, 0);
	ew_rela(&w, ew_u64(&w, 0), R_AARCH64_TLSDESC, 0, 0);
	ew_u64(&w, 0);
	a = decode_arm64(&w, code, sizeof(code));
	assert_int_equal(a.kind, ACCESS_TLS_DESC);
	assert_int_equal(a.addr, EW_DATA + 16);
}

/*
 * krait doesn't understand code of any other form. It neither loops nor reads outside of the
 * function.
 */
static void test_nonsense(void **state)
{
	uint32_t seed = 1;

	for (int i = 0; i < 3000; i++) {
		struct elf_writer w;
		uint8_t code[64];

		for (size_t k = 0; k < sizeof(code); k++) {
			seed = seed * 1664525 + 1013904223;
			code[k] = (uint8_t)(seed >> 24);
		}
		ew_init(&w, ET_DYN);
		w.machine = i & 1 ? EM_AARCH64 : EM_X86_64;
		decode(&w, code, 1 + (seed >> 8) % sizeof(code));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_global),
		cmocka_unit_test(test_key_variable),
		cmocka_unit_test(test_key_in_runtime),
		cmocka_unit_test(test_argument),
		cmocka_unit_test(test_argument_fixed),
		cmocka_unit_test(test_tls_static),
		cmocka_unit_test(test_tls_relaxed),
		cmocka_unit_test(test_tls_local_dynamic),
		cmocka_unit_test(test_tls_general_dynamic),
		cmocka_unit_test(test_tls_descriptor),
		cmocka_unit_test(test_tls_initial_exec),
		cmocka_unit_test(test_branch),
		cmocka_unit_test(test_unoptimized),
		cmocka_unit_test(test_arm64_key),
		cmocka_unit_test(test_arm64_argument),
		cmocka_unit_test(test_arm64_static),
		cmocka_unit_test(test_arm64_descriptor),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
