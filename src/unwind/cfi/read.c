/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads numbers and addresses in the encodings that call frame information uses: LSB 5.0 core,
 * section 10.5.
 */
#include "unwind/cfi/cfi.h"

/*
 * DW_EH_PE_*: the low four bits say how an address is written, the others what the address is
 * relative to.
 */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_ALIGNED = 0x50,
	PE_OMIT = 0xff,
};

uint64_t cfi_fixed(struct cfi_reader *r, size_t bytes)
{
	uint64_t v = 0;

	if ((size_t)(r->end - r->p) < bytes) {
		r->bad = true;
		r->p = r->end;
		return 0;
	}
	memcpy(&v, r->p, bytes);
	r->p += bytes;
	return v;
}

uint64_t cfi_uleb_slow(struct cfi_reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; r->p < r->end; shift += 7) {
		uint8_t b = *r->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	r->bad = true;
	return 0;
}

int64_t cfi_sleb(struct cfi_reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; r->p < r->end;) {
		uint8_t b = *r->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (b & 0x80)
			continue;
		if (shift < 64 && (b & 0x40))
			v |= ~0ull << shift;
		return (int64_t)v;
	}
	r->bad = true;
	return 0;
}

struct cfi_reader cfi_block(struct cfi_reader *r, uint64_t n)
{
	struct cfi_reader block = {r->p, r->p};

	if ((uint64_t)(r->end - r->p) < n) {
		r->bad = true;
		r->p = r->end;
		return block;
	}
	block.end = r->p += n;
	return block;
}

bool cfi_value(struct cfi_reader *r, uint8_t enc, uint64_t *ret)
{
	switch (enc & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		*ret = cfi_fixed(r, 8);
		break;
	case PE_UDATA4:
		*ret = cfi_fixed(r, 4);
		break;
	case PE_SDATA4:
		*ret = (uint64_t)(int64_t)(int32_t)cfi_fixed(r, 4);
		break;
	case PE_UDATA2:
		*ret = cfi_fixed(r, 2);
		break;
	case PE_SDATA2:
		*ret = (uint64_t)(int64_t)(int16_t)cfi_fixed(r, 2);
		break;
	case PE_ULEB128:
		*ret = cfi_uleb(r);
		break;
	case PE_SLEB128:
		*ret = (uint64_t)cfi_sleb(r);
		break;
	default:
		return false;
	}
	return !r->bad;
}

bool cfi_pointer(const struct cfi_section *section, struct cfi_reader *r, uint8_t enc,
		 uint64_t *ret)
{
	uint64_t here = section->vaddr + (uint64_t)(r->p - section->bytes);

	if ((enc & 0xf0) != PE_ABSPTR && (enc & 0xf0) != PE_PCREL)
		/*
		 * krait doesn't support indirect addresses, nor addresses relative to anything but
		 * their own place
		 */
		return false;
	if (!cfi_value(r, enc, ret))
		return false;
	if (enc & PE_PCREL)
		*ret += here;
	return true;
}

bool cfi_skip_pointer(struct cfi_reader *r, uint8_t enc)
{
	uint64_t v;

	return enc == PE_OMIT || ((enc & 0x70) != PE_ALIGNED && cfi_value(r, enc, &v));
}
