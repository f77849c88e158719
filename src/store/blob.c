/* SPDX-License-Identifier: BSD-2-Clause */
/* Compresses what is stored, and adds and verifies a checksum; see blob.h. */
#include "store/blob.h"

#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/nomem.h"
#include "store/batch.h"

#define MAGIC 0x3142724bu /* "KrB1" */

/*
 * The head of a blob. Numbers are stored little-endian; so are all processors that krait is built
 * for.
 */
struct head {
	uint32_t magic, raw; /* .raw: bytes of the columns before compression */
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

int blob_pack(const struct blob_place *place, const void *data, size_t n, int level,
	      struct str *ret)
{
	struct head head = {.magic = MAGIC, .raw = (uint32_t)n, .place = *place};
	size_t most = ZSTD_compressBound(n), got;
	_cleanup_free_ void *packed = malloc(most);

	if (!packed)
		return err_nomem();
	got = ZSTD_compress(packed, most, data, n, level);
	if (ZSTD_isError(got))
		return err_set(-ENOMEM, "compressing: %s", ZSTD_getErrorName(got));
	head.check = check(&head, packed, got);
	str_add_n(ret, &head, sizeof(head));
	str_add_n(ret, packed, got);
	return ret->failed ? err_nomem() : 0;
}

static int read_head(const struct blob_place *place, const void *data, size_t n, struct head *ret)
{
	const uint8_t *bytes = data;

	if (n < sizeof(*ret))
		return err_set(-EBADMSG, "it is too short");
	memcpy(ret, bytes, sizeof(*ret));
	if (ret->magic != MAGIC || ret->raw > BATCH_MAX_BYTES)
		return err_set(-EBADMSG, "its first bytes are wrong");
	if (ret->check != check(ret, bytes + sizeof(*ret), n - sizeof(*ret)))
		return err_set(-EBADMSG, "its checksum is wrong");
	if (place && memcmp(&ret->place, place, sizeof(*place)))
		return err_set(-EBADMSG, "it belongs to another place");
	return 0;
}

int blob_unpack(const struct blob_place *place, const void *data, size_t n, struct str *ret)
{
	_cleanup_free_ void *raw = NULL;
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
		return err_set(-EBADMSG, "it can't be decompressed");
	str_add_n(ret, raw, got);
	return ret->failed ? err_nomem() : 0;
}
