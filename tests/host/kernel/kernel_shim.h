/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in for the kernel, so that the programs in bpf/ can be compiled and run on the host. Tasks
 * are structs that a test fills in, maps are hash tables, and records sent to a ring are kept.
 * Reading through a NULL pointer gives 0, as with the kernel's helpers. Include this header before
 * any file of bpf/.
 */
#ifndef TESTS_HOST_KERNEL_KERNEL_SHIM_H
#define TESTS_HOST_KERNEL_KERNEL_SHIM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#undef fail /* bpf/ has a function called fail, but cmocka defines fail as a macro */

/*
 * the BPF headers have global functions without prototypes, and attributes that only the BPF target
 * knows
 */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wunused-function"
/* nested macros that read memory declare variables with the same names */
#pragma GCC diagnostic ignored "-Wshadow"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wunknown-attributes"
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif

#ifdef __aarch64__
#define __TARGET_ARCH_arm64
#endif
#include "kernel.h"

#define SEC(name)
#define __uint(name, n)				int(*name)[n]
#define __type(name, t)				t *name
#define __array(name, t)			t *name[1]
#define barrier()				shim_barrier()

#define bpf_core_field_exists(field)		(0 ? (void)(field) : (void)0, shim.newest)
#define bpf_core_enum_value_exists(type, value) shim.newest
#define bpf_core_field_offset(type, member)	offsetof(type, member)
#define bpf_core_type_size(type)		SHIM_REGS_BYTES /* size of struct pt_regs */

#define SHIM_READ(p, field)                                                                        \
	({                                                                                         \
		__typeof__((p)->field) read_;                                                      \
		__builtin_memset(&read_, 0, sizeof(read_));                                        \
		if (p)                                                                             \
			read_ = (p)->field;                                                        \
		read_;                                                                             \
	})
#define SHIM_READ_1(p, a)	      SHIM_READ(p, a)
#define SHIM_READ_2(p, a, b)	      SHIM_READ(SHIM_READ(p, a), b)
#define SHIM_READ_3(p, a, b, c)	      SHIM_READ(SHIM_READ_2(p, a, b), c)
#define SHIM_PICK(a, b, c, name, ...) name
#define BPF_CORE_READ(p, ...)                                                                      \
	SHIM_PICK(__VA_ARGS__, SHIM_READ_3, SHIM_READ_2, SHIM_READ_1)(p, __VA_ARGS__)
#define BPF_CORE_READ_BITFIELD_PROBED(p, field) ((p)->field)
#define BPF_CORE_READ_STR_INTO(dst, p, a, b)                                                       \
	__builtin_memcpy(dst, SHIM_READ(p, a)->b, sizeof(*(dst)))

#define SHIM_MAPS	32
#define SHIM_ENTRIES	64
#define SHIM_MEMORY	128
#define SHIM_SENT_BYTES 2048
/* x86-64: bytes of the registers that the kernel saves on entry */
#define SHIM_REGS_BYTES (21 * sizeof(uint64_t))

struct shim_map {
	const void *map;
	size_t key_bytes, value_bytes;
	/* the map is an array, in which all keys below .n exist */
	bool array;
	size_t n;
	struct {
		uint8_t key[64];
		void *value;
	} entry[SHIM_ENTRIES];
};

static struct shim {
	struct task_struct *task; /* the task on the simulated CPU */
	uint64_t now_ns;
	/* whether the simulated kernel has the fields and helpers of the newest Linux */
	bool newest;
	bool full;	  /* the ring is full and refuses every record */
	uint64_t tick_ns; /* each reading of the clock advances .now_ns by .tick_ns */
	uint32_t cpu;
	uint64_t ring_used;	/* how many of the ring's SHIM_RING_BYTES are in use */
	const void *regs;	/* the user registers of .task, as the kernel saved them on entry */
	const uint64_t *kernel; /* the kernel's frames */
	long n_kernel;		/* number of the kernel's frames, or a negative error */
	unsigned kernel_asked;	/* how often the kernel program asked for the kernel's frames */
	/*
	 * Called between two reads of a map's value. Like user space or another CPU, the function
	 * may change the value. May be NULL.
	 */
	void (*at_barrier)(void);
	struct {
		uint64_t addr;
		const void *bytes;
		size_t n;
		/* the target's memory: only these ranges can be read */
	} memory[SHIM_MEMORY];
	size_t n_memory;
	struct shim_map map[SHIM_MAPS];
	size_t n_maps;
	struct {
		const void *ring;
		size_t n;
		uint64_t flags;
		uint8_t bytes[SHIM_SENT_BYTES];
	} sent[SHIM_ENTRIES];
	size_t n_sent;
} shim;

