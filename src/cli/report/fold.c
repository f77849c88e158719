/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups threads and processes by name. A server that starts a thread for each request may have
 * hundreds of threads with a percent or less each, whose names differ only in a number. These
 * threads become one row, whose name has N in place of the numbers that differ.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/report/report.h"

/* the first numbers of names are compared, up to this many; further numbers count as different */
#define MOST_NUMBERS 32

struct fold {
	const char *text; /* name of the group's first member, without its id; borrowed */
	size_t text_n;
	char *key;
	/* which numbers of .text aren't the same for all members; bit 0 is the first number */
	uint32_t differ;
	struct report_share share;
};

/*
 * Returns the length of a name without the id at its end: of "Thread-3 (work) (tid 12)" the length
 * of "Thread-3 (work)". A thread without a name is only "tid 12".
 */
static size_t without_id(const char *text, const char *id)
{
	size_t n = strlen(text), at = n;

	if (!n || text[n - 1] != ')')
		return n;
	while (at && text[at - 1] != '(')
		at--;
	return at >= 2 && text[at - 2] == ' ' && str_starts(text + at, id) ? at - 2 : n;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Appends @text with N in place of its numbers. If @differ isn't NULL, replaces only those numbers
 * whose bits are set in *@differ.
 */
static void add_folded(struct str *b, const char *text, size_t n, const uint32_t *differ)
{
	unsigned number = 0;

	for (size_t i = 0; i < n;) {
		size_t end = i;

		while (end < n && is_digit(text[end]))
			end++;
		if (end == i) {
			str_add_c(b, text[i++]);
			continue;
		}
		if (!differ || number >= MOST_NUMBERS || *differ & 1u << number)
			str_add_c(b, 'N');
		else
			str_add_n(b, text + i, end - i);
		number++;
		i = end;
	}
}

/*
 * Compares two names that are the same but for their numbers. Returns, as bits, which numbers
 * differ.
 */
static uint32_t compare_numbers(const char *a, const char *b)
{
	uint32_t differ = 0;

	for (unsigned number = 0; *a && *b && number < MOST_NUMBERS;) {
		size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");

		if (n) {
			if (n != m || memcmp(a, b, n))
				differ |= 1u << number;
			number++;
		}
		a += n ? n : 1;
		b += m ? m : 1;
	}
	return differ;
}

static int compare_keys(const void *va, const void *vb)
{
	const struct fold *a = va, *b = vb;

	return strcmp(a->key, b->key);
}

static int compare_values(const void *va, const void *vb)
{
	const struct report_share *a = va, *b = vb;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return strcmp(a->name, b->name);
}

/*
 * Names a group of several members: their common name, with N in place of the numbers that differ.
 */
static int name_group(struct fold *f)
{
	_cleanup_str_ struct str b = {};

	if (f->share.n < 2)
		return 0;
	add_folded(&b, f->text, f->text_n, &f->differ);
	free(f->share.name);
	f->share.name = str_take(&b);
	return f->share.name ? 0 : -ENOMEM;
}

static void join(struct fold *to, struct fold *f)
{
	if (__builtin_add_overflow(to->share.value, f->share.value, &to->share.value))
		to->share.value = to->share.value < 0 ? INT64_MIN : INT64_MAX;
	to->share.n += f->share.n;
	to->differ |= compare_numbers(to->text, f->text);
}

typedef VEC(struct fold) folds;

static int add_folds(const report_shares *s, const char *id, folds *ret)
{
	vec_foreach(one, s) {
		_cleanup_str_ struct str key = {};
		struct fold f = {.text = one->name, .text_n = without_id(one->name, id)};

		f.share = (struct report_share){.value = one->value, .n = 1};
		add_folded(&key, f.text, f.text_n, NULL);
		f.share.name = strdup(one->name);
		f.key = str_take(&key);
		if (!f.key || !f.share.name || vec_push(ret, f)) {
			free(f.key);
			free(f.share.name);
			return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Joins the entries of each group into one, and appends it to @ret. The entries of a group follow
 * each other in @all.
 */
static int take_groups(folds *all, report_shares *ret)
{
	size_t first = 0;
	int r = 0;

	for (size_t i = 1; i < all->n; i++)
		if (streq(all->v[i].key, all->v[first].key))
			join(&all->v[first], &all->v[i]);
		else
			first = i;
	for (size_t i = 0; !r && i < all->n; i++) {
		if (i && streq(all->v[i].key, all->v[i - 1].key))
			continue;
		r = name_group(&all->v[i]);
		r = r ? r : vec_push(ret, all->v[i].share);
		if (!r)
			all->v[i].share.name = NULL;
	}
	return r;
}

int report_shares_fold(report_shares *s, const char *by)
{
	report_shares folded = {};
	folds all = {};
	int r = add_folds(s, streq(by, "process") ? "pid " : "tid ", &all);

	if (!r && all.n)
		qsort(all.v, all.n, sizeof(*all.v), compare_keys);
	r = r ? r : take_groups(&all, &folded);
	vec_foreach(f, &all) {
		free(f->key);
		free(f->share.name);
	}
	vec_fini(&all);
	if (r) {
		report_shares_fini(&folded);
		return err_set(-ENOMEM, "out of memory");
	}
	report_shares_fini(s);
	*s = folded;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), compare_values);
	return 0;
}
