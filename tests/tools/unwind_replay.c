/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel program's unwinder, compiled for the host, on stacks that gdb has written down
 * (tests/oracle/gdb_stops.py). Usage: unwind_replay DIRECTORY [N]. Prints for each thread in it a line:
 * "TID ADDRESS ... OUTCOME"; the innermost address is the program counter, the others lie one byte
 * before return addresses, except behind a signal's frame. Every Nth rule is spoilt, so that a test can
 * see that a wrong one is noticed.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The BPF side has global functions without prototypes. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunknown-pragmas" /* unroll */
#include "native.bpf.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "base/vec.h"
#include "elf/unwind_rows.h"
#include "proc/maps.h"

struct file {
	char *path;
	uint32_t table; /* 0: no rows */
	uint64_t base;	/* of the rows */
	struct elf_load loads[16];
	size_t n_loads;
};

static struct replay {
	VEC(struct file) files;
	VEC(struct unwind_chunk *) chunks;
	VEC(struct unwind_table) tables;
	VEC(struct unwind_rule) rules;
	const char *directory;
	unsigned long spoilt; /* every Nth rule; 0 = none */
	struct native n;
	struct native_out no;
	struct walk w;
	struct walk_out out;
	struct walk_addrs addrs;
	uint8_t *stack; /* what was copied of it */
	uint64_t stack_start, stack_len;
} replay;

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "unwind_replay: %s\n", what);
	exit(1);
}

/* The seam of bpf/native.bpf.h. */
walk_inline long read_user(void *dst, __u32 n, __u64 addr)
{
	uint64_t at = addr - replay.stack_start;

	if (at > replay.stack_len || n > replay.stack_len - at) {
		memset(dst, 0, n);
		return -EFAULT;
	}
	memcpy(dst, replay.stack + at, n);
	return 0;
}

walk_inline struct native *native_state(void)
{
	return &replay.n;
}

walk_inline struct native_out *native_out(void)
{
	return &replay.no;
}

walk_inline struct walk *walk_state(void)
{
	return &replay.w;
}

walk_inline struct walk_out *walk_out(void)
{
	return &replay.out;
}

walk_inline struct walk_addrs *walk_addrs(void)
{
	return &replay.addrs;
}

walk_inline const struct py_layout *walk_layout(__u32 index)
{
	(void)index;
	return NULL; /* no Python frames here */
}

walk_inline const struct unwind_chunk *unwind_chunk_at(__u32 number)
{
	return number < replay.chunks.n ? replay.chunks.v[number] : NULL;
}

walk_inline struct unwind_table *unwind_table_at(__u32 number)
{
	return number < replay.tables.n ? &replay.tables.v[number] : NULL;
}

walk_inline const struct unwind_rule *unwind_rule_at(__u32 number)
{
	return number < replay.rules.n ? &replay.rules.v[number] : NULL;
}

static uint32_t new_chunk(void)
{
	struct unwind_chunk *c = malloc(sizeof(*c));

	must(c && !vec_push(&replay.chunks, c), "out of memory");
	memset(c, 0xff, sizeof(*c));
	return (uint32_t)replay.chunks.n - 1;
}

/* One level of the tree over @n entries; they are replaced by those of the chunks. */
static size_t add_level(struct unwind_row *entry, size_t n)
{
	size_t up = 0;

	for (size_t i = 0; i < n; i += UNWIND_FANOUT, up++) {
		uint32_t number = new_chunk(), first = entry[i].key;
		struct unwind_chunk *c = replay.chunks.v[number];

		for (size_t k = 0; k < MIN(n - i, (size_t)UNWIND_FANOUT); k++) {
			c->key[k] = entry[i + k].key;
			c->value[k] = entry[i + k].rule;
		}
		entry[up] = (struct unwind_row){first, number};
	}
	return up;
}

