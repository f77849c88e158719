/* SPDX-License-Identifier: BSD-2-Clause */
/* Compresses what is stored, and adds and verifies a checksum; see blob.h. */
#include "store/blob.h"

#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/nomem.h"
#include "store/columns.h"

#define MAGIC 0x3142724bu /* "KrB1" */
/* the level of zstd: higher levels take longer, and save less than a percent */
#define LEVEL	    1
#define LONG_COLUMN 256 /* bytes */
/* by how many bytes a part that is compressed by itself may grow at most */
#define PART_BYTES 32

/*
 * The head of a blob. Numbers are stored little-endian; so are all processors that krait is built
 * for.
 */
struct head {
	uint32_t magic, raw; /* .raw: how many bytes the columns have before compression */
	struct blob_place place;
	/* XXH3 hash of the head's members above and of the compressed bytes behind the head */
	uint64_t check;
};
_Static_assert(sizeof(struct head) == 48, "no padding");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are stored little-endian");

static uint64_t check(const struct head *head, const void *data, size_t n)
{
	uint64_t seed = XXH3_64bits(head, offsetof(struct head, check));

	return XXH3_64bits_withSeed(data, n, seed);
}

struct packing {
	ZSTD_CCtx *c;
	const uint8_t *from, *end; /* the bytes that are still to be compressed */
	ZSTD_outBuffer out;
};

static void packing_fini(struct packing *p)
{
	ZSTD_freeCCtx(p->c);
	free(p->out.dst);
}

/*
 * Compresses the bytes up to @to. @directive ends zstd's block there, because among the bytes that
 * follow other values are frequent.
 */
static bool pack_upto(struct packing *p, const uint8_t *to, ZSTD_EndDirective directive)
{
	ZSTD_inBuffer in = {p->from, (size_t)(to - p->from), 0};
	size_t left = in.size || directive == ZSTD_e_end;

	while (left && !ZSTD_isError(left) && p->out.pos < p->out.size)
		left = ZSTD_compressStream2(p->c, &p->out, &in, directive);
	p->from = to;
	return !left;
}

/*
 * Reads the number of columns, or the length of one column. A result that is larger than the rest
 * of the data is lowered to the size of the rest.
 */
static size_t get_length(struct column_cursor *c)
{
	uint64_t v = 0;

	(void)column_get(c, &v);
	return MIN(v, (uint64_t)(c->end - c->at));
}

static bool pack_columns(struct packing *p)
{
	struct column_cursor lengths = {p->from, p->end}, columns;
	size_t n = get_length(&lengths);
	bool ok = true;

	columns = lengths;
	for (size_t i = 0; i < n; i++)
		(void)get_length(&columns);
	for (size_t i = 0; ok && i < n; i++) {
		size_t length = MIN(get_length(&lengths), (size_t)(columns.end - columns.at));

		if (length >= LONG_COLUMN)
			ok = pack_upto(p, columns.at, ZSTD_e_flush) &&
			     pack_upto(p, columns.at + length, ZSTD_e_flush);
		columns.at += length;
	}
	return ok && pack_upto(p, p->end, ZSTD_e_end);
}

int blob_pack(const struct blob_place *place, const void *data, size_t n, enum blob_way way,
	      struct str *ret)
{
	struct head head = {.magic = MAGIC, .raw = (uint32_t)n, .place = *place};
	_cleanup_(packing_fini) struct packing p = {
		.c = ZSTD_createCCtx(), .from = data, .end = (const uint8_t *)data + n};

	p.out.size = ZSTD_compressBound(n) + (way == BLOB_SMALL ? n / LONG_COLUMN * PART_BYTES : 0);
	p.out.dst = malloc(p.out.size);
	if (!p.c || !p.out.dst)
		return err_nomem();
	(void)ZSTD_CCtx_setParameter(p.c, ZSTD_c_compressionLevel, LEVEL);
	(void)ZSTD_CCtx_setPledgedSrcSize(p.c, n);
	if (!(way == BLOB_SMALL ? pack_columns(&p) : pack_upto(&p, p.end, ZSTD_e_end)))
		return err_set(-ENOMEM, "out of memory for compression");
	head.check = check(&head, p.out.dst, p.out.pos);
	str_add_n(ret, &head, sizeof(head));
	str_add_n(ret, p.out.dst, p.out.pos);
	return ret->failed ? err_nomem() : 0;
}

static int read_head(const struct blob_place *place, const void *data, size_t n, struct head *ret)
{
	const uint8_t *bytes = data;

	if (n < sizeof(*ret))
		return err_set(-EBADMSG, "the data is too short");
	memcpy(ret, bytes, sizeof(*ret));
	if (ret->magic != MAGIC || ret->raw > BATCH_MAX_BYTES)
		return err_set(-EBADMSG, "the data begins with wrong bytes");
	if (ret->check != check(ret, bytes + sizeof(*ret), n - sizeof(*ret)))
		return err_set(-EBADMSG, "the checksum is wrong");
	if (place && memcmp(&ret->place, place, sizeof(*place)))
		return err_set(-EBADMSG, "the data belongs to another row of the store");
	return 0;
}

int blob_unpack(const struct blob_place *place, const void *data, size_t n, struct str *ret)
{
	_cleanup_free_ char *raw = NULL;
	struct head head;
	size_t got;
	int r = read_head(place, data, n, &head);

	if (r)
		return r;
	raw = malloc(head.raw + 1);
	if (!raw)
		return err_nomem();
	got = ZSTD_decompress(raw, head.raw, (const uint8_t *)data + sizeof(head),
			      n - sizeof(head));
	if (got != head.raw)
		return err_set(-EBADMSG, "the data can't be decompressed");
	raw[got] = '\0';
	*ret = (struct str){.s = TAKE_PTR(raw), .n = got, .cap = got + 1};
	return 0;
}
