/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out which commit is checked out; see git.h. */
#include "proc/service/git.h"

#include "base/cleanup.h"
#include "proc/service/files.h"

#define HEAD_BYTES   4096
#define PACKED_BYTES (1u << 20)
#define LEVELS	     16 /* how many directories are tried, from the innermost one outwards */
#define SHOWN	     12 /* digits of a revision */

bool git_is_object(const char *s)
{
	size_t n = strspn(s, "0123456789abcdef");

	return (n == 40 || n == 64) && (!s[n] || strchr(" \n\r\t", s[n]));
}

const char *git_packed(const char *text, const char *ref)
{
	size_t n = strlen(ref);

	/*
	 * A line is "DIGITS refs/heads/main"; comments begin with #, and lines of peeled tags with
	 * ^.
	 */
	while (*text) {
		size_t line = strcspn(text, "\n"), digits = strcspn(text, " \n");

		if (git_is_object(text) && line == digits + 1 + n &&
		    !memcmp(text + digits + 1, ref, n))
			return text;
		text += line + (text[line] == '\n');
	}
	return NULL;
}

/* Cuts off the text at its first newline or blank. */
static const char *first_line(struct str *text)
{
	if (text->n)
		text->s[strcspn(text->s, "\r\n")] = '\0';
	return str_cstr(text);
}

static void add_path(struct str *to, const char *base, const char *path)
{
	str_clear(to);
	if (*path != '/')
		str_addf(to, "%s/", base);
	str_add(to, path);
}

/*
 * The two directories of a repository that are read: one has HEAD, the other has the refs. In a
 * worktree they differ.
 */
struct repository {
	struct str head, refs;
};

static void repository_fini(struct repository *r)
{
	str_fini(&r->head);
	str_fini(&r->refs);
}

/* Finds the directory .git of directory @dir. *@head gets the text of its file HEAD. */
static bool find_repository(const struct service_files *f, const char *dir, struct repository *r,
			    struct str *head)
{
	_cleanup_str_ struct str path = {}, text = {};

	add_path(&r->head, dir, ".git");
	add_path(&path, str_cstr(&r->head), "HEAD");
	if (!service_file_of(f, str_cstr(&path), HEAD_BYTES, head)) {
		/*
		 * in a worktree or a submodule, .git is a file with the path of the real directory
		 */
		if (!service_file_of(f, str_cstr(&r->head), HEAD_BYTES, &text) ||
		    !str_starts(first_line(&text), "gitdir: "))
			return false;
		add_path(&r->head, dir, str_cstr(&text) + strlen("gitdir: "));
		add_path(&path, str_cstr(&r->head), "HEAD");
		if (!service_file_of(f, str_cstr(&path), HEAD_BYTES, head))
			return false;
	}
	add_path(&path, str_cstr(&r->head), "commondir");
	if (service_file_of(f, str_cstr(&path), HEAD_BYTES, &text))
		add_path(&r->refs, str_cstr(&r->head), first_line(&text));
	else
		add_path(&r->refs, str_cstr(&r->head), ".");
	return !r->head.failed && !r->refs.failed;
}

static bool add_revision(const char *digits, struct str *ret)
{
	if (!digits || !git_is_object(digits))
		return false;
	str_add_n(ret, digits, SHOWN);
	return true;
}

/* Appends the revision that the branch @ref is at. */
static bool add_branch(const struct service_files *f, const struct repository *r, const char *ref,
		       struct str *ret)
{
	_cleanup_str_ struct str path = {}, text = {};

	if (!str_starts(ref, "refs/"))
		return false;
	add_path(&path, str_cstr(&r->refs), ref);
	if (service_file_of(f, str_cstr(&path), HEAD_BYTES, &text) &&
	    add_revision(str_cstr(&text), ret))
		return true;
	add_path(&path, str_cstr(&r->refs), "packed-refs");
	return service_file_of(f, str_cstr(&path), PACKED_BYTES, &text) &&
	       add_revision(git_packed(str_cstr(&text), ref), ret);
}

bool git_revision(const struct service_files *f, const char *directory, struct str *ret)
{
	_cleanup_(repository_fini) struct repository r = {};
	_cleanup_str_ struct str dir = {}, head = {};
	bool found = false;

	str_add(&dir, directory);
	for (int i = 0; i < LEVELS && dir.n > 1 && !found; i++) {
		found = find_repository(f, str_cstr(&dir), &r, &head);
		dir.n = (size_t)((strrchr(dir.s, '/') ?: dir.s) - dir.s);
		dir.s[dir.n] = '\0';
	}
	if (!found)
		return false;
	if (str_starts(first_line(&head), "ref: "))
		return add_branch(f, &r, str_cstr(&head) + strlen("ref: "), ret);
	return add_revision(str_cstr(&head), ret);
}
