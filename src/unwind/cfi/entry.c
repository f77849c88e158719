/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the entries of .eh_frame and .debug_frame: CIEs, which many functions share, and FDEs, one
 * for each function. Layouts: LSB 5.0 core, section 10.6; DWARF 5, section 6.4.1.
 */
#include "unwind/cfi/cfi.h"

/* the largest code alignment that a CIE may have; it is 1 on x86-64, 4 on aarch64 */
#define CODE_ALIGN_MAX 64

/*
 * Limits of CIEs. FDEs say where CIEs are, so CIEs of a hostile file may overlap: without limits,
 * each of a million CIEs could be as long as the section. Real CIEs have 20 to 60 bytes, and
 * linkers merge equal CIEs.
 */
#define CIE_MAX_BYTES 1024
#define CIES_MAX      (64u << 10)

static const char *read_augmentation(struct cfi_cie *cie, const char *letters, struct cfi_reader r)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->encoding = (uint8_t)cfi_fixed(&r, 1);
			break;
		case 'P':
			if (!cfi_skip_pointer(&r, (uint8_t)cfi_fixed(&r, 1)))
				return "the address of the personality routine has an unknown "
				       "encoding";
			break;
		case 'L':
			cfi_fixed(&r, 1);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* aarch64: 'B' says that return addresses are signed with key B */
		case 'G': /* aarch64: 'G' says that the stack has memory tags */
			break;
		default:
			return "unknown augmentation";
		}
	}
	return r.bad ? "the augmentation data are too short" : NULL;
}

static const char *read_alignment(struct cfi_cie *cie, struct cfi_reader *r)
{
	uint64_t code = cfi_uleb(r);
	int64_t data = cfi_sleb(r);

	if (!code || code > CODE_ALIGN_MAX || !data || data < INT8_MIN || data > INT8_MAX)
		return "absurd alignment factors";
	cie->code_align = (uint8_t)code;
	cie->data_align = (int8_t)data;
	return NULL;
}

static const char *read_cie(const struct cfi_section *s, struct cfi_reader r, struct cfi_cie *cie)
{
	uint64_t version = cfi_fixed(&r, 1), ra;
	const char *letters = (const char *)r.p, *broken;
	struct cfi_reader data = {};

	if (version != 1 && version != 3 && version != 4)
		return "unknown version of a CIE";
	while (cfi_fixed(&r, 1))
		;
	if (r.bad)
		return "CIE too short";
	/* the size of an address must be 8 bytes, that of a segment selector 0 */
	if (version == 4 && cfi_fixed(&r, 2) != 8)
		return "addresses don't have 64 bits";
	broken = read_alignment(cie, &r);
	if (broken)
		return broken;
	ra = version == 1 ? cfi_fixed(&r, 1) : cfi_uleb(&r);
	if (ra != s->arch->reg[CFI_RA])
		return "the return address column is unknown";
	if (*letters == 'z') {
		cie->sized = true;
		letters++;
		data = cfi_block(&r, cfi_uleb(&r));
	}
	broken = read_augmentation(cie, letters, data);
	if (!broken)
		broken = r.bad ? "CIE too short" : cfi_initial(s, cie, r);
	return broken;
}

/*
 * An entry of the section. .r reads what follows the entry's id. .id_at is the offset of the id in
 * the section.
 */
struct entry {
	struct cfi_reader r;
	size_t id_at;
	uint64_t id;
	bool is_cie;
};

