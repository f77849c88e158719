/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds thread names that differ only in numbers; see fold.h. */
#include "view/waits/fold.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

void fold_name(const char *name, struct str *b)
{
	for (; *name; name++) {
		if (!isdigit((unsigned char)*name))
			str_add_c(b, *name);
		else if (!isdigit((unsigned char)name[1]))
			str_add_c(b, 'N');
	}
}

void fold_names_init(struct fold_names *f)
{
	*f = (struct fold_names){};
	intern_init(&f->keys, 0);
	intern_init(&f->names, 0);
}

void fold_names_fini(struct fold_names *f)
{
	intern_fini(&f->keys);
	intern_fini(&f->names);
	vec_fini(&f->counts);
}

int fold_names_note(struct fold_names *f, const char *name)
{
	uint32_t known = f->names.n, id = intern_put(&f->names, name, strlen(name));
	_cleanup_str_ struct str key = {};
	uint32_t at;

	fold_name(name, &key);
	at = key.failed || !id ? 0 : intern_put(&f->keys, str_cstr(&key), key.n);
	if (!at || (at > f->counts.n && vec_push(&f->counts, 0)))
		return -ENOMEM;
	f->counts.v[at - 1] += id > known;
	return 0;
}

void fold_names_add(struct fold_names *f, const char *name, struct str *b)
{
	_cleanup_str_ struct str key = {};
	uint32_t at;

	fold_name(name, &key);
	at = key.failed ? 0 : intern_put(&f->keys, str_cstr(&key), key.n);
	if (!at)
		b->failed = true;
	else
		str_add(b, f->counts.v[at - 1] >= FOLD_FROM ? str_cstr(&key) : name);
}
