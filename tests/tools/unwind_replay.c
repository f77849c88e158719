/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the kernel program's unwinder, compiled for the host, on stacks that gdb has written
 * (tests/unwind/gdb_stops.py). Usage: unwind_replay DIRECTORY [N]. Prints for each thread in
 * DIRECTORY a line "TID ADDRESS ... OUTCOME". The innermost address is the program counter; the
 * others are one byte before return addresses, except outside of a signal's frame. Every Nth rule
 * is made wrong, so that a test can prove that it notices a wrong rule.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../host/walk/walk_native.h"

#include "base/cleanup.h"
#include "base/text/str.h"
#include "proc/read/maps.h"
#include "unwind/compile.h"

struct file {
	char *path;
	uint32_t table; /* number of the file's table; 0: the file has no unwind rows */
	uint64_t base;	/* address from which the unwind rows' offsets count */
	struct elf_load loads[16];
	size_t n_loads;
};

static struct replay {
	VEC(struct file) files;
	const char *directory;
	unsigned long spoilt; /* every Nth rule is made wrong; 0: none */
} replay;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "unwind_replay: %s\n", what);
	exit(1);
}

static void spoil(struct unwind_rows *rows)
{
	for (size_t i = 0; replay.spoilt && i < rows->rules.n; i++)
		if ((host.rules.n + i) % replay.spoilt == 0)
			rows->rules.v[i].off += 8;
}

static void read_file(struct file *f)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {.base = 0};
	_cleanup_elf_ struct elf_file *elf = NULL;
	_cleanup_close_ int fd = -1;
	const struct elf_load *loads;
	char vdso[4096];

	snprintf(vdso, sizeof(vdso), "%s/vdso", replay.directory);
	fd = open(streq(f->path, "[vdso]") ? vdso : f->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_file_open(fd, f->path, &elf))
		return;
	f->n_loads = MIN(elf_file_loads(elf, &loads), sizeof(f->loads) / sizeof(f->loads[0]));
	memcpy(f->loads, loads, f->n_loads * sizeof(*loads));
	if (unwind_rows_read(elf, &rows))
		return;
	f->base = rows.base;
	spoil(&rows);
	f->table = native_add_table(&rows);
}

static const struct file *file_of(const char *path)
{
	struct file f = {.path = strdup(path)};

	vec_foreach(known, &replay.files)
		if (streq(known->path, path)) {
			free(f.path);
			return known;
		}
	must(f.path, "out of memory");
	read_file(&f);
	must(!vec_push(&replay.files, f), "out of memory");
	return &replay.files.v[replay.files.n - 1];
}

/*
 * Finds the virtual address at which @offset of the file is loaded. Returns false if it isn't
 * loaded.
 */
static bool vaddr_of(const struct file *f, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < f->n_loads; i++) {
		const struct elf_load *l = &f->loads[i];

		if (l->exec && offset + 4096 > l->offset && offset < l->offset + l->filesz) {
			*ret = l->vaddr + (offset - l->offset);
			return true;
		}
	}
	return false;
}

static void add_mapping(size_t i, const struct maps *m, const struct mapping *e)
{
	const struct file *f = file_of(maps_path(m, e));
	uint64_t vaddr = 0;
	bool loaded = vaddr_of(f, e->offset, &vaddr);

	native_add_mapping(i, (struct unwind_mapping){.start = e->start,
						      .end = e->end,
						      .table = loaded ? f->table : 0,
						      .key = (uint32_t)(vaddr - f->base)});
}

/* Reads the next @lines mappings. The unwind rows of files read before stay. */
static void read_maps(FILE *in, uint64_t lines)
{
	_cleanup_maps_ struct maps m = {.truncated = false};
	_cleanup_free_ char *text = NULL, *line = NULL;
	size_t room = 0, n = 0, size = 0;
	ssize_t got;

	for (uint64_t i = 0; i < lines && (got = getline(&line, &room, in)) > 0; i++) {
		text = realloc(text, size + (size_t)got);
		must(text, "out of memory");
		memcpy(text + size, line, (size_t)got);
		size += (size_t)got;
	}
	must(!maps_parse(text, size, MAPS_EXEC, &m), "out of memory");
	native_no_mappings();
	vec_foreach(e, &m.list)
		/* leaves out [vsyscall], which is in the upper half of the address space */
		if (e->start < SPACE_UNUSED)
			add_mapping(n++, &m, e);
}

static void set_registers(char *words)
{
	struct native *n = host.native;
	uint64_t r[17];

	for (int i = 0; i < 17; i++)
		r[i] = strtoull(words, &words, 16);
	for (int i = 0; i < UNWIND_REGS; i++)
		n->leaf[i] = r[i];
	n->regs = (struct unwind_regs){.pc = r[16], .sp = r[7], .fp = r[6], .bx = r[3]};
	n->instructions = 1;
}

static void read_stack(FILE *memory, const char *words)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint64_t start, len, offset;

	must(sscanf(words, "%" SCNx64 " %" SCNx64 " %" SCNx64, &start, &len, &offset) == 3,
	     "no stack");
	bytes = malloc(len + 1);
	must(bytes && !fseek(memory, (long)offset, SEEK_SET) && fread(bytes, 1, len, memory) == len,
	     "the stack's bytes aren't there");
	host_unmap_all();
	put(start, bytes, len);
}

static const char *outcome_words(unsigned outcome)
{
	static const char *const words[] = {
#define X(name, text, sentence) [NATIVE_##name] = text,
		NATIVE_OUTCOMES(X)
#undef X
	};

	return outcome < NATIVE_OUTCOME_MAX ? words[outcome] : "?";
}

static void unwind(uint64_t tid)
{
	struct native *n = host.native;

	walk_native(n, host.w);
	printf("%" PRIx64, tid);
	for (uint32_t i = 0; i < n->n; i++)
		printf(" %llx", host.native_out->pc[i]);
	printf(" %s\n", outcome_words(n->outcome));
}

static FILE *open_part(const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", replay.directory, name);
	f = fopen(path, "re");
	must(f, path);
	return f;
}

/* Returns the rest of @line after its first word @name, or NULL if it begins with another word. */
static char *after(char *line, const char *name)
{
	size_t n = strlen(name);

	return strncmp(line, name, n) || line[n] != ' ' ? NULL : line + n + 1;
}

int main(int argc, char **argv)
{
	_cleanup_free_ char *line = NULL;
	FILE *in, *memory;
	uint64_t tid = 0;
	size_t room = 0;
	char *words;

	must(argc == 2 || argc == 3, "usage: unwind_replay DIRECTORY [N]");
	replay.directory = argv[1];
	replay.spoilt = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	host_init();
	native_init();
	in = open_part("stops");
	memory = open_part("memory");
	while (getline(&line, &room, in) > 0) {
		if ((words = after(line, "maps")))
			read_maps(in, strtoull(words, NULL, 16));
		else if ((words = after(line, "thread")))
			tid = strtoull(words, NULL, 16);
		else if ((words = after(line, "regs")))
			set_registers(words);
		else if ((words = after(line, "stack"))) {
			read_stack(memory, words);
			unwind(tid);
		}
	}
	fclose(in);
	fclose(memory);
	return 0;
}
