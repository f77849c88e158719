/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * 3.11+: while a module's body (its top-level code) runs, copies the module's __name__ and __file__
 * from the dict that the body runs in. User space would have to ask the process later, and most
 * processes that import much live only for a moment. A new module's dict has both among its first
 * entries.
 */
#ifndef BPF_MODULE_H
#define BPF_MODULE_H

#include "staging.bpf.h"

#define MODULE_ENTRIES 8 /* how many entries of the module's dict are looked at */
/* how many words of a str are read: length, hash, state and eight characters */
#define MODULE_WORDS	  5
#define MODULE_TEXT_BYTES 1024 /* user space reads longer names from the process */

/* Names with eight characters, as they lie in memory, lowest byte first. */
#define CHARS_MODULE 0x3e656c75646f6d3cull /* <module> */
#define CHARS_NAME   0x5f5f656d616e5f5full /* __name__ */
#define CHARS_FILE   0x5f5f656c69665f5full /* __file__ */

/* Is the code object whose record is in the staging buffer @s the top-level code of a module? */
walk_inline bool is_body(const struct staging *s)
{
	const struct rec_code *rec = (const struct rec_code *)s->bytes;
	__u32 at = sizeof(*rec) + ((rec->text[CODE_FILENAME].bytes + 7) & ~7u);

	return rec->text[CODE_QUALNAME].bytes == 8 &&
	       load_u64(&s->bytes[bounded(at, STAGING_HALF)]) == CHARS_MODULE;
}

/*
 * Returns which of the module's texts the dict has under the key @key, a str. MODULE_TEXT_MAX: the
 * key is neither __name__ nor __file__.
 */
walk_inline __u32 which_text(struct walk *w, const struct py_layout *l, __u64 key)
{
	__u32 state, at = l->str_ascii - l->str_length;
	__u64 chars;

	if (!key || read_user(w->object, MODULE_WORDS * 8, key + l->str_length) ||
	    object_u64(w, 0) != 8 || at > (MODULE_WORDS - 1) * 8)
		return MODULE_TEXT_MAX;
	state = object_u32(w, 16) >> l->str_kind_shift;
	if ((state & 7) != 1 || (state >> 3 & 3) != 3) /* compact, ASCII, of bytes */
		return MODULE_TEXT_MAX;
	chars = object_u64(w, at);
	return chars == CHARS_NAME   ? MODULE_NAME
	       : chars == CHARS_FILE ? MODULE_FILE
				     : MODULE_TEXT_MAX;
}

/*
 * Is the object at @value a str? It is if it has the same type as the code object's file name,
 * which always is a str.
 */
walk_inline bool is_str(struct walk *w, const struct py_layout *l, const struct rec_code *rec,
			__u64 value)
{
	return value && !read_user(w->object, 8, value + l->ob_type) &&
	       !read_user(w->object + 8, 8, rec->text[CODE_FILENAME].addr + l->ob_type) &&
	       object_u64(w, 0) == object_u64(w, 8);
}

/*
 * Looks at the dict's entry whose key is at @entry in w->text. If the entry's value is one of the
 * module's texts, appends this text to the staging buffer, and describes it in the struct
 * rec_module at offset @at of that buffer.
 */
walk_global int copy_item(__u32 slot, __u32 entry, __u32 at)
{
	struct walk *w = walk_state(slot);
	struct staging *s = walk_staging(slot);
	const struct py_layout *l = layout_of(w);
	struct rec_module *module;
	struct wire_text *t;
	__u64 value, n, data = 0;
	__u32 which;

	if (!w || !s || !l)
		return 0;
	module = (struct rec_module *)&s->bytes[bounded(at, STAGING_HALF)];
	which = which_text(w, l, load_u64(&w->text[bounded(entry, TEXT_BYTES)]));
	value = load_u64(&w->text[bounded(entry + 8, TEXT_BYTES)]);
	if (which == MODULE_TEXT_MAX)
		return 0;
	t = &module->text[which & 1];
	t->addr = value;
	/* of the texts, the name must come first, because the record has the name's bytes first */
	if (t->bytes || (which == MODULE_FILE && !module->text[MODULE_NAME].bytes) ||
	    !is_str(w, l, (const struct rec_code *)s->bytes, value))
		return 0;
	n = read_text_head(l, CODE_FILENAME, t, &data);
	if (n <= MODULE_TEXT_BYTES)
		t->bytes = stage_bytes(w, s, data, n, MODULE_TEXT_BYTES);
	return 0;
}