#define SHIM_RING_BYTES 4096

static inline void shim_barrier(void)
{
	__asm__ volatile("" ::: "memory");
	if (shim.at_barrier)
		shim.at_barrier();
	__asm__ volatile("" ::: "memory");
}

static inline void shim_add(const void *map, size_t key_bytes, size_t value_bytes, bool array)
{
	assert_true(shim.n_maps < SHIM_MAPS && key_bytes <= sizeof(shim.map[0].entry[0].key));
	shim.map[shim.n_maps++] = (struct shim_map){
		.map = map, .key_bytes = key_bytes, .value_bytes = value_bytes, .array = array};
}

/*
 * Adds map @m of bpf/. The type of @m gives the size of keys and values, and says whether it is an
 * array.
 */
#define shim_map(m)                                                                                \
	shim_add(&(m), sizeof(*(m).key), sizeof(*(m).value),                                       \
		 sizeof(*(m).type) / sizeof(int) == BPF_MAP_TYPE_ARRAY ||                          \
			 sizeof(*(m).type) / sizeof(int) == BPF_MAP_TYPE_PERCPU_ARRAY)

static inline void shim_clear(void)
{
	for (size_t i = 0; i < shim.n_maps; i++)
		for (size_t k = 0; k < shim.map[i].n; k++)
			free(shim.map[i].entry[k].value);
	shim = (struct shim){.newest = true};
}

static inline struct shim_map *shim_find(const void *map)
{
	for (size_t i = 0; i < shim.n_maps; i++)
		if (shim.map[i].map == map)
			return &shim.map[i];
	print_error("a map that the test doesn't know\n");
	_fail(__FILE__, __LINE__);
	return NULL;
}

static inline void *shim_entry(struct shim_map *m, const void *key, bool make)
{
	for (size_t i = 0; i < m->n; i++)
		if (!memcmp(m->entry[i].key, key, m->key_bytes))
			return m->entry[i].value;
	if (!make)
		return NULL;
	assert_true(m->n < SHIM_ENTRIES);
	memcpy(m->entry[m->n].key, key, m->key_bytes);
	m->entry[m->n].value = calloc(1, m->value_bytes);
	assert_non_null(m->entry[m->n].value);
	return m->entry[m->n++].value;
}

static inline void *bpf_map_lookup_elem(const void *map, const void *key)
{
	struct shim_map *m = shim_find(map);

	return shim_entry(m, key, m->array);
}

static inline long bpf_map_update_elem(const void *map, const void *key, const void *value,
				       uint64_t flags)
{
	struct shim_map *m = shim_find(map);
	void *at = shim_entry(m, key, flags != BPF_EXIST);

	if (!at)
		return -2; /* ENOENT */
	memcpy(at, value, m->value_bytes);
	return 0;
}

static inline long bpf_map_delete_elem(const void *map, const void *key)
{
	struct shim_map *m = shim_find(map);

	for (size_t i = 0; i < m->n; i++) {
		if (memcmp(m->entry[i].key, key, m->key_bytes))
			continue;
		free(m->entry[i].value);
		m->entry[i] = m->entry[--m->n];
		return 0;
	}
	return -2;
}

/*
 * Sets a read-only variable that user space sets before it loads the programs. The compiler puts
 * such variables into memory that isn't writable.
 */
