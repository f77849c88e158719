/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies those of the kernel's types that programs use; see kernel_types.h. */
#include "sampler/kernel_types.h"

#include <bpf/btf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"

struct part {
	const uint8_t *bytes;
	uint32_t size;
};

/* The beginning of a .BTF.ext section. The offsets in it count from the header's end. */
struct ext_head {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t head_bytes, func_at, func_bytes, line_at, line_bytes, relo_at, relo_bytes;
};

/* The head of the relocations for one section of the object file. */
struct ext_section {
	uint32_t name, n;
};

/* The types of .all that are copied to .some. */
struct picked {
	struct btf *all, *some;
	/* by the id of a type in .all: the type's id in .some; 0: the type wasn't copied */
	uint32_t *ids;
	/* hashes of the names of the types that the programs' relocations name */
	struct map wanted;
};

static struct part section(const uint8_t *elf, const char *name)
{
	Elf64_Ehdr head;
	Elf64_Shdr names, s;

	memcpy(&head, elf, sizeof(head));
	memcpy(&names, elf + head.e_shoff + head.e_shstrndx * sizeof(names), sizeof(names));
	for (unsigned i = 0; i < head.e_shnum; i++) {
		memcpy(&s, elf + head.e_shoff + i * sizeof(s), sizeof(s));
		if (streq((const char *)elf + names.sh_offset + s.sh_name, name))
			return (struct part){elf + s.sh_offset, (uint32_t)s.sh_size};
	}
	return (struct part){};
}

/*
 * Returns a hash of @name without its flavour (the part from ___ on; bpf/kernel.h), which libbpf
 * also ignores. If two names have the same hash, a type is copied that isn't needed, which does no
 * harm.
 */
static uint64_t name_hash(const char *name)
{
	const char *flavour = strstr(name, "___");

	return XXH3_64bits(name, flavour ? (size_t)(flavour - name) : strlen(name));
}

static const char *name_of(const struct btf *btf, const struct btf_type *t)
{
	return btf__name_by_offset(btf, t->name_off);
}

enum { MAY_LACK, MUST_HAVE, HAS };

/*
 * Adds type @id of the programs to the wanted types. (Structs that the kernel has only in a module,
 * such as struct unix_sock, are looked up there by libbpf.)
 */
static int want(struct picked *p, const struct btf *own, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(own, id);

	if (!t)
		return -EINVAL;
	return map_put(&p->wanted, name_hash(name_of(own, t)),
		       btf_is_composite(t) ? MUST_HAVE : MAY_LACK);
}

/* Adds to the wanted types all types to which relocations of the object file refer. */
static int want_all(struct picked *p, const struct btf *own, struct part ext)
{
	struct ext_head head;
	struct ext_section s;
	uint32_t each, id, at;
	int r = 0;

	memcpy(&head, ext.bytes, sizeof(head));
	at = head.head_bytes + head.relo_at;
	memcpy(&each, ext.bytes + at, sizeof(each));
	for (uint32_t end = at + head.relo_bytes, i = at + sizeof(each); !r && i < end;) {
		memcpy(&s, ext.bytes + i, sizeof(s));
		i += sizeof(s);
		for (; !r && s.n; s.n--, i += each) {
			memcpy(&id, ext.bytes + i + offsetof(struct bpf_core_relo, type_id),
			       sizeof(id));
			r = want(p, own, id);
		}
	}
	return r;
}

/* Copies a type, unless it was copied before. Returns the copy's id or -errno. */
static int pick(struct picked *p, uint32_t id)
{
	int r;

	if (!id || p->ids[id])
		return (int)p->ids[id];
	r = btf__add_type(p->some, p->all, btf__type_by_id(p->all, id));
	if (r > 0)
		p->ids[id] = (uint32_t)r;
	return r;
}

/* Is @t a kind of type to which programs can refer by name? */
static bool is_nameable(const struct btf_type *t)
{
	return btf_is_composite(t) || btf_is_typedef(t) || btf_is_any_enum(t);
}

