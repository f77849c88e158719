/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the tables that have names of functions; see method_names.h. Arrays of struct PyMethodDef
 * are recognized by their form, and the type or module that owns an array by its pointer to the
 * array. Types are found by exported symbols and by their methods. opcode_handlers.h finds the
 * functions of opcodes.
 */
#include "symbol/pytables/method_names.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "base/text/str.h"
#include "symbol/pytables/machinery.h"
#include "symbol/pytables/opcode_handlers.h"
#include "symbol/pytables/python_data.h"
#include "symbol/pytables/type_slots.h"

#define DATA_MAX  ((size_t)4 << 20)
#define NAMES_MAX 65536

struct entry {
	/* name of the function; finish_names() puts the name of its type or module before it */
	char *name;
	/*
	 * the owner, a type or module that has the function: index in scan.owners + 1; 0: not known
	 */
	uint32_t owner;
	/* whether several owners have the function, so that no owner's name is put before .name */
	bool shared;
	/*
	 * whether Python code calls the function by .name, which is in a method table or is a
	 * type's name
	 */
	bool method;
	bool several; /* whether the function also has other names */
	bool owned;   /* whether finish_names() has put the owner's name before .name */
};

struct method_names {
	struct map by_start; /* address of a function -> its index in .entries */
	VEC(struct entry) entries;
	/* bytes of all names, summed up once, because method_names_bytes() is called often */
	size_t text_bytes;
};

struct scan {
	struct python_data d;
	struct method_names *names;
	struct map tables; /* address of a method table -> index of its owner in .owners */
	/*
	 * address of a PyType_Slot array that has a method table -> index of its owner in .owners
	 */
	struct map slots;
	VEC(char *) owners; /* names of types and modules; NULL: the name isn't known */
	VEC(struct python_type) types;
	struct map known_types;
	bool old; /* whether the file is of Python 2.7 */
};

/*
 * Are @flags possible METH_* flags of methodobject.h? They are if they have exactly one calling
 * convention, and only flags that go with it.
 */
static bool are_flags(uint64_t flags)
{
	uint64_t how = flags & (0x1 | 0x4 | 0x8 | 0x80), with = flags & ~how;

	if (!how || how & (how - 1) || with & ~(uint64_t)(0x2 | 0x10 | 0x20 | 0x40 | 0x200))
		return false;
	return !(with & 0x2) || how & (0x1 | 0x80);
}

/* Can a struct PyMethodDef be at @at? It has 32 bytes: name, function, flags, doc. */
static bool is_method(const struct scan *s, uint64_t at, char name[static 80])
{
	return python_data_is_code(&s->d, python_data_word(&s->d, at + 8)) &&
	       are_flags(python_data_word(&s->d, at + 16)) &&
	       python_data_name(&s->d, python_data_word(&s->d, at), false, name);
}

/* Adds the name of a function, unless the function has a name already. */
static int add(struct method_names *n, uint64_t start, const char *name, uint32_t owner)
{
	struct entry e = {.owner = owner};
	const uint64_t *known = map_get(&n->by_start, start);

	if (known) {
		struct entry *first = &n->entries.v[*known];

		first->shared |= first->owner != owner && streq(first->name, name);
		first->several |= !streq(first->name, name);
		return 0;
	}
	if (n->entries.n >= NAMES_MAX)
		return 0;
	e.name = strdup(name);
	if (!e.name || map_put(&n->by_start, start, n->entries.n) || vec_push(&n->entries, e)) {
		free(e.name);
		return -ENOMEM;
	}
	return 0;
}

static int add_method(struct method_names *n, uint64_t start, const char *name, uint32_t owner)
{
	size_t before = n->entries.n;
	int r = add(n, start, name, owner);

	if (n->entries.n > before)
		n->entries.v[before].method = true;
	return r;
}

/* Finds the method tables in one piece of data. */
static int find_methods(struct scan *s, const struct data_piece *piece)
{
	uint64_t end = piece->vaddr + piece->n * 8, last = 0;
	char name[80];

	for (uint64_t at = piece->vaddr; at + 32 <= end; at += 8) {
		if (!is_method(s, at, name))
			continue;
		if (at != last &&
		    (map_put(&s->tables, at, s->owners.n) || vec_push(&s->owners, NULL)))
			return -ENOMEM;
		if (add_method(s->names, python_data_word(&s->d, at + 8), name,
			       (uint32_t)s->owners.n))
			return -ENOMEM;
		last = at + 32;
		at += 24;
	}
	return 0;
}

/*
 * Finds the owner whose pointer to a table is at @at: a type (tp_methods) or a module (m_methods).
 * Objects of free-threaded builds begin with 16 more bytes.
 */
