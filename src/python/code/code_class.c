/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the class of a method up to 3.10, where code objects have no qualified name. A class is
 * certain if it is in the MRO of the first argument and has a function with this very code object.
 * In that case the method's name is the function's __qualname__. This name must agree with the
 * class's name and with the code's name, because functools.wraps copies names. Everything is read
 * from the live process. If the process changes its memory during a read, no harm is done, because
 * a class counts only if the code object of its function has the same address.
 */
#include "python/code/code.h"

#include <errno.h>

#include "python/heap/heap.h"

#define MAX_MRO	  64
#define MAX_DEPTH 4 /* how many wrappers around one function are looked through at most */
/* how many bytes are read of each class attribute: up to func_qualname of 3.6-3.9 */
#define PIECE	      112
#define BATCH	      32
#define BUDGET	      (4ull << 20)
#define FLAG_HEAPTYPE (1ull << 9) /* flag of a type: Py_TPFLAGS_HEAPTYPE */
/* flag of a code object: CO_NESTED, the function is defined in another function */
#define FLAG_NESTED	   0x10
#define FLAG_TYPE_SUBCLASS (1ull << 31) /* flag of a type: Py_TPFLAGS_TYPE_SUBCLASS */

enum kind { KIND_OTHER, KIND_FUNCTION, KIND_WRAPPER, KIND_PROPERTY, KIND_CACHED, KIND_LRU };

static const struct {
	const char *name; /* the type's name, tp_name */
	enum kind kind;
} kinds[] = {
	{"function", KIND_FUNCTION},	  {"staticmethod", KIND_WRAPPER},
	{"classmethod", KIND_WRAPPER},	  {"property", KIND_PROPERTY},
	{"cached_property", KIND_CACHED}, {"functools._lru_cache_wrapper", KIND_LRU},
};

struct search {
	struct heap h;
	const struct py_code *code;
	struct { /* types of attributes that were found so far */
		uint64_t type;
		enum kind kind;
	} seen[16];
	unsigned n_seen;
	/*
	 * addresses of the class that was found, of its function, and of the key that the function
	 * has in the class's dict
	 */
	uint64_t class, function, key;
	bool old_style; /* .class is an old-style class of 2.7 (classobj) */
};

static enum kind kind_of(struct search *s, uint64_t type)
{
	enum kind kind = KIND_OTHER;

	for (unsigned i = 0; i < s->n_seen; i++)
		if (s->seen[i].type == type)
			return s->seen[i].kind;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (heap_type_is(&s->h, type, kinds[i].name))
			kind = kinds[i].kind;
	if (s->n_seen < ARRAY_SIZE(s->seen)) {
		s->seen[s->n_seen].type = type;
		s->seen[s->n_seen++].kind = kind;
	}
	return kind;
}

static bool find_in_object(struct search *s, uint64_t obj, int depth);

/*
 * Searches the object that @obj wraps. classmethod, staticmethod and property have that object
 * directly after the header.
 */
static bool find_wrapped(struct search *s, uint64_t obj, enum kind kind, int depth)
{
	struct heap *h = &s->h;
	uint64_t dict;

	switch (kind) {
	case KIND_FUNCTION:
		dict = heap_ptr(h, obj + h->h.func_dict);
		return dict && find_in_object(s, heap_dict_find(h, dict, "__wrapped__"), depth);
	case KIND_PROPERTY: /* a property object has prop_get, prop_set, prop_del */
		if (find_in_object(s, heap_ptr(h, obj + h->head + 8), depth) ||
		    find_in_object(s, heap_ptr(h, obj + h->head + 16), depth))
			return true;
		/* fallthrough */
	case KIND_WRAPPER:
		return find_in_object(s, heap_ptr(h, obj + h->head), depth);
	case KIND_CACHED:
		return find_in_object(s, heap_attr(h, obj, "func"), depth);
	case KIND_LRU:
		return find_in_object(s, heap_attr(h, obj, "__wrapped__"), depth);
	default:
		return false;
	}
}

static bool find_in_object(struct search *s, uint64_t obj, int depth)
{
	uint64_t type;
	enum kind kind;

	if (!obj || depth == MAX_DEPTH)
		return false;
	type = heap_ptr(&s->h, obj + s->h.l->ob_type);
	kind = type ? kind_of(s, type) : KIND_OTHER;
	if (kind == KIND_FUNCTION && heap_ptr(&s->h, obj + s->h.h.func_code) == s->code->addr) {
		s->function = obj;
		return true;
	}
	return find_wrapped(s, obj, kind, depth + 1);
}