/* Copies the kernel's types that have the wanted names. */
static int pick_wanted(struct picked *p)
{
	for (uint32_t id = 1; id < btf__type_cnt(p->all); id++) {
		const struct btf_type *t = btf__type_by_id(p->all, id);
		uint64_t *found;
		int r;

		if (!t->name_off || !is_nameable(t))
			continue;
		found = map_get(&p->wanted, name_hash(name_of(p->all, t)));
		if (!found)
			continue;
		*found = HAS;
		r = pick(p, id);
		if (r < 0)
			return r;
	}
	map_foreach(slot, &p->wanted)
		if (slot->value == MUST_HAVE)
			return -ENOENT;
	return 0;
}

/*
 * Returns the @i-th reference to another type in the copied type @id; NULL: the type has fewer
 * references.
 */
static uint32_t *reference(const struct picked *p, uint32_t id, uint32_t i)
{
	struct btf_type *t = (struct btf_type *)btf__type_by_id(p->some, id);

	if (btf_is_composite(t))
		return i < btf_vlen(t) ? &btf_members(t)[i].type : NULL;
	if (btf_is_array(t))
		return i == 0 ? &btf_array(t)->type : i == 1 ? &btf_array(t)->index_type : NULL;
	return i == 0 && (btf_is_mod(t) || btf_is_typedef(t) || btf_is_ptr(t)) ? &t->type : NULL;
}

/*
 * Copies the types of which the copied types are made. Types that are only pointed to are left out,
 * because a relocation needs only a struct and its members.
 */
static int pick_parts(struct picked *p)
{
	for (uint32_t id = 1; id < btf__type_cnt(p->some); id++) {
		bool is_pointer = btf_is_ptr(btf__type_by_id(p->some, id));
		const uint32_t *old;

		for (uint32_t i = 0; (old = reference(p, id, i)); i++) {
			int r = is_pointer ? 0 : pick(p, *old);

			if (r < 0)
				return r;
			/* the pointer is taken anew, because the copied types may have moved */
			*reference(p, id, i) = (uint32_t)r;
		}
	}
	return 0;
}

static int pick_types(struct picked *p, const void *elf)
{
	struct part types = section(elf, BTF_ELF_SEC), ext = section(elf, BTF_EXT_ELF_SEC);
	struct btf *own = types.bytes ? btf__new(types.bytes, types.size) : NULL;
	int r = own && ext.bytes ? want_all(p, own, ext) : -EINVAL;

	btf__free(own);
	r = r ? r : pick_wanted(p);
	return r ? r : pick_parts(p);
}

/* Writes the copied types to a new file in memory. Returns its descriptor, or -1. */
static int write_types(const struct picked *p)
{
	_cleanup_close_ int fd = memfd_create("types", MFD_CLOEXEC);
	uint32_t n;
	const void *data = btf__raw_data(p->some, &n);

	return data && fd >= 0 && write(fd, data, n) == (ssize_t)n ? TAKE_FD(fd) : -1;
}

const char *kernel_types_open(struct kernel_types *k, const void *elf)
{
	struct picked p = {.all = btf__load_vmlinux_btf(), .some = btf__new_empty()};

	k->fd = -1;
	map_init(&p.wanted);
	if (p.all && p.some)
		p.ids = calloc(btf__type_cnt(p.all), sizeof(*p.ids));
	if (p.ids && !pick_types(&p, elf))
		k->fd = write_types(&p);
	map_fini(&p.wanted);
	free(p.ids);
	btf__free(p.all);
	btf__free(p.some);
	snprintf(k->path, sizeof(k->path), "/proc/self/fd/%d", k->fd);
	return k->fd < 0 || access(k->path, R_OK) ? NULL : k->path;
}

void kernel_types_close(struct kernel_types *k)
{
	if (k->fd >= 0)
		close(k->fd);
}
