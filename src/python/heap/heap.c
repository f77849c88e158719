/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads scalars and strings of a live process; see heap.h. heap_dict.c reads dictionaries. */
#include "python/heap/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "python/heap/peek.h"
#include "python/heap/text.h"

#define GIL_HEAD 16 /* size of an object's header in a build with a GIL: ob_refcnt, ob_type */

bool heap_is_known(unsigned version)
{
	return py_heap_table(version);
}

void heap_init(struct heap *h, pid_t pid, const struct py_layout *l)
{
	uint16_t head = l->ob_type + sizeof(uint64_t), more = head - GIL_HEAD;
	const struct py_heap_row *row = py_heap_table(l->version);

	*h = (struct heap){.pid = pid, .l = l, .head = head, .budget = HEAP_BUDGET};
	if (!row)
		return;
	h->known = true;
	h->h = *row;
	h->h.ht_qualname += more;
	h->h.ht_cached_keys += more;
	h->h.func_code += more;
	h->h.func_dict += more;
	h->h.func_qualname += more;
}

struct heap_pages *heap_pages_new(void)
{
	struct heap_pages *pages = malloc(sizeof(*pages));

	if (pages)
		memset(pages->start, 0, sizeof(pages->start));
	return pages;
}

static bool spend(struct heap *h, size_t cost)
{
	if (h->budget < cost)
		return false;
	h->budget -= cost;
	return true;
}

/*
 * how many bytes of the budget reading a whole page takes: fewer than the page has, because reading
 * a page takes little more time than reading a few bytes
 */
#define PAGE_COST  512
#define SMALL_READ 1024
/*
 * Up to this many pieces are read page by page. More pieces would lie on too many pages, and are
 * read at once.
 */
#define FEW_READS 8

/* Returns the page at @start; NULL if it can't be read, with -errno in *@e. */
static const uint8_t *page_at(struct heap *h, uint64_t start, int *e)
{
	size_t i = start / HEAP_PAGE % HEAP_PAGES;

	*e = 0;
	if (h->pages->start[i] == start)
		return h->pages->bytes[i];
	h->pages->start[i] = 0;
	*e = spend(h, PAGE_COST) ? peek(h->pid, start, h->pages->bytes[i], HEAP_PAGE) : -E2BIG;
	if (*e)
		return NULL;
	h->pages->start[i] = start;
	return h->pages->bytes[i];
}

static int read_from_pages(struct heap *h, uint64_t addr, uint8_t *buf, size_t n)
{
	int e = 0;

	while (!e && n) {
		size_t in = addr % HEAP_PAGE, take = MIN(n, HEAP_PAGE - in);
		const uint8_t *page = page_at(h, addr - in, &e);

		if (page)
			memcpy(buf, page + in, take);
		addr += take;
		buf += take;
		n -= take;
	}
	return e;
}

int heap_read(struct heap *h, uint64_t addr, void *buf, size_t n)
{
	if (h->pages && n <= SMALL_READ && addr >= HEAP_PAGE)
		return spend(h, n) ? read_from_pages(h, addr, buf, n) : -E2BIG;
	if (!spend(h, n + HEAP_CALL_COST))
		return -E2BIG;
	return peek(h->pid, addr, buf, n);
}

uint64_t heap_ptr(struct heap *h, uint64_t addr)
{
	uint64_t value;

	return addr && !heap_read(h, addr, &value, sizeof(value)) ? value : 0;
}

/*
 * Reads up to 64 pieces with one call of process_vm_readv(), which stops at the first unreadable
 * piece and returns the bytes that it has read. Returns how many of the @n pieces are finished,
 * including the unreadable one.
 */
static size_t read_some(struct heap *h, const uint64_t *addr, size_t n, size_t bytes, uint8_t *buf)
{
	struct iovec from[64], to = {buf, 0};
	ssize_t got;

	n = MIN(n, ARRAY_SIZE(from));
	for (size_t i = 0; i < n; i++)
		from[i] = (struct iovec){(void *)(uintptr_t)addr[i], bytes};
	to.iov_len = n * bytes;
	if (!spend(h, n * bytes + HEAP_CALL_COST))
		return n;
	got = peek_pieces(h->pid, &to, from, n);
	if (got < 0)
		got = 0;
	if ((size_t)got == n * bytes)
		return n;
	/*
	 * process_vm_readv() may have copied a part of the unreadable piece; this part is cleared
	 */
	memset(buf + (size_t)got / bytes * bytes, 0, bytes);
	return (size_t)got / bytes + 1;
}

void heap_read_many(struct heap *h, const uint64_t *addr, size_t n, size_t bytes, uint8_t *buf)
{
	memset(buf, 0, n * bytes);
	if (h->pages && n <= FEW_READS) {
		for (size_t i = 0; i < n; i++)
			if (heap_read(h, addr[i], buf + i * bytes, bytes))
				memset(buf + i * bytes, 0, bytes);
		return;
	}
	for (size_t done = 0; done < n;)
		done += read_some(h, addr + done, n - done, bytes, buf + done * bytes);
}

/* What a str object has in all versions, in this order: length, cached hash, state. */
struct str_head {
	uint64_t len, hash, state;
};

