/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads dictionaries and instance attributes of a live process, 2.7-3.15. Since 3.6 a dict is
 * {keys, values}, and the keys object has the entries in the order of insertion. A dict has values
 * of its own if its table is "split". Then the keys object has only names, and all instances of a
 * class share it. Since 3.11 an instance has values without a dict, until the dict is asked for.
 */
#include "python/heap/heap.h"

#include <errno.h>

/*
 * The place of a dict's entries. An entry has 24 bytes (hash, key, value) or 16 bytes (key, value).
 */
struct table {
	uint64_t entries, n;
	/* address of the array of pointers to values; 0: values are in the entries */
	uint64_t values;
	unsigned entry_bytes;
	/*
	 * how many bytes come before the key in an entry: 8 if the entry begins with a hash, else 0
	 */
	unsigned skip;
};

/*
 * Reads a PyDictKeysObject up to 3.10, which has dk_refcnt, dk_size, dk_lookup, dk_usable,
 * dk_nentries, indices.
 */
static int keys_3_6(struct heap *h, uint64_t keys, struct table *t)
{
	uint64_t head[5], width;
	int r = heap_read(h, keys, head, sizeof(head));

	if (r)
		return r;
	width = head[1] <= 0xff ? 1 : head[1] <= 0xffff ? 2 : head[1] <= 0xffffffff ? 4 : 8;
	if (head[1] > HEAP_DICT_MAX * 64ull)
		return -EINVAL;
	*t = (struct table){.entries = keys + sizeof(head) + head[1] * width,
			    .n = head[4],
			    .entry_bytes = 24,
			    .skip = 8};
	return 0;
}

/*
 * Reads a PyDictKeysObject since 3.11, which has refcnt, {u8 log2_size, log2_index_bytes, kind,
 * ...}, usable, nentries, indices.
 */
static int keys_3_11(struct heap *h, uint64_t keys, struct table *t)
{
	uint64_t head[4];
	unsigned log2_index_bytes, kind;
	int r = heap_read(h, keys, head, sizeof(head));

	if (r)
		return r;
	log2_index_bytes = head[1] >> 8 & 0xff;
	kind = head[1] >> 16 &
	       /*
	        * The kinds are DICT_KEYS_GENERAL, _UNICODE and _SPLIT. Only GENERAL, for keys of
	        * any type, has hashes in its entries.
	        */
	       0xff;
	if (log2_index_bytes > 30 || kind > 2)
		return -EINVAL;
	*t = (struct table){.entries = keys + sizeof(head) + (1ull << log2_index_bytes),
			    .n = head[3],
			    .entry_bytes = kind ? 16 : 24,
			    .skip = kind ? 0 : 8};
	return 0;
}

static int keys_table(struct heap *h, uint64_t keys, uint64_t values, struct table *t)
{
	int r = PY_HAS(h->l->can, LOG2_KEYS) ? keys_3_11(h, keys, t) : keys_3_6(h, keys, t);

	if (r)
		return r;
	/* since 3.13 PyDictValues begins with four u8, padded to 8 bytes */
	t->values = values && PY_HAS(h->l->can, VALUES_HEAD) ? values + 8 : values;
	return 0;
}

/*
 * Reads a dict of 2.7, which has ma_fill, ma_used, ma_mask, ma_table. ma_table is an open hash
 * table of {hash, key, value}.
 */
static int dict_2_7(struct heap *h, uint64_t dict, struct table *t)
{
	uint64_t head[4];
	int r = heap_read(h, dict + h->head, head, sizeof(head));

	if (r)
		return r;
	if (head[2] >= HEAP_DICT_MAX * 4ull)
		return -EINVAL;
	*t = (struct table){.entries = head[3], .n = head[2] + 1, .entry_bytes = 24, .skip = 8};
	return 0;
}

/* Reads a dict since 3.6, which has ma_used, ma_version_tag, ma_keys, ma_values. */
static int dict_table(struct heap *h, uint64_t dict, struct table *t)
{
	uint64_t head[4];
	int r;

	if (PY_HAS(h->l->can, OPEN_DICTS))
		return dict_2_7(h, dict, t);
	r = heap_read(h, dict + h->head, head, sizeof(head));
	return r ? r : keys_table(h, head[2], head[3], t);
}