static bool find_owner(struct scan *s, uint64_t at, uint64_t *type, char name[static 80])
{
	static const uint64_t heads[] = {0, 16};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		uint64_t t = at - TYPE_METHODS - heads[i], m = at - MODULE_METHODS - heads[i];

		*type = 0;
		if (type_check(&s->d, t, heads[i], name)) {
			*type = t;
			return true;
		}
		if (python_data_word(&s->d, m + MODULE_SIZE + heads[i]) + 1 < 1 << 20 &&
		    python_data_name(&s->d, python_data_word(&s->d, m + MODULE_NAME + heads[i]),
				     true, name))
			return true;
	}
	return false;
}

static int add_type(struct scan *s, uint64_t at, uint64_t size)
{
	struct python_type t = {.at = at, .size = size};

	if (map_get(&s->known_types, at))
		return 0;
	for (t.head = 0; t.head <= 16; t.head += 16) {
		if (type_check(&s->d, at, t.head, t.name))
			return map_put(&s->known_types, at, 1) || vec_push(&s->types, t) ? -ENOMEM
											 : 0;
	}
	return 0;
}

static int set_owner(struct scan *s, size_t n, const char *name)
{
	if (s->owners.v[n])
		return 0;
	s->owners.v[n] = strdup(name);
	return s->owners.v[n] ? 0 : -ENOMEM;
}

/*
 * Returns the start of the array of struct PyType_Slot that has Py_tp_methods at @at; 0: there is
 * no such array.
 */
static uint64_t slots_start(const struct scan *s, uint64_t at)
{
	unsigned int n = 0;

	if (python_data_word(&s->d, at) != SLOT_METHODS)
		return 0;
	while (n++ < SLOT_MAX && python_data_word(&s->d, at - 16) - 1 < SLOT_MAX)
		at -= 16;
	return at;
}