int heap_str_head(struct heap *h, uint64_t addr, bool is_bytes, struct wire_text *ret,
		  uint64_t *data, uint64_t *hash)
{
	const struct py_layout *l = h->l;
	struct str_head head;
	uint32_t state;
	int r;

	r = addr ? heap_read(h, addr + l->str_length, &head, sizeof(head)) : -EFAULT;
	if (!r && head.len > UINT32_MAX)
		r = -EFAULT;
	if (r)
		return r;
	*ret = (struct wire_text){.addr = addr, .len = (uint32_t)head.len};
	*hash = head.hash;
	*data = addr + (is_bytes || l->str_state ? l->bytes_data : l->str_ascii);
	if (is_bytes || !l->str_state)
		return 0;
	state = (uint32_t)head.state >> l->str_kind_shift;
	ret->kind = state & 7;
	ret->ascii = state >> 4 & 1;
	*data = addr + (ret->ascii ? l->str_ascii : l->str_compact);
	/* the str isn't compact: it is of a subclass, or an old function of the C API made it */
	if (!(state >> 3 & 1))
		*data = heap_ptr(h, addr + l->str_compact);
	return 0;
}

/*
 * Is @obj a string? A flag of its type says so: Py_TPFLAGS_STRING_SUBCLASS (2.7) or
 * Py_TPFLAGS_UNICODE_SUBCLASS.
 */
static bool is_str(struct heap *h, uint64_t obj)
{
	uint64_t type = heap_ptr(h, obj + h->l->ob_type);

	return type && heap_type_field(h, type, TYPE_FLAGS) >> (h->l->str_state ? 28 : 27) & 1;
}

int heap_str(struct heap *h, uint64_t addr, struct str *out)
{
	return heap_str_begin(h, addr, ABI_NAME_BYTES, out);
}

int heap_str_begin(struct heap *h, uint64_t addr, size_t most, struct str *out)
{
	_cleanup_free_ uint8_t *raw = NULL;
	struct wire_text w;
	uint64_t data, hash;
	size_t n;
	int r;

	if (!addr || !is_str(h, addr))
		return -EINVAL;
	r = heap_str_head(h, addr, false, &w, &data, &hash);
	if (r)
		return r;
	n = MIN(text_raw_bytes(&w), (uint64_t)most);
	raw = malloc(n + 1);
	if (!raw)
		return -ENOMEM;
	r = heap_read(h, data, raw, n);
	return r ? r : text_to_utf8(&w, raw, n, out);
}

#define DIGIT_BITS 30 /* how many bits one digit of a Python int has on 64-bit machines */

/*
 * In 2.7 a PyInt has a C long, and a PyLong has ob_size as in 3.x. Since 3.12 lv_tag is the number
 * of digits << 3 | sign.
 */
bool heap_int(struct heap *h, uint64_t addr, uint64_t *ret)
{
	uint64_t type = addr ? heap_ptr(h, addr + h->l->ob_type) : 0, flags, n, value = 0;
	uint32_t digit[3] = {};

	if (!h->known)
		return false;
	flags = type ? heap_type_field(h, type, TYPE_FLAGS) : 0;
	/* the type has Py_TPFLAGS_INT_SUBCLASS, so the object is a PyInt of 2.7 */
	if (PY_HAS(h->l->can, PLAIN_INTS) && flags >> 23 & 1) {
		*ret = heap_ptr(h, addr + h->head);
		return true;
	}
	/* the type lacks Py_TPFLAGS_LONG_SUBCLASS, so the object isn't an int */
	if (!(flags >> 24 & 1))
		return false;
	n = heap_ptr(h, addr + h->head);
	if (PY_HAS(h->l->can, TAGGED_INTS))
		n = n & 2 ? 4 : n >> 3;
	if (n > ARRAY_SIZE(digit) ||
	    heap_read(h, addr + h->head + sizeof(uint64_t), digit, n * sizeof(*digit)))
		return false;
	for (size_t i = 0; i < n; i++)
		value |= (uint64_t)digit[i] << (i * DIGIT_BITS);
	*ret = value;
	return true;
}

static const struct heap_type *find_type(struct heap *h, uint64_t type)
{
	struct heap_type *t;

	for (size_t i = 0; i < ARRAY_SIZE(h->types); i++)
		if (h->types[i].addr == type)
			return &h->types[i];
	t = &h->types[h->next_type++ % ARRAY_SIZE(h->types)];
	t->addr = 0;
	if (heap_read(h, type + h->head + HEAP_TYPE_FIRST, t->bytes, sizeof(t->bytes)))
		return NULL;
	t->addr = type;
	return t;
}

uint64_t heap_type_field(struct heap *h, uint64_t type, enum heap_type_field field)
{
	const struct heap_type *t = type ? find_type(h, type) : NULL;
	uint64_t value = 0;

	if (t)
		memcpy(&value, t->bytes + field - HEAP_TYPE_FIRST, sizeof(value));
	return value;
}

bool heap_type_is(struct heap *h, uint64_t type, const char *name)
{
	uint64_t at = type ? heap_ptr(h, type + h->l->type_name) : 0;
	char text[32] = "";
	size_t n = strlen(name) + 1;

	return at && n <= sizeof(text) && !heap_read(h, at, text, n) && memcmp(text, name, n) == 0;
}