static uint64_t load(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static int read_items(struct heap *h, const struct table *t, heap_items *ret)
{
	size_t n = MIN(t->n, (uint64_t)HEAP_DICT_MAX * 4);
	_cleanup_free_ uint8_t *entries = malloc(n * t->entry_bytes + 1);
	_cleanup_free_ uint64_t *values = calloc(n + 1, sizeof(*values));
	int r;

	if (!entries || !values)
		return -ENOMEM;
	r = heap_read(h, t->entries, entries, n * t->entry_bytes);
	if (!r && t->values)
		r = heap_read(h, t->values, values, n * sizeof(*values));
	for (size_t i = 0; !r && i < n && ret->n < HEAP_DICT_MAX; i++) {
		const uint8_t *e = entries + i * t->entry_bytes + t->skip;
		struct heap_item item = {load(e), t->values ? values[i] : load(e + 8)};

		if (item.key && item.value)
			r = vec_push(ret, item);
	}
	return r;
}

int heap_dict(struct heap *h, uint64_t dict, heap_items *ret)
{
	struct table t;
	int r;

	if (!h->known)
		return -ENOTSUP;
	r = dict ? dict_table(h, dict, &t) : -EINVAL;
	return r ? r : read_items(h, &t, ret);
}

/* how many bytes of a str object are compared with a key: its header and up to 64 characters */
#define KEY_BYTES 160
#define BATCH	  64
/* how many entries are read first: only a few, because a module's own attributes come first */
#define FIRST 8

/* Are the bytes @raw at the beginning of an object those of the ASCII str @key? */
static bool is_key(const struct heap *h, const uint8_t *raw, const char *key, size_t n)
{
	const struct py_layout *l = h->l;
	uint32_t state;

	if (load(raw + l->str_length) != n || memcmp(raw + l->str_ascii, key, n) != 0)
		return false;
	if (!l->str_state)
		return true;
	memcpy(&state, raw + l->str_state, sizeof(state));
	state >>= l->str_kind_shift;
	/* the str is compact and ASCII, with one byte for each character */
	return (state & 7) == 1 && (state >> 3 & 3) == 3;
}

uint64_t heap_find(struct heap *h, const heap_items *items, const char *key)
{
	uint8_t raw[BATCH * KEY_BYTES];
	uint64_t addr[BATCH];
	size_t n = strlen(key), bytes = h->l->str_ascii + n;

	if (bytes > KEY_BYTES)
		return 0;
	for (size_t i = 0, m; i < items->n; i += m) {
		m = MIN(items->n - i, i ? (size_t)BATCH : FIRST);

		for (size_t k = 0; k < m; k++)
			addr[k] = items->v[i + k].key;
		heap_read_many(h, addr, m, bytes, raw);
		for (size_t k = 0; k < m; k++)
			if (is_key(h, raw + k * bytes, key, n))
				return items->v[i + k].value;
	}
	return 0;
}

uint64_t heap_dict_find(struct heap *h, uint64_t dict, const char *key)
{
	heap_items items = {};
	uint64_t value = 0;

	if (!heap_dict(h, dict, &items))
		value = heap_find(h, &items, key);
	vec_fini(&items);
	return value;
}

#define FLAG_INLINE_VALUES (1u << 2) /* flag of a type, Py_TPFLAGS_INLINE_VALUES, 3.13+ */
#define FLAG_MANAGED_DICT  (1u << 4) /* flag of a type, Py_TPFLAGS_MANAGED_DICT, 3.11+ */

/*
 * 3.11+: finds the dict, or the values, of an instance with a managed dict. A pointer to dict or
 * values is before the object (in free-threaded builds no GC header is in between). Since 3.13 the
 * values are after the object.
 */
static void managed(struct heap *h, uint64_t obj, uint64_t type, uint64_t flags, uint64_t *dict,
		    uint64_t *values)
{
	uint64_t at = heap_ptr(h, obj - (h->head > 16 ? 8 : 24));

	*dict = at;
	*values = 0;
	if (PY_HAS(h->l->can, VALUES_BEFORE)) {
		*values = heap_ptr(h, obj - 32);
	} else if (PY_HAS(h->l->can, VALUES_TAGGED)) {
		*values = at & 1 ? at + 1 : 0;
		*dict = at & 1 ? 0 : at;
	} else if (flags & FLAG_INLINE_VALUES) {
		*values = obj + heap_type_field(h, type, TYPE_BASICSIZE);
	}
}

int heap_attrs(struct heap *h, uint64_t obj, heap_items *ret)
{
	uint64_t type = obj ? heap_ptr(h, obj + h->l->ob_type) : 0, flags, dict = 0, values = 0;
	int64_t offset;
	struct table t;
	int r;

	if (!h->known)
		return -ENOTSUP;
	flags = heap_type_field(h, type, TYPE_FLAGS);
	if (PY_HAS(h->l->can, MANAGED_DICTS) && flags & FLAG_MANAGED_DICT) {
		managed(h, obj, type, flags, &dict, &values);
	} else {
		offset = (int64_t)heap_type_field(h, type, TYPE_DICTOFFSET);
		if (offset > 0 && offset < 4096)
			dict = heap_ptr(h, obj + (uint64_t)offset);
	}
	if (dict)
		return heap_dict(h, dict, ret);
	if (!values)
		return -EINVAL;
	r = keys_table(h, heap_ptr(h, type + h->h.ht_cached_keys), values, &t);
	return r ? r : read_items(h, &t, ret);
}

uint64_t heap_attr(struct heap *h, uint64_t obj, const char *name)
{
	heap_items items = {};
	uint64_t value = 0;

	if (!heap_attrs(h, obj, &items))
		value = heap_find(h, &items, name);
	vec_fini(&items);
	return value;
}

uint64_t heap_module_find(struct heap *h, uint64_t interp, const char *module, const char *name)
{
	uint64_t modules = heap_ptr(h, interp + h->l->interp_modules);
	uint64_t found = heap_dict_find(h, modules, module);

	/* in a PyModuleObject, md_dict comes right after the header */
	return found ? heap_dict_find(h, heap_ptr(h, found + h->head), name) : 0;
}
