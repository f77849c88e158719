/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the search table of .eh_frame_hdr (LSB 5.0 core, section 10.6.2); see function_starts.h. */
#include "elf/function_starts.h"

#include "elf/elf_sections.h"

/* the most functions of a file; python-build-standalone's 3.14 has 48,752 */
#define STARTS_MAX (1u << 20)

struct head {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};

/*
 * Does the table have the form that GNU ld, lld, mold and BOLT write? These linkers always use the
 * same encodings.
 */
static bool is_known(const struct head *h)
{
	enum { PCREL_SDATA4 = 0x1b, UDATA4 = 0x03, DATAREL_SDATA4 = 0x3b };

	return h->version == 1 && h->frame_encoding == PCREL_SDATA4 &&
	       h->count_encoding == UDATA4 && h->table_encoding == DATAREL_SDATA4;
}

/*
 * Turns entries of the table into addresses of functions. An entry has two words of four bytes,
 * relative to the header: a function's start and its FDE.
 */
static bool take_starts(struct function_starts *s, uint64_t base)
{
	for (size_t i = 0; i < s->vaddrs.n; i++) {
		s->vaddrs.v[i] = base + (uint64_t)(int32_t)(uint32_t)s->vaddrs.v[i];
		if (i && s->vaddrs.v[i] < s->vaddrs.v[i - 1])
			return false;
	}
	return true;
}

int function_starts_read(struct elf_file *f, struct function_starts *ret)
{
	struct head h;
	GElf_Phdr ph;
	uint64_t at;

	*ret = (struct function_starts){};
	if (!elf_eh_frame_hdr(f, &ph) || ph.p_filesz < sizeof(h) ||
	    elf_file_read(f, ph.p_vaddr, &h, sizeof(h)) != sizeof(h) || !is_known(&h) || !h.count ||
	    h.count > STARTS_MAX || h.count > (ph.p_filesz - sizeof(h)) / 8)
		return 0;
	at = ph.p_vaddr + sizeof(h);
	if (vec_reserve(&ret->vaddrs, h.count))
		return -ENOMEM;
	ret->vaddrs.n = h.count;
	if (elf_file_read(f, at, ret->vaddrs.v, h.count * 8ull) != h.count * 8ull ||
	    !take_starts(ret, ph.p_vaddr))
		ret->vaddrs.n = 0;
	return 0;
}

void function_starts_fini(struct function_starts *s)
{
	vec_fini(&s->vaddrs);
}

bool function_starts_has(const struct function_starts *s, uint64_t vaddr)
{
	size_t low = 0, high = s->vaddrs.n;

	if (!high || vaddr < s->vaddrs.v[0] || vaddr > s->vaddrs.v[high - 1])
		return false;
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (s->vaddrs.v[mid] <= vaddr)
			low = mid;
		else
			high = mid;
	}
	return s->vaddrs.v[low] == vaddr;
}