static inline void shim_set(const volatile void *at, const void *value, size_t n)
{
	uintptr_t page = (uintptr_t)at & ~((uintptr_t)getpagesize() - 1);
	void *dst = (void *)(uintptr_t)at;

	assert_int_equal(mprotect((void *)page, (uintptr_t)at + n - page, PROT_READ | PROT_WRITE),
			 0);
	__asm__("" : "+r"(dst)); /* keeps the compiler from dropping a store to a constant */
	memcpy(dst, value, n);
}
#define SHIM_SET(variable, ...) shim_set(&(variable), &(__VA_ARGS__), sizeof(variable))

static inline long bpf_core_read(void *dst, uint32_t n, const void *src)
{
	memcpy(dst, src, n);
	return 0;
}

/*
 * Makes the @n bytes at @bytes readable at address @addr of the target. Each read copies their
 * current values.
 */
static inline void shim_give(uint64_t addr, const void *bytes, size_t n)
{
	assert_true(shim.n_memory < SHIM_MEMORY);
	shim.memory[shim.n_memory].addr = addr;
	shim.memory[shim.n_memory].bytes = bytes;
	shim.memory[shim.n_memory++].n = n;
}

static inline long bpf_probe_read_user(void *dst, uint32_t n, const void *src)
{
	uint64_t addr = (uintptr_t)src;

	for (size_t i = 0; i < shim.n_memory; i++) {
		uint64_t at = addr - shim.memory[i].addr;

		if (at > shim.memory[i].n || n > shim.memory[i].n - at)
			continue;
		memcpy(dst, (const uint8_t *)shim.memory[i].bytes + at, n);
		return 0;
	}
	memset(dst, 0, n);
	return -14; /* EFAULT */
}

static inline long bpf_probe_read_kernel(void *dst, uint32_t n, const void *src)
{
	memcpy(dst, src, n);
	return 0;
}

static inline long bpf_probe_read_kernel_str(void *dst, uint32_t n, const void *src)
{
	if (!src)
		return -14; /* EFAULT */
	return snprintf(dst, n, "%s", (const char *)src) + 1;
}

static inline const void *bpf_task_pt_regs(struct task_struct *task)
{
	assert_ptr_equal(task, shim.task);
	return shim.regs;
}

static inline long bpf_get_stack(const void *ctx, void *dst, uint32_t n, uint64_t flags)
{
	(void)ctx;
	assert_int_equal(flags, 0); /* asks for the kernel's frames, and skips none */
	shim.kernel_asked++;
	if (shim.n_kernel <= 0)
		return shim.n_kernel;
	assert_true((size_t)shim.n_kernel * sizeof(uint64_t) <= n);
	memcpy(dst, shim.kernel, (size_t)shim.n_kernel * sizeof(uint64_t));
	return shim.n_kernel * (long)sizeof(uint64_t);
}

static inline uint64_t bpf_ktime_get_ns(void)
{
	return shim.now_ns += shim.tick_ns;
}

static inline uint32_t bpf_get_prandom_u32(void)
{
	return 1u << 31;
}

static inline uint32_t bpf_get_smp_processor_id(void)
{
	return shim.cpu;
}

static inline uint64_t bpf_get_current_task(void)
{
	return (uintptr_t)shim.task;
}

static inline struct task_struct *bpf_get_current_task_btf(void)
{
	return shim.task;
}

static inline uint64_t bpf_ringbuf_query(const void *ring, uint64_t flags)
{
	(void)ring;
	return flags == BPF_RB_RING_SIZE ? SHIM_RING_BYTES : shim.ring_used;
}

static inline long bpf_ringbuf_output(const void *ring, const void *data, uint64_t n,
				      uint64_t flags)
{
	if (shim.full)
		return -11; /* EAGAIN */
	assert_true(shim.n_sent < SHIM_ENTRIES && n <= sizeof(shim.sent[0].bytes));
	memcpy(shim.sent[shim.n_sent].bytes, data, n);
	shim.sent[shim.n_sent].ring = ring;
	shim.sent[shim.n_sent].n = n;
	shim.sent[shim.n_sent++].flags = flags;
	return 0;
}

#endif