static bool read_entry(const struct cfi_section *s, size_t at, struct entry *ret, size_t *next)
{
	struct cfi_reader r = {s->bytes + at, s->bytes + s->n};
	uint64_t length = cfi_fixed(&r, 4);
	bool wide = length == 0xffffffff;

	if (wide)
		length = cfi_fixed(&r, 8);
	ret->r = cfi_block(&r, length);
	if (r.bad)
		return false;
	*next = (size_t)(r.p - s->bytes);
	ret->id_at = (size_t)(ret->r.p - s->bytes);
	/* a length of 0 ends the entries of one object file; entries of other files may follow */
	if (!length) {
		ret->is_cie = true;
		return !s->to_end;
	}
	/* The CIE id has 4 bytes in .eh_frame, even if the entry's length has 8. */
	wide = wide && s->debug;
	ret->id = cfi_fixed(&ret->r, wide ? 8 : 4);
	ret->is_cie = ret->id == (!s->debug ? 0 : wide ? ~0ull : 0xffffffff);
	return true;
}

static int add_cie(struct cfi_entries *e, size_t at)
{
	struct cfi_cie cie = {};
	struct entry entry;
	size_t next;
	int r;

	if (!read_entry(e->section, at, &entry, &next) || !entry.is_cie || next - at < 8)
		cie.broken = "there is no CIE where an FDE refers to one";
	else if (next - at > CIE_MAX_BYTES)
		cie.broken = "absurdly long CIE";
	else
		cie.broken = read_cie(e->section, entry.r, &cie);
	r = map_put(&e->by_at, at, e->cies.n);
	return r ? r : vec_push(&e->cies, cie);
}

/*
 * Gets the index of the CIE at offset @at of the section. Reads the CIE when it is needed for the
 * first time.
 */
static int find_cie(struct cfi_entries *e, size_t at, uint32_t *ret)
{
	uint64_t *known;
	int r;

	if (e->cies.n && at == e->last_at) {
		*ret = e->last;
		return 0;
	}
	known = map_get(&e->by_at, at);
	*ret = known ? (uint32_t)*known : (uint32_t)e->cies.n;
	r = known ? 0 : add_cie(e, at);
	if (r)
		return r;
	e->last_at = at;
	e->last = *ret;
	return 0;
}

static const char *read_fde(const struct cfi_section *s, const struct cfi_cie *cie,
			    struct cfi_reader r, struct cfi_fde *ret)
{
	uint64_t n;

	if (cie->broken)
		return cie->broken;
	if (!cfi_pointer(s, &r, cie->encoding, &ret->start) || !cfi_value(&r, cie->encoding, &n))
		return "an address has an unknown encoding";
	if (!n || ret->start + n < ret->start)
		return "empty address range";
	ret->end = ret->start + n;
	if (cie->sized)
		cfi_block(&r, cfi_uleb(&r));
	if (r.bad)
		return "FDE too short";
	ret->program = (uint32_t)(r.p - s->bytes);
	ret->program_n = (uint32_t)(r.end - r.p);
	return NULL;
}

void cfi_entries_init(struct cfi_entries *e, const struct cfi_section *section)
{
	*e = (struct cfi_entries){.section = section};
	map_init(&e->by_at);
}

void cfi_entries_fini(struct cfi_entries *e)
{
	map_fini(&e->by_at);
	vec_fini(&e->cies);
}

int cfi_next_fde(struct cfi_entries *e, struct cfi_fde *ret, const char **broken)
{
	const struct cfi_section *s = e->section;

	while (e->at < s->n) {
		struct entry entry;
		size_t at = e->at;
		int r;

		*ret = (struct cfi_fde){};
		*broken = NULL;
		if (!read_entry(s, at, &entry, &e->at)) {
			e->at = s->n;
			if (s->to_end || s->n - at < 4)
				return 0;
			*broken = "an entry is longer than the section";
			return 1;
		}
		if (entry.is_cie)
			continue;
		if (entry.id > (s->debug ? s->n : entry.id_at)) {
			*broken = "there is no CIE where an FDE refers to one";
			return 1;
		}
		if (e->cies.n == CIES_MAX) {
			*broken = "too many CIEs";
			return 1;
		}
		r = find_cie(e, s->debug ? entry.id : entry.id_at - entry.id, &ret->cie);
		if (r)
			return r;
		*broken = read_fde(s, &e->cies.v[ret->cie], entry.r, ret);
		return 1;
	}
	return 0;
}
