/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the slots of types, as laid out in CPython's Include/cpython/object.h; see type_slots.h. */
#include "symbol/pytables/type_slots.h"

struct slot {
	uint16_t offset; /* offset of the slot in PyTypeObject */
	const char *name;
};

static const struct slot direct[] = {
	{48, "tp_dealloc"},	 {88, "tp_repr"},	 {120, "tp_hash"},
	{128, "tp_call"},	 {136, "tp_str"},	 {144, "tp_getattro"},
	{152, "tp_setattro"},	 {184, "tp_traverse"},	 {192, "tp_clear"},
	{200, "tp_richcompare"}, {216, "tp_iter"},	 {224, "tp_iternext"},
	{272, "tp_descr_get"},	 {280, "tp_descr_set"},	 {296, "tp_init"},
	{304, "tp_alloc"},	 {312, "tp_new"},	 {320, "tp_free"},
	{392, "tp_finalize"},	 {400, "tp_vectorcall"},
};

/*
 * The names of the functions in the structures to which a type points. NULL: the field isn't a
 * function.
 */
static const char *const async[] = {"am_await", "am_aiter", "am_anext", "am_send"};
static const char *const number[] = {
	"nb_add",
	"nb_subtract",
	"nb_multiply",
	"nb_remainder",
	"nb_divmod",
	"nb_power",
	"nb_negative",
	"nb_positive",
	"nb_absolute",
	"nb_bool",
	"nb_invert",
	"nb_lshift",
	"nb_rshift",
	"nb_and",
	"nb_xor",
	"nb_or",
	"nb_int",
	NULL,
	"nb_float",
	"nb_inplace_add",
	"nb_inplace_subtract",
	"nb_inplace_multiply",
	"nb_inplace_remainder",
	"nb_inplace_power",
	"nb_inplace_lshift",
	"nb_inplace_rshift",
	"nb_inplace_and",
	"nb_inplace_xor",
	"nb_inplace_or",
	"nb_floor_divide",
	"nb_true_divide",
	"nb_inplace_floor_divide",
	"nb_inplace_true_divide",
	"nb_index",
	"nb_matrix_multiply",
	"nb_inplace_matrix_multiply",
};
static const char *const sequence[] = {
	"sq_length",   "sq_concat", "sq_repeat",   "sq_item",		NULL,
	"sq_ass_item", NULL,	    "sq_contains", "sq_inplace_concat", "sq_inplace_repeat"};
static const char *const mapping[] = {"mp_length", "mp_subscript", "mp_ass_subscript"};
static const char *const buffer[] = {"bf_getbuffer", "bf_releasebuffer"};

#define LIST(offset, names)                                                                        \
	{                                                                                          \
		offset, names, ARRAY_SIZE(names)                                                   \
	}
static const struct {
	uint16_t offset;
	const char *const *names;
	size_t n;
} lists[] = {
	LIST(80, async),    LIST(96, number),  LIST(104, sequence),
	LIST(112, mapping), LIST(160, buffer),
};

/*
 * Checks that the head of a PyVarObject is at @at as PyVarObject_HEAD_INIT makes it, followed by a
 * name, sizes and a destructor. Not only types point to method tables: slots of a PyType_Spec also
 * do.
 */
bool type_check(const struct python_data *d, uint64_t at, uint64_t head, char name[static 80])
{
	uint64_t of_type = python_data_word(d, at + head + 8);
	uint64_t dealloc = python_data_word(d, at + head + 48);

	return (head || python_data_word(d, at)) && !python_data_word(d, at + head + 16) &&
	       !python_data_is_code(d, of_type) && (!of_type || of_type % 8 == 0) &&
	       python_data_word(d, at + head + 32) < 1 << 16 &&
	       python_data_word(d, at + head + 40) < 1 << 12 &&
	       (!dealloc || python_data_is_code(d, dealloc)) &&
	       python_data_word(d, at + head + 168) >> 32 == 0 &&
	       python_data_name(d, python_data_word(d, at + head + 24), true, name);
}

static int give(const struct python_data *d, uint64_t at, const struct python_type *t,
		const char *slot, type_slot_fn *fn, void *arg)
{
	uint64_t start = python_data_word(d, at);

	if (!python_data_is_code(d, start))
		return 0;
	return fn(arg, start, slot);
}

int type_slots(const struct python_data *d, const struct python_type *t, bool old, type_slot_fn *fn,
	       void *arg)
{
	uint64_t at = t->at + t->head;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(direct) && !r; i++) {
		/*
		 * a field that newer versions added is read only if the type's size shows that it
		 * has the field
		 */
		if (direct[i].offset < 336 || t->head + direct[i].offset + 8 <= t->size)
			r = give(d, at + direct[i].offset, t, direct[i].name, fn, arg);
	}
	/*
	 * Python 2 has other lists of slots: it has no list for async, and more fields in the other
	 * lists.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(lists) && !r && !old; i++) {
		uint64_t list = python_data_word(d, at + lists[i].offset);

		for (size_t j = 0; j < lists[i].n && list && !r; j++) {
			if (lists[i].names[j])
				r = give(d, list + j * 8, t, lists[i].names[j], fn, arg);
		}
	}
	return r;
}

/*
 * Reads a struct wrapperbase of typeobject.c's slotdefs, 56 bytes: "__add__", the slot's offset,
 * the function that is put into the slot, and the wrapper by which a method calls the slot.
 */