static uint64_t load(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Can @raw, the first bytes of an object, be those of the wanted function or of a wrapper around
 * it?
 */
static bool may_hold(struct search *s, const uint8_t *raw)
{
	uint64_t type = load(raw + s->h.l->ob_type);
	enum kind kind = type ? kind_of(s, type) : KIND_OTHER;

	if (kind == KIND_FUNCTION)
		return load(raw + s->h.h.func_code) == s->code->addr ||
		       load(raw + s->h.h.func_dict);
	return kind != KIND_OTHER;
}

static bool find_in_batch(struct search *s, const struct heap_item *items, size_t n)
{
	uint8_t raw[BATCH * PIECE];
	uint64_t addr[BATCH] = {};

	for (size_t i = 0; i < n; i++)
		addr[i] = items[i].value;
	heap_read_many(&s->h, addr, n, PIECE, raw);
	for (size_t i = 0; i < n; i++) {
		if (!may_hold(s, raw + i * PIECE) || !find_in_object(s, addr[i], 0))
			continue;
		s->key = items[i].key;
		return true;
	}
	return false;
}

static bool find_in_dict(struct search *s, uint64_t dict)
{
	heap_items items = {};
	bool found = false;

	if (!heap_dict(&s->h, dict, &items))
		for (size_t i = 0; i < items.n && !found; i += BATCH)
			found = find_in_batch(s, items.v + i, MIN(items.n - i, (size_t)BATCH));
	vec_fini(&items);
	return found;
}

static size_t tuple_items(struct heap *h, uint64_t tuple, uint64_t items[static MAX_MRO])
{
	uint64_t n = tuple ? heap_ptr(h, tuple + h->head) : 0;

	n = MIN(n, (uint64_t)MAX_MRO);
	return n && !heap_read(h, tuple + h->l->tuple_items, items, n * sizeof(*items)) ? n : 0;
}

/*
 * Searches an old-style class of 2.7. PyClassObject has cl_bases, cl_dict, cl_name. Bases are
 * searched depth first, as 2.7 looks up attributes.
 */
static bool find_in_classobj(struct search *s, uint64_t class, int depth)
{
	struct heap *h = &s->h;
	uint64_t bases[MAX_MRO];
	size_t n;

	if (depth == MAX_DEPTH * 2)
		return false;
	if (find_in_dict(s, heap_ptr(h, class + h->head + 8))) {
		s->class = class;
		s->old_style = true;
		return true;
	}
	n = tuple_items(h, heap_ptr(h, class + h->head), bases);
	for (size_t i = 0; i < n; i++)
		if (find_in_classobj(s, bases[i], depth + 1))
			return true;
	return false;
}

/*
 * Searches only classes that a class statement made, because no other class has Python functions.
 */
static bool find_in_class(struct search *s, uint64_t class)
{
	struct heap *h = &s->h;

	if (PY_HAS(h->l->can, OLD_CLASSES) &&
	    heap_type_is(h, heap_ptr(h, class + h->l->ob_type), "classobj"))
		return find_in_classobj(s, class, MAX_DEPTH * 2 - 1);
	if (!(heap_type_field(h, class, TYPE_FLAGS) & FLAG_HEAPTYPE))
		return false;
	s->class = class;
	return find_in_dict(s, heap_type_field(h, class, TYPE_DICT));
}

static bool find_in_mro(struct search *s, uint64_t type)
{
	uint64_t classes[MAX_MRO];
	size_t n = tuple_items(&s->h, heap_type_field(&s->h, type, TYPE_MRO), classes);

	for (size_t i = 0; i < n; i++)
		if (find_in_class(s, classes[i]))
			return true;
	return false;
}

/*
 * Searches for the class by the first argument @self_obj. @self_obj may be an instance of the
 * class. Or it is a class itself (cls): then the method may belong to this class or to its
 * metaclass.
 */
static bool find(struct search *s, uint64_t self_obj, uint64_t type)
{
	struct heap *h = &s->h;

	if (!type)
		return false;
	if (PY_HAS(h->l->can, OLD_CLASSES)) {
		if (heap_type_is(h, type, "instance"))
			return find_in_classobj(s, heap_ptr(h, self_obj + h->head), 0);
		if (heap_type_is(h, type, "classobj"))
			return find_in_classobj(s, self_obj, 0);
	}
	if (heap_type_field(h, type, TYPE_FLAGS) & FLAG_TYPE_SUBCLASS && find_in_mro(s, self_obj))
		return true;
	return find_in_mro(s, type);
}

/* Appends the name of s->class: its __qualname__; in 2.7 its __name__. */
static int class_name(struct search *s, struct str *out)
{
	struct heap *h = &s->h;
	char name[256];
	uint64_t at;
	int r;

	if (s->old_style)
		return heap_str(h, heap_ptr(h, s->class + h->head + 16), out);
	if (!PY_HAS(h->l->can, OLD_CLASSES))
		return heap_str(h, heap_ptr(h, s->class + h->h.ht_qualname), out);
	/* tp_name of a heap type points into the string ht_name of the type */
	at = heap_ptr(h, s->class + h->l->type_name);
	r = at ? heap_read(h, at, name, sizeof(name)) : -EFAULT;
	if (r)
		return r;
	if (!memchr(name, '\0', sizeof(name)))
		/* a name that was cut off could be the beginning of another class's name */
		return -ENAMETOOLONG;
	str_add(out, name);
	return 0;
}

/* In 3.x: is the function's __qualname__ equal to @name, and not copied from another function? */
static bool agrees_3(struct search *s, const char *name)
{
	struct heap *h = &s->h;
	_cleanup_str_ struct str qualname = {};
	uint64_t dict = heap_ptr(h, s->function + h->h.func_dict);

	if (dict && heap_dict_find(h, dict, "__wrapped__"))
		return false;
	return !heap_str(h, heap_ptr(h, s->function + h->h.func_qualname), &qualname) &&
	       streq(str_cstr(&qualname), name);
}

/*
 * 2.7: may the function belong to several classes? It may if each call of the enclosing function
 * makes another function of the same code, or if the function is a global one, which classes may
 * share.
 */
static bool is_of_several(struct search *s)
{
	struct heap *h = &s->h;
	/* func_globals, the address of the function's globals */
	uint64_t globals = heap_ptr(h, s->function + h->h.func_code + 8);
	uint32_t flags;

	return heap_read(h, s->code->addr + h->l->code_flags, &flags, sizeof(flags)) ||
	       flags & FLAG_NESTED || heap_dict_find(h, globals, s->code->name) == s->function;
}

/*
 * 2.7: does the class have the function under its own name, or under a private method's mangled
 * name?
 */
static bool agrees_2(struct search *s, const char *class)
{
	_cleanup_str_ struct str key = {}, mangled = {};

	if (is_of_several(s) || heap_str(&s->h, s->key, &key))
		return false;
	str_addf(&mangled, "_%s%s", class + strspn(class, "_"), s->code->name);
	return streq(str_cstr(&key), s->code->name) || streq(str_cstr(&key), str_cstr(&mangled));
}

/*
 * Only methods from a file get a class, because the check (abi/check.h) proves file, name and
 * lines, but not the class. If a program execs "class A" and then "class B", their methods have
 * equal checks, and a method of B may get the address that a method of A had.
 */
static bool py_code_is_from_file(const struct py_code *code)
{
	return code->file && (code->file[0] != '<' || str_starts(code->file, "<frozen "));
}

int py_code_qualify(struct py_code *code, pid_t pid, const struct py_layout *layout,
		    uint64_t self_obj, uint64_t self_type)
{
	struct search s = {.code = code};
	_cleanup_str_ struct str name = {};
	char *text;
	int r;

	if (!py_code_is_from_file(code))
		return 0;
	heap_init(&s.h, pid, layout);
	s.h.budget = BUDGET;
	if (layout->code_qualname || !self_obj || !code->name || !s.h.known ||
	    !find(&s, self_obj, self_type))
		return 0;
	r = class_name(&s, &name);
	if (r || (PY_HAS(layout->can, OLD_CLASSES) && !agrees_2(&s, str_cstr(&name))))
		return r;
	str_addf(&name, ".%s", code->name);
	if (!PY_HAS(layout->can, OLD_CLASSES) && !agrees_3(&s, str_cstr(&name)))
		return 0;
	r = py_code_check_same(code, &s.h);
	if (r)
		return r;
	text = str_take(&name);
	if (!text)
		return -ENOMEM;
	free(code->name);
	code->name = text;
	return 1;
}
