/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the layout that krait has for a version against the interpreter itself. PyCode_Type
 * describes its own fields: tp_members has their names and offsets, in the initialised data of
 * every version. tp_members has them also in builds whose objects begin with two more pointers
 * (Py_TRACE_REFS), and in versions to come.
 */
#include "python/find/image_internal.h"

#define MEMBERS_MAX 64 /* how many members of a type are read at most; PyCode_Type has about 20 */
/* size of struct PyMemberDef {char *name; int type; Py_ssize_t offset; int flags; char *doc} */
#define MEMBER_SIZE 40

/* Offsets of fields in PyTypeObject, counted from tp_name; they are the same since 2.7. */
#define TYPE_BASICSIZE 8
#define TYPE_MEMBERS   216

static bool is_string(struct image_ctx *c, uint64_t vaddr, const char *s)
{
	char buf[32];
	size_t n = strlen(s) + 1;

	return n <= sizeof(buf) && elf_file_read(c->elf, vaddr, buf, n) == n && !memcmp(buf, s, n);
}

/* Tells whether the type whose tp_name is at @tp_name is called "code". */
static bool is_code_type(struct image_ctx *c, uint64_t tp_name)
{
	uint64_t name;

	return elf_file_pointer(c->elf, tp_name, &name) && is_string(c, name, "code");
}

/*
 * Returns the offset that krait's layout has for the member @name; -1: the layout lacks that
 * member.
 */
static int expected_offset(struct image_ctx *c, uint64_t name)
{
	const struct py_layout *l = &c->image->layout;
	const struct {
		const char *name;
		uint16_t offset;
	} fields[] = {
		{"co_argcount", l->code_argcount},
		{"co_flags", l->code_flags},
		{"co_firstlineno", l->code_firstlineno},
		{"co_filename", l->code_filename},
		{"co_name", l->code_name},
		{"co_qualname", l->code_qualname},
		{"co_linetable", l->code_linetable},
		{"co_lnotab", PY_HAS(l->can, LNOTAB) ? l->code_linetable : 0},
		{"co_varnames", PY_HAS(l->can, FRAME_A_LOOP) ? l->code_varnames : 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].offset && is_string(c, name, fields[i].name))
			return fields[i].offset;
	}
	return -1;
}

/*
 * Compares the offsets of the members that krait reads with those in the layout. False: a member
 * has another offset in the interpreter than in the layout. Adds the number of members with the
 * same offset to *agree.
 */
static bool members_agree(struct image_ctx *c, uint64_t members, unsigned *agree)
{
	uint64_t name, offset;

	for (int i = 0; i < MEMBERS_MAX; i++, members += MEMBER_SIZE) {
		int want;

		if (!elf_file_pointer(c->elf, members, &name) || !name)
			return true;
		want = expected_offset(c, name);
		if (want < 0)
			continue;
		if (!elf_file_read_u64(c->elf, members + 16, &offset) || offset != (uint64_t)want)
			return false;
		++*agree;
	}
	return true;
}

void image_check(struct image_ctx *c)
{
	struct py_layout *l = &c->image->layout;
	uint64_t type = c->image->code_type, members, basicsize = 0;
	unsigned agree = 0;

	if (!is_code_type(c, type + l->type_name) && is_code_type(c, type + l->type_name + 16) &&
	    PY_HAS(l->can, TRACE_REFS))
		py_layout_trace_refs(l);
	if (!is_code_type(c, type + l->type_name)) {
		image_unsupported(
			c->image,
			"CPython %u.%u whose objects have a header that krait doesn't know",
			l->version >> 8, l->version & 0xff);
		return;
	}
	type += l->type_name;
	/*
	 * since 3.11 tp_basicsize is the size of the fixed part, without the instructions after it
	 */
	elf_file_read_u64(c->elf, type + TYPE_BASICSIZE, &basicsize);
	if (!elf_file_pointer(c->elf, type + TYPE_MEMBERS, &members) ||
	    !members_agree(c, members, &agree) || agree < 4 ||
	    (l->code_adaptive && basicsize != l->code_adaptive))
		image_unsupported(c->image,
				  "CPython %u.%u with code objects that krait doesn't know",
				  l->version >> 8, l->version & 0xff);
}

/*
 * Searches [@vaddr, @vaddr + @n) for a type object named "code" whose tp_basicsize agrees with the
 * layout. 0: there is no such type object.
 */
static uint64_t scan_types(struct image_ctx *c, uint64_t vaddr, const uint8_t *bytes, size_t n)
{
	uint64_t size;

	for (size_t i = 0; i + sizeof(size) <= n; i += sizeof(size)) {
		memcpy(&size, bytes + i, sizeof(size));
		if (size == c->image->layout.code_adaptive &&
		    is_code_type(c, vaddr + i - TYPE_BASICSIZE))
			return vaddr + i - TYPE_BASICSIZE - c->image->layout.type_name;
	}
	return 0;
}

uint64_t image_find_code_type(struct image_ctx *c)
{
	uint64_t found = 0;
	struct image_scan s;

	if (!c->image->layout.code_adaptive)
		return 0;
	image_scan_init(&s, c->elf);
	while (!found && image_scan_next(&s))
		found = scan_types(c, s.vaddr, s.bytes, s.n);
	return found;
}