static uint32_t add_table(struct unwind_rows *rows)
{
	uint32_t first_rule = (uint32_t)replay.rules.n;
	struct unwind_table t = {.depth = 0};
	size_t n = rows->rows.n;

	if (!n)
		return 0;
	vec_foreach(rule, &rows->rules) {
		if (replay.spoilt && replay.rules.n % replay.spoilt == 0)
			rule->off += 8;
		must(!vec_push(&replay.rules, *rule), "out of memory");
	}
	vec_foreach(row, &rows->rows)
		row->rule += first_rule;
	do {
		n = add_level(rows->rows.v, n);
		t.depth++;
	} while (n > 1);
	must(t.depth <= UNWIND_LEVELS, "more rows than three levels hold");
	t.root = rows->rows.v[0].rule;
	must(!vec_push(&replay.tables, t), "out of memory");
	return (uint32_t)replay.tables.n - 1;
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
	f->table = add_table(&rows);
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

/* vaddr of @offset in the file; false if it isn't loaded. */
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

/* Chunks of mappings are as large as those of rows. */
static void add_mapping(struct unwind_space *space, size_t i, const struct maps *m,
			const struct mapping *e)
{
	const struct file *f = file_of(maps_path(m, e));
	struct space_chunk *c;
	uint64_t vaddr = 0;

	if (i % SPACE_MAPPINGS == 0) {
		must(space->chunks < SPACE_CHUNKS, "too many mappings");
		space->chunk[space->chunks++] = new_chunk();
		c = (void *)replay.chunks.v[space->chunk[space->chunks - 1]];
		for (size_t k = 0; k < SPACE_MAPPINGS; k++)
			c->start[k] = SPACE_UNUSED;
	}
	c = (void *)replay.chunks.v[space->chunk[space->chunks - 1]];
	c->start[i % SPACE_MAPPINGS] = e->start;
	c->map[i % SPACE_MAPPINGS] = (struct space_mapping){
		.pages = (uint32_t)((e->end - e->start) >> 12),
		.table = vaddr_of(f, e->offset, &vaddr) ? f->table : 0,
		.key = (uint32_t)(vaddr - f->base),
	};
}

/* Takes the next @lines of mappings; the files' rows stay. */
static void read_maps(FILE *in, uint64_t lines)
{
	_cleanup_maps_ struct maps m = {.truncated = false};
	_cleanup_free_ char *text = NULL, *line = NULL;
	struct unwind_space *space = &replay.n.space;
	uint32_t version = space->version + 1;
	size_t room = 0, n = 0, size = 0;
	ssize_t got;

	for (uint64_t i = 0; i < lines && (got = getline(&line, &room, in)) > 0; i++) {
		text = realloc(text, size + (size_t)got);
		must(text, "out of memory");
		memcpy(text + size, line, (size_t)got);
		size += (size_t)got;
	}
	must(!maps_parse(text, size, MAPS_EXEC, &m), "out of memory");
	*space = (struct unwind_space){.version = version};
	vec_foreach(e, &m.list)
		if (e->start < SPACE_UNUSED) /* not [vsyscall] */
			add_mapping(space, n++, &m, e);
}

static void set_registers(char *words)
{
	struct native *n = &replay.n;
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
	uint64_t start, len, offset;

	must(sscanf(words, "%" SCNx64 " %" SCNx64 " %" SCNx64, &start, &len, &offset) == 3,
	     "no stack");
	free(replay.stack);
	replay.stack = malloc(len + 1);
	must(replay.stack && !fseek(memory, (long)offset, SEEK_SET) &&
		     fread(replay.stack, 1, len, memory) == len,
	     "the stack's bytes aren't there");
	replay.stack_start = start;
	replay.stack_len = len;
}

static const char *outcome_words(unsigned outcome)
{
	static const char *const words[] = {
#define X(name, text) [NATIVE_##name] = text,
		NATIVE_OUTCOMES(X)
#undef X
	};

	return outcome < NATIVE_OUTCOME_MAX ? words[outcome] : "?";
}

static void unwind(uint64_t tid)
{
	struct native *n = &replay.n;

	walk_native(n, &replay.w);
	printf("%" PRIx64, tid);
	for (uint32_t i = 0; i < n->n; i++)
		printf(" %llx", replay.no.pc[i]);
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

/* The line behind word @name, or NULL. */
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
	/* Numbers from 1: table 0 is none, rule 0 says nothing. */
	must(!vec_push(&replay.tables, (struct unwind_table){.depth = 0}) &&
		     !vec_push(&replay.rules, (struct unwind_rule){.cfa = UNWIND_UNKNOWN}),
	     "out of memory");
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
