/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists the names of frames, processes and threads that patterns are matched with; see
 * frame_names.h.
 */
#include "view/filter/frame_names.h"

#include "base/cleanup.h"

void frame_names_fini(struct frame_names *n)
{
	str_fini(&n->function);
	str_fini(&n->dotted);
	str_fini(&n->frame);
	str_fini(&n->module);
	str_fini(&n->file);
	str_fini(&n->path);
}

static size_t add_line(struct str *b, const char *file, int32_t line)
{
	str_clear(b);
	str_add(b, file);
	if (b->n && line > 0) {
		size_t n = b->n;

		str_addf(b, ":%d", line);
		return n;
	}
	return b->n;
}

int frame_names_of(struct frame_names *n, struct profile *p, const struct render_names *names,
		   uint32_t id)
{
	const struct profile_location *l = profile_get_location(p, id);
	const char *file = l->function ? render_names_file(names, l->function) : "", *path = "";

	if (l->function)
		path = profile_get_string(p, profile_get_function(p, l->function)->file);
	str_clear(&n->function);
	str_clear(&n->dotted);
	str_clear(&n->frame);
	str_clear(&n->module);
	render_names_function(names, id, &n->function);
	view_dotted(p, names, id, &n->dotted);
	render_names_frame(names, id, &n->frame);
	view_module(p, names, id, &n->module);
	n->file_n = add_line(&n->file, file, l->line);
	n->path_n = add_line(&n->path, path, l->line);
	return n->function.failed || n->dotted.failed || n->frame.failed || n->module.failed ||
			       n->file.failed || n->path.failed
		       ? -ENOMEM
		       : 0;
}

/* Matches the file with its line ("a/b.py:12") and without it ("a/b.py"). */
static bool match_file(const struct patterns *p, struct str *s, size_t n)
{
	char end;
	bool found;

	if (!n)
		return false;
	if (patterns_match_name(p, s->s))
		return true;
	end = s->s[n];
	s->s[n] = '\0';
	found = patterns_match_name(p, s->s);
	s->s[n] = end;
	return found;
}

/* Matches the module and each package that contains it, but not with regular expressions. */
static bool match_package(const struct patterns *p, const char *module)
{
	char part[512];

	if (patterns_match_name(p, module))
		return true;
	for (const char *dot = strchr(module, '.'); dot; dot = strchr(dot + 1, '.')) {
		snprintf(part, sizeof(part), "%.*s", (int)(dot - module), module);
		if (patterns_match_name(p, part))
			return true;
	}
	return false;
}

bool frame_names_match_module(const struct patterns *p, const char *module)
{
	return patterns_match_regex(p, module) || match_package(p, module);
}

bool frame_names_match(const struct patterns *p, struct frame_names *n)
{
	if (!p->list.n)
		return false;
	return patterns_match_name(p, str_cstr(&n->function)) ||
	       patterns_match_name(p, str_cstr(&n->dotted)) ||
	       patterns_match_name(p, str_cstr(&n->frame)) ||
	       match_package(p, str_cstr(&n->module)) || match_file(p, &n->file, n->file_n) ||
	       match_file(p, &n->path, n->path_n) || patterns_match_regex(p, str_cstr(&n->frame)) ||
	       patterns_match_regex(p, str_cstr(&n->dotted));
}

bool match_owner(struct profile *p, const struct patterns *patterns, uint32_t labels,
		 const char *name_key, const char *id_key)
{
	const char *name = profile_find_label(p, labels, name_key, strlen(name_key));
	const char *id = profile_find_label(p, labels, id_key, strlen(id_key));
	_cleanup_str_ struct str both = {};

	if ((name && patterns_match(patterns, name)) || (id && patterns_match(patterns, id)))
		return true;
	str_addf(&both, "%s (%s %s)", name ? name : "", id_key, id ? id : "");
	return name && id && patterns_match(patterns, str_cstr(&both));
}
