/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library for LD_PRELOAD that makes krait give its kernel programs a wrong table of offsets, as a
 * mistake in krait's source would. So the oracle can be tested (krait_faults.py). KRAIT_FAULT names
 * the fault: FIELD+N or FIELD-N changes a field of struct py_layout; FIELD=OTHER gives the field
 * the value of another field of that struct; the text COUNTER (see below) spoils the count of code
 * objects.
 *
 * libbpf makes system calls through libc's syscall(), which this file replaces.
 */
#include <dlfcn.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "records.h"

static const struct field {
	const char *name;
	size_t offset, size;
} fields[] = {
#define X(name) {#name, offsetof(struct py_layout, name), sizeof(__u16)},
	PY_OFFSETS(X)
#undef X
		{"version", offsetof(struct py_layout, version), sizeof(__u16)},
	{"walk", offsetof(struct py_layout, walk), sizeof(__u8)},
	{"str_kind_shift", offsetof(struct py_layout, str_kind_shift), sizeof(__u8)},
};

static const struct field *find(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (strlen(fields[i].name) == n && !memcmp(fields[i].name, name, n))
			return &fields[i];
	fprintf(stderr, "fault_preload: no field '%.*s'\n", (int)n, name);
	exit(99);
}

static long get(const struct py_layout *l, const struct field *f)
{
	const unsigned char *at = (const unsigned char *)l + f->offset;

	return f->size == 1 ? at[0] : at[0] | at[1] << 8;
}

/*
 * The fault that makes the count of code objects wrong: a field of struct py_where gets the value
 * of another field, a large number that never changes.
 */
#define COUNTER "codes_made=interp_head"

static bool is_counter(const char *fault)
{
	return fault && !strcmp(fault, COUNTER);
}

static void spoil_process(struct proc_entry *p)
{
	if (!is_counter(getenv("KRAIT_FAULT")) || !p->where.codes_made)
		return;
	p->where.codes_made = p->where.interp_head;
	fprintf(stderr, "fault_preload: %s\n", COUNTER);
}

static void spoil(struct py_layout *l)
{
	const char *fault = getenv("KRAIT_FAULT");
	size_t n = fault ? strcspn(fault, "+-=") : 0;
	unsigned char *at;
	const struct field *f;
	long value;

	if (!fault || is_counter(fault))
		return;
	f = find(fault, n);
	value = get(l, f);
	if (fault[n] == '=')
		value = get(l, find(fault + n + 1, strlen(fault + n + 1)));
	else
		value += strtol(fault + n, NULL, 10);
	at = (unsigned char *)l + f->offset;
	at[0] = value & 255;
	if (f->size == 2)
		at[1] = value >> 8 & 255;
	fprintf(stderr, "fault_preload: %s\n", fault);
}

static long (*real)(long number, ...);

static int is_map(int fd, const char *name)
{
	struct bpf_map_info info = {};
	union bpf_attr attr = {};

	attr.info.bpf_fd = (unsigned)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (unsigned long)&info;
	return !real(SYS_bpf, (long)BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr), 0L, 0L, 0L) &&
	       !strcmp(info.name, name);
}

/* Makes the system call with which krait updates a map, but with another value. */
static long update(const union bpf_attr *given, const void *value)
{
	union bpf_attr attr = {};

	memcpy(&attr, given, offsetof(union bpf_attr, flags) + sizeof(attr.flags));
	attr.value = (unsigned long)value;
	return real(SYS_bpf, (long)BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr), 0L, 0L, 0L);
}

long syscall(long number, ...)
{
	const union bpf_attr *given;
	struct proc_entry process;
	struct py_layout layout;
	long a[6];
	va_list ap;

	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	given = (const union bpf_attr *)a[1];
	if (number != SYS_bpf || a[0] != BPF_MAP_UPDATE_ELEM)
		return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (is_map((int)given->map_fd, "layouts")) {
		memcpy(&layout, (const void *)(unsigned long)given->value, sizeof(layout));
		spoil(&layout);
		return update(given, &layout);
	}
	if (is_map((int)given->map_fd, "procs")) {
		memcpy(&process, (const void *)(unsigned long)given->value, sizeof(process));
		spoil_process(&process);
		return update(given, &process);
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