static int find_owners(struct scan *s, const struct data_piece *piece)
{
	for (size_t i = 0; i < piece->n; i++) {
		uint64_t at = piece->vaddr + i * 8, type, slots;
		const uint64_t *n = piece->words[i] ? map_get(&s->tables, piece->words[i]) : NULL;
		char name[80];

		if (!n || s->owners.v[*n])
			continue;
		slots = slots_start(s, at - 8);
		if (slots) {
			if (map_put(&s->slots, slots, *n))
				return -ENOMEM;
			continue;
		}
		if (!find_owner(s, at, &type, name))
			continue;
		if ((type && add_type(s, type, 0)) || set_owner(s, *n, name))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Finds each struct PyType_Spec (name, ..., slots), which describes a type that is made when a
 * module is loaded.
 */
static int find_specs(struct scan *s, const struct data_piece *piece)
{
	for (size_t i = SPEC_SLOTS / 8; i < piece->n; i++) {
		const uint64_t *n = piece->words[i] ? map_get(&s->slots, piece->words[i]) : NULL;
		char name[80];

		if (n && python_data_name(&s->d, piece->words[i - SPEC_SLOTS / 8], true, name) &&
		    set_owner(s, *n, name))
			return -ENOMEM;
	}
	return 0;
}

static int take_symbol(const char *name, const struct elf_symbol *sym, void *arg)
{
	struct scan *s = arg;

	if (streq(name, "PyString_Type"))
		s->old = true;
	if (sym->type != 1 || sym->size < 256 || sym->size > 1024 || !str_ends(name, "_Type"))
		return 0;
	return add_type(s, sym->value, sym->size);
}

struct slot_arg {
	struct method_names *names;
	uint32_t owner;
};

static int add_slot(void *arg, uint64_t start, const char *slot)
{
	struct slot_arg *a = arg;

	return add(a->names, start, slot, a->owner);
}

static int add_slots(struct scan *s)
{
	struct slot_arg arg = {.names = s->names};
	int r = 0;

	vec_foreach(t, &s->types) {
		char *owner = strdup(t->name);

		if (!owner || vec_push(&s->owners, owner)) {
			free(owner);
			return -ENOMEM;
		}
		arg.owner = (uint32_t)s->owners.n;
		r = type_slots(&s->d, t, s->old, add_slot, &arg);
		if (r)
			return r;
	}
	arg.owner = 0;
	return type_glue(&s->d, add_slot, &arg);
}

/*
 * Does Python code run the function by calling a type, as in set(x)? If so, the function is shown
 * under the type's name.
 */
static bool is_type_call(const struct entry *e)
{
	return streq(e->name, "tp_vectorcall") && !e->shared && !e->several;
}

/*
 * Puts the name of the owner (type or module) before the name of a function that has one owner, as
 * in list.sort. If a function has several owners, puts the first owner's name before its name if
 * machinery.c lists the resulting name.
 */
static int finish_names(struct scan *s)
{
	vec_foreach(e, &s->names->entries) {
		const char *owner = e->owner ? s->owners.v[e->owner - 1] : NULL;
		_cleanup_str_ struct str name = {};
		char *full;

		e->owned = owner && !e->shared;
		if (!owner || streq(owner, "builtins") || streq(owner, "__builtin__"))
			continue;
		if (is_type_call(e)) {
			str_add(&name, owner);
			e->method = true;
		} else {
			str_addf(&name, "%s.%s", owner, e->name);
		}
		full = str_take(&name);
		if (!full)
			return -ENOMEM;
		if (e->shared && !machinery_is(full)) {
			free(full);
			continue;
		}
		free(e->name);
		e->name = full;
	}
	return 0;
}

/*
 * Names the garbage collector's main function. No table has this function: Python code can only
 * call gc.collect(), which calls it.
 */
static int add_collector(struct scan *s)
{
	struct slot_arg arg = {.names = s->names};
	uint64_t start = 0;

	map_foreach(slot, &s->names->by_start) {
		if (streq(s->names->entries.v[slot->value].name, "gc.collect"))
			start = slot->key;
	}
	return start ? common_callees(&s->d, "PyGC_Collect", start, "gc_collect_main", add_slot,
				      &arg)
		     : 0;
}

static int add_opcode_handlers(struct scan *s)
{
	struct slot_arg arg = {.names = s->names};

	return opcode_handlers(&s->d, add_slot, &arg);
}

static int scan(struct scan *s)
{
	int r = elf_file_symbol_table(s->d.f, true, take_symbol, s);

	vec_foreach(piece, &s->d.pieces)
		r = r ? r : find_methods(s, piece);
	vec_foreach(piece, &s->d.pieces)
		r = r ? r : find_owners(s, piece);
	vec_foreach(piece, &s->d.pieces)
		r = r ? r : find_specs(s, piece);
	if (!r)
		r = add_slots(s);
	if (!r)
		r = finish_names(s);
	if (!r)
		r = add_collector(s);
	return r ? r : add_opcode_handlers(s);
}

static int find_init(const char *name, const struct elf_symbol *sym, void *arg)
{
	return str_starts(name, "PyInit_") || streq(name, "PyType_Ready");
}

/* Tells whether the file is an interpreter or an extension module. */
static bool is_python(struct elf_file *f)
{
	return elf_file_symbol_table(f, true, find_init, NULL) > 0;
}

int method_names_open(struct elf_file *f, struct method_names **ret)
{
	struct scan s = {};
	int r;

	if (!is_python(f))
		return -ENOENT;
	s.names = calloc(1, sizeof(*s.names));
	map_init(&s.tables);
	map_init(&s.slots);
	map_init(&s.known_types);
	r = s.names ? python_data_load(&s.d, f, DATA_MAX) : -ENOMEM;
	if (!r) {
		map_init(&s.names->by_start);
		r = scan(&s);
		python_data_fini(&s.d);
	}
	vec_foreach(owner, &s.owners)
		free(*owner);
	vec_fini(&s.owners);
	vec_fini(&s.types);
	map_fini(&s.tables);
	map_fini(&s.slots);
	map_fini(&s.known_types);
	if (r) {
		method_names_free(s.names);
		return err_set(-ENOMEM, "%s: out of memory for names", elf_file_name(f));
	}
	vec_foreach(e, &s.names->entries)
		s.names->text_bytes += strlen(e->name) + 1;
	*ret = s.names;
	return 0;
}

void method_names_free(struct method_names *n)
{
	if (!n)
		return;
	vec_foreach(e, &n->entries)
		free(e->name);
	vec_fini(&n->entries);
	map_fini(&n->by_start);
	free(n);
}

const char *method_names_method(const struct method_names *n, uint64_t start)
{
	const uint64_t *i = n ? map_get(&n->by_start, start) : NULL;
	const struct entry *e = i ? &n->entries.v[*i] : NULL;

	return e && e->method && e->owned && !e->several ? e->name : NULL;
}

const char *method_names_find(const struct method_names *n, uint64_t start)
{
	const uint64_t *i = map_get(&n->by_start, start);

	return i ? n->entries.v[*i].name : NULL;
}

size_t method_names_count(const struct method_names *n)
{
	return n->entries.n;
}

size_t method_names_bytes(const struct method_names *n)
{
	return sizeof(*n) + n->by_start.size * sizeof(*n->by_start.slots) +
	       n->entries.cap * sizeof(*n->entries.v) + n->text_bytes;
}
