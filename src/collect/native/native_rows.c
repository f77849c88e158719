/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind rows of files: how to get from each piece of code to its caller. A thread compiles them
 * when a stack needs them. Rows are dropped when other files need the memory more, and made again
 * when a stack needs them.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/system/caps.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "collect/native/native.h"
#include "unwind/prove/code_rows.h"
#include "unwind/cache.h"
#include "unwind/compile.h"

#define MAX_EVAL_RANGES 64

/*
 * If more bytes of a file's code than this have no unwind information, the rows of that code are
 * made later. The file's other rows are used meanwhile. torch has 30 MB of such code.
 */
#define PROVE_AT_ONCE (4u << 20)

/*
 * After this time, unwind rows that were dropped, or that had no room in the kernel's maps, are
 * made again.
 */
#define RETRY_SECONDS 2
#define RETRY_DOUBLED 5u /* how many times at most the time until the next try doubles */

/* Ranges of addresses of the evaluation loop in a file, found by the loop's symbols. */
struct eval_ranges {
	const char *name;
	struct elf_symbol found[MAX_EVAL_RANGES];
	size_t n;
};

static int take_eval(const char *name, const struct elf_symbol *sym, void *arg)
{
	struct eval_ranges *e = arg;
	size_t n = strlen(e->name);

	/*
	 * Parts and clones of a function also count; their symbols end in .cold, .part.0,
	 * .constprop.1 or .lto_priv.2.
	 */
	if (!strncmp(name, e->name, n) && (!name[n] || name[n] == '.') && sym->size &&
	    e->n < MAX_EVAL_RANGES)
		e->found[e->n++] = *sym;
	return 0;
}

static bool is_eval(const struct eval_ranges *e, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->found[i].value < end && start < e->found[i].value + e->found[i].size)
			return true;
	return false;
}

/*
 * Finds the functions that are CPython's evaluation loop. Up to 3.10 each native frame of the loop
 * is one Python frame. In 2.7 PyEval_EvalFrameEx is the loop; in later versions PyEval_EvalFrameEx
 * only calls the loop.
 */
static int find_eval(struct elf_file *elf, const struct unwind_rows *rows, fde_vec *ret)
{
	struct eval_ranges e = {.name = "_PyEval_EvalFrameDefault"};
	int r = 0;

	elf_file_symbols(elf, take_eval, &e);
	if (!e.n) {
		e.name = "PyEval_EvalFrameEx";
		elf_file_symbols(elf, take_eval, &e);
	}
	if (!e.n)
		return 0;
	vec_foreach(f, &rows->fdes)
		if (!r && is_eval(&e, rows->base + f->start, rows->base + f->end))
			r = vec_push(ret, *f);
	return r;
}

typedef int read_fn(const struct native_file *f, struct unwind_cache *cache, struct elf_file *elf,
		    struct native_rows *ret);

/* Loads the unwind rows of a file from the cache on disk. */
static int load_rows(const struct native_file *f, struct unwind_cache *cache, struct elf_file *elf,
		     struct native_rows *ret)
{
	if (cache) {
		ret->key = unwind_cache_key_of(cache, elf, f->fd);
		if (unwind_cache_load(cache, &ret->key, elf, &ret->rows))
			return 0;
	}
	return err_set(-ENOENT, "%s: no unwind tables in the cache", f->path);
}

/* Gets the unwind rows of a file: from the cache on disk, or else by compiling them. */
static int read_rows(const struct native_file *f, struct unwind_cache *cache, struct elf_file *elf,
		     struct native_rows *ret)
{
	int r = load_rows(f, cache, elf, ret);

	if (!r)
		return 0;
	if (ret->key.n) {
		elf_reads_init(&ret->reads);
		elf_file_note_reads(elf, &ret->reads);
	}
	ret->compiled = true;
	r = unwind_rows_read_tables(elf, &ret->rows);
	if (r)
		return r;
	ret->partial = code_rows_bytes(elf, &ret->rows) > PROVE_AT_ONCE;
	return ret->partial ? 0 : code_rows_add(elf, &ret->rows);
}

static int changed(const struct native_file *f)
{
	return err_set(-ESTALE, "%s changed while it was read", f->path);
}

static int check_unchanged(const struct native_file *f)
{
	return native_file_changed(f) ? changed(f) : 0;
}

int native_rows_keep(const struct native_file *f, struct unwind_cache *cache,
		     struct native_rows *rows)
{
	int r = check_unchanged(f);

	return r ? r : unwind_cache_store(cache, &rows->key, &rows->rows, &rows->reads, f->fd);
}

static int open_and_read(const struct native_file *f, struct unwind_cache *cache, read_fn *read,
			 struct native_rows *ret)
{
	_cleanup_elf_ struct elf_file *elf = NULL;
	int r = elf_file_open(f->fd, f->path, &elf);

