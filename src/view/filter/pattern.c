/* SPDX-License-Identifier: BSD-2-Clause */
/* Matches texts with regular expressions, globs and plain texts; see pattern.h. */
#include "view/filter/pattern.h"

#include <fnmatch.h>
#include "base/cleanup.h"
#include "base/error.h"

static int compile(const char *text, regex_t *ret)
{
	_cleanup_free_ char *inner = strndup(text + 1, strlen(text) - 2);
	char why[128];
	int r;

	if (!inner)
		return err_set(-ENOMEM, "out of memory");
	r = regcomp(ret, inner, REG_EXTENDED | REG_NOSUB);
	if (!r)
		return 0;
	regerror(r, ret, why, sizeof(why));
	return err_set(-EINVAL, "'%s' is not a regular expression: %s", text, why);
}

static int pattern_init(struct pattern *p, const char *text)
{
	size_t n = strlen(text);

	*p = (struct pattern){.text = text};
	p->is_regex = n > 2 && text[0] == '/' && text[n - 1] == '/';
	p->is_glob = !p->is_regex && strpbrk(text, "*?[");
	return p->is_regex ? compile(text, &p->regex) : 0;
}

int pattern_check(const char *text)
{
	struct pattern p;
	int r = pattern_init(&p, text);

	if (!r && p.is_regex)
		regfree(&p.regex);
	return r;
}

int patterns_init(struct patterns *p, const pattern_texts *texts)
{
	*p = (struct patterns){};
	vec_foreach(text, texts) {
		struct pattern one;
		int r = pattern_init(&one, *text);

		if (r)
			return r;
		if (vec_push(&p->list, one)) {
			if (one.is_regex)
				regfree(&one.regex);
			return err_set(-ENOMEM, "out of memory");
		}
	}
	return 0;
}

void patterns_fini(struct patterns *p)
{
	vec_foreach(one, &p->list)
		if (one->is_regex)
			regfree(&one->regex);
	vec_fini(&p->list);
}

bool patterns_match_name(const struct patterns *p, const char *name)
{
	vec_foreach(one, &p->list)
		/*
		 * the plain text is compared first, because a text such as "[kernel]" is also a
		 * valid glob
		 */
		if (!one->is_regex &&
		    (streq(one->text, name) || (one->is_glob && !fnmatch(one->text, name, 0))))
			return true;
	return false;
}

bool patterns_match_regex(const struct patterns *p, const char *frame)
{
	vec_foreach(one, &p->list)
		if (one->is_regex && !regexec(&one->regex, frame, 0, NULL, 0))
			return true;
	return false;
}

bool patterns_match(const struct patterns *p, const char *s)
{
	return patterns_match_name(p, s) || patterns_match_regex(p, s);
}