static int slot_definition(const struct python_data *d, uint64_t at, type_slot_fn *fn, void *arg)
{
	uint64_t offset = python_data_word(d, at + 8), function = python_data_word(d, at + 16);
	uint64_t wrapper = python_data_word(d, at + 24);
	char name[80], slot[96];
	int r = 0;

	if (!offset || offset > 2048 || !python_data_is_code(d, wrapper) ||
	    !python_data_name(d, python_data_word(d, at), false, name) || !str_starts(name, "__") ||
	    !str_ends(name, "__"))
		return 0;
	if (python_data_is_code(d, function)) {
		snprintf(slot, sizeof(slot), "slot_%s", name);
		r = fn(arg, function, slot);
	}
	snprintf(slot, sizeof(slot), "wrap_%s", name);
	return r ? r : fn(arg, wrapper, slot);
}

/*
 * Calls @fn for functions whose addresses are loaded by the code of @symbol, by `lea disp(%rip),
 * %reg`, or by `mov $imm32` in a program at a fixed address.
 */
static int taken_in(const struct python_data *d, const char *symbol, const char *name,
		    type_slot_fn *fn, void *arg)
{
	struct elf_symbol sym;
	uint8_t code[2048];
	size_t n;
	int r = 0;

	if (elf_file_machine(d->f) != ELF_X86_64 || !elf_file_symbol(d->f, symbol, &sym))
		return 0;
	n = elf_file_read(d->f, sym.value, code, MIN(sym.size, (uint64_t)sizeof(code)));
	for (size_t i = 0; i + 7 <= n && !r; i++) {
		bool lea = (code[i] & 0xfb) == 0x48 && code[i + 1] == 0x8d &&
			   (code[i + 2] & 0xc7) == 0x05;
		bool mov = (code[i] & 0xfb) == 0x48 && code[i + 1] == 0xc7 &&
			   (code[i + 2] & 0xf8) == 0xc0;
		bool mov32 = (code[i + 2] & 0xf8) == 0xb8;
		int32_t value;
		uint64_t start;

		memcpy(&value, code + i + 3, sizeof(value));
		start = lea ? sym.value + i + 7 + (int64_t)value : (uint64_t)(uint32_t)value;
		if ((lea || mov || mov32) && start % 16 == 0 && python_data_is_code(d, start))
			r = fn(arg, start, name);
	}
	return r;
}

int type_glue(const struct python_data *d, type_slot_fn *fn, void *arg)
{
	static const char *const takers[][2] = {
		{"PyCMethod_New", "cfunction_vectorcall"},
		{"PyCFunction_NewEx", "cfunction_vectorcall"},
		{"PyDescr_NewMethod", "method_vectorcall"},
		{"PyMethod_New", "method_vectorcall"},
		{"PyThread_start_new_thread", "pythread_wrapper"},
	};
	struct elf_symbol sym;
	int r = 0;

	if (!elf_file_symbol(d->f, "PyType_Ready", &sym))
		return 0;
	vec_foreach(piece, &d->pieces) {
		for (size_t i = 0; i + 7 <= piece->n && !r; i++)
			r = slot_definition(d, piece->vaddr + i * 8, fn, arg);
	}
	for (size_t i = 0; i < ARRAY_SIZE(takers) && !r; i++)
		r = taken_in(d, takers[i][0], takers[i][1], fn, arg);
	return r;
}

/*
 * Returns the target of the call or jump (e8, e9) at code[0], which has the address @at. 0: there
 * is neither, or the target isn't at a multiple of 16 inside @text.
 */
static uint64_t call_target(const struct elf_section *text, const uint8_t *code, uint64_t at)
{
	int32_t distance;
	uint64_t target;

	if (code[0] != 0xe8 && code[0] != 0xe9)
		return 0;
	memcpy(&distance, code + 1, sizeof(distance));
	target = at + 5 + (int64_t)distance;
	return target % 16 == 0 && target - text->vaddr < text->size ? target : 0;
}

int common_callees(const struct python_data *d, const char *symbol, uint64_t start,
		   const char *name, type_slot_fn *fn, void *arg)
{
	/*
	 * .one: the code of @symbol; .other: the code of the function at @start, whose size isn't
	 * known
	 */
	uint8_t one[1024], other[512];
	struct elf_section text;
	struct elf_symbol sym;
	size_t n, m;
	int r = 0;

	if (elf_file_machine(d->f) != ELF_X86_64 || !elf_file_symbol(d->f, symbol, &sym) ||
	    !elf_file_section(d->f, ".text", &text))
		return 0;
	n = elf_file_read(d->f, sym.value, one, MIN(sym.size, (uint64_t)sizeof(one)));
	m = elf_file_read(d->f, start, other, sizeof(other));
	for (size_t i = 0; i + 5 <= n && !r; i++) {
		uint64_t target = call_target(&text, one + i, sym.value + i);

		for (size_t j = 0; target && j + 5 <= m; j++) {
			if (call_target(&text, other + j, start + j) != target)
				continue;
			r = fn(arg, target, name);
			break;
		}
	}
	return r;
}
