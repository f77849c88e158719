/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes names and unwind rows (how to find the caller) of the ELF files that a process registered;
 * see gdb_jit.h. A reading of the list is done by four source files: gdb_jit_list.c follows gdb's
 * list, gdb_jit_file.c reads an ELF file of the list, gdb_jit_check.c finds out which files have
 * changed since, and gdb_jit.c makes the table of the files that are left.
 */
#include "symbol/madecode/gdb_jit.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "symbol/madecode/gdb_jit_reading.h"

void gdb_jit_free(struct gdb_jit *j)
{
	if (!j)
		return;
	symbol_table_fini(&j->table);
	vec_foreach(f, &j->files)
		jit_file_put(*f);
	vec_fini(&j->files);
	vec_fini(&j->rows);
	vec_fini(&j->descriptors);
	free(j);
}

static void reader_fini(struct reader *rd)
{
	jit_file_put(rd->file);
	free(rd->whole);
	map_fini(&rd->known);
	map_fini(&rd->seen);
	vec_fini(&rd->spans);
	gdb_jit_free(rd->jit);
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int collect_spans(struct reader *rd)
{
	int r = 0;

	vec_foreach(f, &rd->jit->files)
		vec_foreach(s, &(*f)->spans)
			r = r ? r : vec_push(&rd->spans, *s);
	return r;
}

/*
 * Finds addresses that two sections claim. One of the two sections no longer exists, and nobody can
 * tell which.
 */
static void find_shared(struct reader *rd)
{
	/* of the sections that the loop has passed, the one that ends last */
	struct span *reaching = NULL;

	if (rd->spans.n)
		qsort(rd->spans.v, rd->spans.n, sizeof(*rd->spans.v), compare_spans);
	vec_foreach(s, &rd->spans) {
		if (reaching && s->start < reaching->end)
			s->shared = reaching->shared = true;
		if (!reaching || s->end > reaching->end)
			reaching = s;
	}
	vec_foreach(s, &rd->spans)
		rd->jit->stats.doubtful += s->shared;
}

static void count_files(struct gdb_jit *j)
{
	vec_foreach(f, &j->files) {
		j->stats.files += (*f)->is_named;
		j->stats.malformed += (*f)->is_malformed;
	}
}

static bool is_shared(const struct reader *rd, uint64_t addr)
{
	size_t n = count_upto(rd->spans.v, rd->spans.n, start, addr);

	return rd->spans.v[n - 1].shared;
}

static int collect_rows(struct reader *rd)
{
	int r = 0;

	vec_foreach(at, &rd->jit->files) {
		const struct unwind_rows *rows = &(*at)->rows;
		bool shared = false;

		vec_foreach(f, &rows->fdes)
			shared |= is_shared(rd, rows->base + f->start);
		if (!shared && rows->fdes.n)
			r = r ? r : vec_push(&rd->jit->rows, *rows);
	}
	return r;
}

static int add_functions(struct reader *rd, const struct file *file)
{
	int r = 0;

	vec_foreach(f, &file->functions)
		if (!r && !is_shared(rd, f->start))
			r = symbol_table_add(&rd->jit->table, f->name, f->start, f->size, f->rank);
	return r;
}

static int make_table(struct reader *rd)
{
	int r = collect_spans(rd);

	if (r)
		return r;
	count_files(rd->jit);
	find_shared(rd);
	r = collect_rows(rd);
	vec_foreach(f, &rd->jit->files)
		r = r ? r : add_functions(rd, *f);
	r = r ? r : symbol_table_sort(&rd->jit->table);
	/*
	 * Symbols beyond the limit are left out. The other symbols don't cover addresses of these,
	 * because all symbols have sizes.
	 */
	if (r == -EFBIG) {
		rd->jit->stats.dropped++;
		r = 0;
	}
	rd->jit->stats.symbols = rd->jit->table.list.n;
	return r;
}

/*
 * After a reading that was cut short: keeps those files of the earlier reading @before that this
 * reading didn't reach, within the same limits. 0 or -ENOMEM.
 */
static int keep_rest(struct reader *rd, const struct gdb_jit *before)
{
	int r = 0;

	for (size_t i = 0; !r && i < before->files.n; i++) {
		struct file *f = before->files.v[i];

		if (!f->is_same || map_get(&rd->seen, f->at) || f->bytes > rd->left ||
		    rd->jit->files.n >= GDB_JIT_FILES_MAX)
			continue;
		rd->left -= f->bytes;
		r = vec_push(&rd->jit->files, f);
		f->refs += !r;
	}
	return r;
}

int gdb_jit_read_on(const struct gdb_jit *before, gdb_jit_peek *peek, gdb_jit_peek_pieces *pieces,
		    void *arg, const uint64_t *descriptors, size_t n, struct gdb_jit **ret)
{
	_cleanup_(reader_fini) struct reader rd = {
		.peek = peek, .pieces = pieces, .arg = arg, .left = GDB_JIT_BYTES_MAX};
	int r;

	map_init(&rd.known);
	map_init(&rd.seen);
	rd.jit = calloc(1, sizeof(*rd.jit));
	r = rd.jit ? jit_find_known(&rd, before) : -ENOMEM;
	r = r ? r : jit_read_lists(&rd, descriptors, n, before);
	if (rd.jit)
		r = jit_settle(&rd, r);
	r = r ? r : make_table(&rd);
	if (r)
		return err_sys(r, "can't read the list of code registered for gdb");
	rd.jit->goes_on = rd.cut && rd.fresh;
	if (rd.cut && before && keep_rest(&rd, before))
		return err_nomem();
	*ret = TAKE_PTR(rd.jit);
	return 0;
}

int gdb_jit_read(gdb_jit_peek *peek, void *arg, const uint64_t *descriptors, size_t n,
		 struct gdb_jit **ret)
{
	return gdb_jit_read_on(NULL, peek, NULL, arg, descriptors, n, ret);
}

bool gdb_jit_goes_on(const struct gdb_jit *j)
{
	return j->goes_on;
}

const char *gdb_jit_find(const struct gdb_jit *j, uint64_t addr, uint64_t *start)
{
	const struct symbol *s = symbol_table_find(&j->table, addr);

	if (s && start)
		*start = s->start;
	return s ? j->table.names.s + s->name : NULL;
}

const unwind_rows_vec *gdb_jit_rows(const struct gdb_jit *j)
{
	return &j->rows;
}

struct gdb_jit_stats gdb_jit_stats(const struct gdb_jit *j)
{
	return j->stats;
}

static size_t file_bytes(const struct file *f)
{
	return sizeof(*f) + f->bytes + unwind_rows_bytes(&f->rows) +
	       f->ranges.cap * sizeof(struct range) + f->spans.cap * sizeof(struct span) +
	       f->functions.cap * sizeof(struct function);
}

size_t gdb_jit_bytes(const struct gdb_jit *j)
{
	size_t n = sizeof(*j) + j->table.list.cap * sizeof(*j->table.list.v) + j->table.names.cap +
		   j->rows.cap * sizeof(*j->rows.v);

	vec_foreach(f, &j->files)
		n += file_bytes(*f) / (*f)->refs;
	return n;
}
