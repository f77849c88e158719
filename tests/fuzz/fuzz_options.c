/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses any bytes as a command line of `krait record`, whose words end with NUL. The result is
 * either valid options for a recording, or a message that says what is wrong.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "cli/commands.h"
#include "cli/record/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef VEC(char *) words_vec;

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* An allocation of its exact size for each word, so that ASan notices a read past its end. */
static void split(const uint8_t *data, size_t n, words_vec *words)
{
	while (n) {
		size_t size = strnlen((const char *)data, n);
		char *word = strndup((const char *)data, size);

		check(word && !vec_push(words, word));
		size = MIN(size + 1, n);
		data += size;
		n -= size;
	}
	check(!vec_push(words, NULL));
}

/* Checks what a recording takes for granted about its options. */
static void check_options(const struct record_options *o)
{
	check(o->format && (o->session.freq_hz || o->session.count) &&
	      !(o->session.freq_hz && o->session.count));
	check(!o->session.memory ||
	      (o->session.memory >= 8u << 20 && o->session.memory <= 4ull << 30));
	check(!(o->session.cmd && o->session.pids.n));
	vec_foreach(pid, &o->session.pids)
		check(*pid > 0);
	vec_foreach(l, &o->session.labels)
		check(l->key_len > 0 && l->key_len <= strlen(l->key));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_(record_options_fini) struct record_options o;
	struct operands operands;
	words_vec words = {};
	int r;

	record_options_init(&o);
	/*
	 * Skips inputs with "{": for repetitions like x{N} in a regular expression, the C library
	 * takes endless memory.
	 */
	if (n && memchr(data, '{', n))
		return 0;
	split(data, n, &words);
	(void)err_set(0, "%s", "");
	r = options_parse(&command_record, (int)words.n - 1, words.v, &o, &operands);
	if (!r) {
		o.session.cmd = operands.cmd;
		r = record_options_check(&o);
		if (!r)
			check_options(&o);
	}
	check(r == 0 || r == OPTIONS_HELP_ASKED || r == -EINVAL);
	if (r == -EINVAL)
		check(err_msg()[0]);
	for (size_t i = 0; i < words.n; i++)
		free(words.v[i]);
	vec_fini(&words);
	return 0;
}
