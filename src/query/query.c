/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses and writes requests, and the first lines of answers; see query.h. */
#include "query/query.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/text/visible.h"

#define VERSION "krait 1 "

static const struct {
	const char *word;
	bool window;
} kinds[] = {
#define X(name, word, window) {word, window},
	QUERY_KINDS(X)
#undef X
};

void query_fini(struct query *q)
{
	vec_fini(&q->labels);
	free(q->text);
}

/* Returns the next line of *at, with a NUL at its end. NULL: there are no more lines. */
static char *next_line(char **at)
{
	char *line = *at, *end = line + strcspn(line, "\n");

	if (!*line)
		return NULL;
	*at = *end ? end + 1 : end;
	*end = '\0';
	return line;
}

static int parse_first(const char *line, struct query *q)
{
	if (!line || !str_starts(line, VERSION))
		return err_set(-EINVAL, "a request begins with `" VERSION "KIND`");
	line += strlen(VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (streq(line, kinds[i].word)) {
			q->kind = (enum query_kind)i;
			return 0;
		}
	return err_set(-EINVAL, "there is no such kind of request");
}

/*
 * Parses a number that consists of digits only, without sign or blanks. Refuses numbers that are
 * too large.
 */
static int parse_ms(const char *text, int64_t *ret)
{
	int64_t ms = 0;

	for (const char *c = text; *c; c++)
		if (*c < '0' || *c > '9' || __builtin_mul_overflow(ms, 10, &ms) ||
		    __builtin_add_overflow(ms, *c - '0', &ms))
			return err_set(-EINVAL, "a time is a number of milliseconds");
	*ret = ms;
	return *text ? 0 : err_set(-EINVAL, "a time is a number of milliseconds");
}

static int parse_label(const char *text, struct query *q)
{
	const char *value = strchr(text, '=');
	struct profile_label_text l;

	if (!value || value == text)
		return err_set(-EINVAL, "a label is KEY=VALUE");
	if (q->labels.n == QUERY_MAX_LABELS)
		return err_set(-EINVAL, "the request has more than %d labels", QUERY_MAX_LABELS);
	l = (struct profile_label_text){text, (size_t)(value - text), value + 1};
	return vec_push(&q->labels, l) ? err_nomem() : 0;
}

static int parse_line(const char *line, struct query *q)
{
	if (str_starts(line, "since "))
		return parse_ms(line + strlen("since "), &q->since_ms);
	if (str_starts(line, "until "))
		return parse_ms(line + strlen("until "), &q->until_ms);
	if (str_starts(line, "label "))
		return parse_label(line + strlen("label "), q);
	if (str_starts(line, "words ")) {
		q->words = line + strlen("words ");
		return 0;
	}
	if (streq(line, "outline")) {
		q->outline = true;
		return 0;
	}
	return err_set(-EINVAL, "the request has an unknown line");
}

int query_parse(const char *text, size_t n, struct query *ret)
{
	char *at, *line;
	int r;

	*ret = (struct query){};
	if (n > QUERY_MAX_BYTES)
		return err_set(-EINVAL, "a request has %d bytes at most", QUERY_MAX_BYTES);
	if (memchr(text, '\0', n))
		return err_set(-EINVAL, "a NUL is in the request");
	at = ret->text = strndup(text, n);
	if (!at)
		return err_nomem();
	r = parse_first(next_line(&at), ret);
	while (!r && (line = next_line(&at)) && *line)
		r = parse_line(line, ret);
	if (!r && *at)
		r = err_set(-EINVAL, "text follows the request's empty line");
	if (!r && kinds[ret->kind].window && ret->until_ms <= ret->since_ms)
		r = err_set(-EINVAL, "the window of time ends before it begins");
	return r;
}

int query_write(const struct query *q, struct str *ret)
{
	size_t before = ret->n;

	str_addf(ret, VERSION "%s\n", kinds[q->kind].word);
	if (kinds[q->kind].window)
		str_addf(ret, "since %lld\nuntil %lld\n", (long long)q->since_ms,
			 (long long)q->until_ms);
	vec_foreach(l, &q->labels) {
		if (memchr(l->key, '\n', l->key_len) || strchr(l->value, '\n'))
			return err_set(-EINVAL, "a label with a newline can't be asked for");
		str_add(ret, "label ");
		str_add_n(ret, l->key, l->key_len);
		str_addf(ret, "=%s\n", l->value);
	}
	if (q->words && strchr(q->words, '\n'))
		return err_set(-EINVAL, "a mark with a newline can't be sent");
	if (q->words)
		str_addf(ret, "words %s\n", q->words);
	str_add(ret, q->outline ? "outline\n\n" : "\n");
	if (ret->n - before > QUERY_MAX_BYTES)
		return err_set(-EINVAL, "the request is too long; ask for fewer labels");
	return ret->failed ? err_nomem() : 0;
}

int query_read_head(const char *line, size_t n, uint64_t *bytes)
{
	static const char ok[] = VERSION "ok ", refused[] = VERSION "refused ";
	_cleanup_free_ char *text = strndup(line, n);
	int64_t number;

	if (!text)
		return err_nomem();
	visible_in_place(text);
	if (str_starts(text, refused))
		return err_set(-EREMOTEIO, "%s", text + strlen(refused));
	if (!str_starts(text, ok) || parse_ms(text + strlen(ok), &number))
		return err_set(-EPROTO, "the server that answered isn't krait's agent, or is "
					"another version of it");
	*bytes = (uint64_t)number;
	return 0;
}