	r = r ? r : read(f, cache, elf, ret);
	if (!r && (ret->interpreter || elf_file_is_program(elf)))
		r = find_eval(elf, &ret->rows, &ret->eval);
	if (!r && ret->rows.base != f->base)
		r = changed(f);
	return r ? r : check_unchanged(f);
}

static int get_rows(const struct native_file *f, struct unwind_cache *cache, read_fn *read,
		    struct native_rows *ret)
{
	int r;

	*ret = (struct native_rows){.interpreter = ret->interpreter};
	r = open_and_read(f, cache, read, ret);
	if (r)
		native_rows_fini(ret);
	return r;
}

int native_rows_compile(const struct native_file *f, struct unwind_cache *cache,
			struct native_rows *ret)
{
	return get_rows(f, cache, read_rows, ret);
}

int native_rows_load(const struct native_file *f, struct unwind_cache *cache,
		     struct native_rows *ret)
{
	return get_rows(f, cache, load_rows, ret);
}

int native_rows_prove(const struct native_file *f, struct native_rows *rows)
{
	_cleanup_elf_ struct elf_file *elf = NULL;
	int r = elf_file_open(f->fd, f->path, &elf);

	rows->partial = false;
	if (!r && rows->key.n)
		elf_file_note_reads(elf, &rows->reads);
	r = r ? r : code_rows_add(elf, &rows->rows);
	return r ? r : check_unchanged(f);
}

int native_rows_fill(const struct collect_config *config, const struct native_file *f,
		     const struct native_rows *rows)
{
	uint64_t caps = caps_raise(CAPS_BPF);
	int r = config->unwind->fill(config->ctx, f->table, &rows->rows, rows->eval.v,
				     rows->eval.n);

	caps_restore(caps);
	return r;
}

void native_rows_fini(struct native_rows *r)
{
	unwind_rows_fini(&r->rows);
	vec_fini(&r->eval);
	elf_reads_fini(&r->reads);
}

static void keep_functions(struct collect *c, struct native_file *f, const struct unwind_rows *rows)
{
	if (f->fdes.n || !rows->fdes.n)
		return;
	if (vec_reserve(&f->fdes, rows->fdes.n)) {
		c->no_memory = true;
		return;
	}
	memcpy(f->fdes.v, rows->fdes.v, rows->fdes.n * sizeof(*f->fdes.v));
	f->fdes.n = rows->fdes.n;
	/* functions may begin and end elsewhere now, so what was found at addresses is forgotten */
	known_natives_forget(c);
}

static void try_later(struct native_file *f)
{
	f->rows = ROWS_NONE;
	f->retry_ns = clock_ns(CLOCK_MONOTONIC) +
		      ((uint64_t)RETRY_SECONDS * NSEC_PER_SEC << MIN(f->tries, RETRY_DOUBLED));
	f->tries++;
}

static void not_filled(struct collect *c, struct native_file *f, int r, const char *why)
{
	if (r == -ENOSPC) {
		log_info("%s: can't load its unwind tables now; krait tries again later: %s",
			 f->path, err_about(why, f->path));
		c->stats.rows_refused++;
		try_later(f);
		return;
	}
	if (r == -ENOMEM) {
		try_later(f);
		return;
	}
	f->rows = ROWS_REFUSED;
	if (r == -EFBIG)
		log_warn("%s: %s", f->path, err_about(why, f->path));
	else
		log_info("%s: no unwind tables: %s", f->path, err_about(why, f->path));
	c->stats.rows_too_large += r == -EFBIG;
}

void native_rows_take(struct collect *c, struct native_file *f, struct native_rows *rows, int r,
		      const char *why)
{
	if (rows->rows.bad && !f->tries)
		log_info("%s: %zu functions without usable unwind information: %s", f->path,
			 rows->rows.bad, rows->rows.why);
	f->rows = ROWS_THERE;
	if (!r && !c->config.unwind->fills_aside) {
		r = native_rows_fill(&c->config, f, rows);
		why = err_msg();
	}
	if (r)
		not_filled(c, f, r, why);
	keep_functions(c, f, &rows->rows);
}

void native_rows_take_proven(struct collect *c, struct native_file *f, struct native_rows *rows,
			     int r, const char *why)
{
	if (f->rows != ROWS_THERE) /* the file's unwind rows were dropped while the thread worked */
		return;
	f->fdes.n = 0;
	known_natives_forget(c);
	native_rows_take(c, f, rows, r, why);
}

static struct native_file *file_of_table(const struct collect *c, uint32_t table)
{
	vec_foreach(f, &c->natives->files)
		if ((*f)->table == table)
			return *f;
	return NULL;
}

void native_rows_given_up(struct collect *c, uint32_t table)
{
	struct native_file *f = file_of_table(c, table);

	if (!f)
		return;
	log_info("%s: its unwind tables were dropped to make room for others", f->path);
	try_later(f);
}
