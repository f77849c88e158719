/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the part of a page's header that concerns a comparison; see html_diff.h. */
#include "picture/html/html_diff.h"

#include "format/common/options.h"
#include "picture/html/html.h"
#include "picture/markup.h"

static void add_pair(struct str *b, const char *name, const char *text)
{
	str_addf(b, ",\"%s\":", name);
	markup_add_json(b, text);
}

/*
 * Appends {"key":"file"} for each function whose file on this side of the comparison differs from
 * its file in the page's profile.
 */
static int add_files(struct str *b, struct functions *fs, const char *const *file)
{
	bool any = false;

	str_add(b, "{");
	for (uint32_t key = 0; key < fs->keys.n; key++) {
		const char *own = file ? file[fs->keys.first[key]] : NULL;
		struct function f;

		if (functions_get(fs, key, &f))
			return -ENOMEM;
		if (!own || streq(own, f.path))
			continue;
		str_addf(b, "%s\"%u\":", any ? "," : "", key);
		markup_add_json(b, own);
		any = true;
	}
	str_add(b, "}");
	return 0;
}

int html_put_diff(struct html *h, FILE *out)
{
	const struct html_diff *d = h->opt->diff;
	struct functions *fs = &h->functions;
	_cleanup_str_ struct str b = {};

	str_addf(&b, ",\"diff\":{\"durationNs\":[%lld,%lld]", (long long)d->duration_ns[0],
		 (long long)d->duration_ns[1]);
	add_pair(&b, "before", d->name[0]);
	add_pair(&b, "after", d->name[1]);
	add_pair(&b, "verdict", d->verdict);
	add_pair(&b, "sum", d->sum);
	add_pair(&b, "label", HTML_DIFF_LABEL);
	add_pair(&b, "per", d->per ? d->per : "");
	str_addf(&b, ",\"counts\":[%.17g,%.17g],\"timed\":%s,\"changed\":[", d->counts[0],
		 d->counts[1], d->timed ? "true" : "false");
	for (uint32_t key = 0; key < fs->keys.n; key++)
		str_addf(&b, "%s%u", key ? "," : "", d->changed[fs->keys.first[key]]);
	str_add(&b, "],\"files\":[");
	for (int side = 0; side < 2; side++) {
		str_add(&b, side ? "," : "");
		if (add_files(&b, fs, d->file[side]))
			return -ENOMEM;
	}
	str_add(&b, "]}");
	fputs(str_cstr(&b), out);
	return b.failed ? -ENOMEM : 0;
}