/*
 * Reads the dict's first entries into w->text. Returns how many entries the dict has; 0: the
 * entries can't be read. *@bytes: the size of an entry. *@skip: the offset of the key in an entry.
 * src/python/heap/heap_dict.c describes the layout of a dict.
 */
walk_inline __u32 read_entries(struct walk *w, const struct py_layout *l, __u64 dict, __u32 *bytes,
			       __u32 *skip)
{
	__u64 keys, meta, n, size;

	/*
	 * reads ma_used, a version, ma_keys and ma_values; a dict with ma_values isn't a module's
	 */
	if (read_user(w->object, 32, dict + l->ob_type + 8) || object_u64(w, 24))
		return 0;
	keys = object_u64(w, 16);
	/* reads dk_refcnt, dk_log2_size, dk_log2_index_bytes, dk_kind, dk_usable and dk_nentries */
	if (!keys || read_user(w->object, 32, keys))
		return 0;
	meta = object_u64(w, 8);
	if ((meta >> 8 & 0xff) > 30 || (meta >> 16 & 0xff) > 2)
		return 0;
	/* an entry begins with the key's hash if keys may be of any type */
	*skip = meta >> 16 & 0xff ? 0 : 8;
	*bytes = 16 + *skip;
	n = object_u64(w, 24);
	if (n > MODULE_ENTRIES)
		n = MODULE_ENTRIES + 1;
	size = (n > MODULE_ENTRIES ? MODULE_ENTRIES : n) * *bytes;
	opaque(size);
	if (!size || size > TEXT_BYTES ||
	    read_user(w->text, size, keys + 32 + (1ull << (meta >> 8 & 31))))
		return 0;
	return (__u32)n;
}

/*
 * Were the name and the file copied? The file may be missing if the dict with @n entries has none.
 */
walk_inline bool is_said(const struct rec_module *module, __u32 n)
{
	const struct wire_text *file = &module->text[MODULE_FILE];

	return module->text[MODULE_NAME].bytes &&
	       (file->bytes || (!file->addr && n <= MODULE_ENTRIES));
}

/* Appends the module's texts to the record of the module's top-level code in the staging buffer. */
walk_global int copy_module(__u32 slot)
{
	struct walk *w = walk_state(slot);
	struct staging *s = walk_staging(slot);
	const struct py_layout *l = layout_of(w);
	struct rec_module *module;
	struct rec_code *rec;
	__u32 n, at, bytes = 0, skip = 0;

	if (!w || !s || !l || !PY_HAS(l->can, LOG2_KEYS) || !is_body(s))
		return 0;
	rec = (struct rec_code *)s->bytes;
	at = w->staged;
	if (!rec->globals || at > STAGING_HALF - sizeof(*module) - 2 * MODULE_TEXT_BYTES)
		return 0;
	n = read_entries(w, l, rec->globals, &bytes, &skip);
	module = (struct rec_module *)&s->bytes[bounded(at, STAGING_HALF)];
	__builtin_memset(module, 0, sizeof(*module));
	w->staged += sizeof(*module);
	for (__u32 i = 0; i < MODULE_ENTRIES; i++)
		if (i < n)
			copy_item(slot, i * bytes + skip, at);
	if (is_said(module, n))
		rec->has_module = 1;
	else
		w->staged = at;
	return 0;
}

#endif
