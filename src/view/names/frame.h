/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells what a single frame is called in options and tables: its kind, its module, and its name
 * with the module.
 */
#ifndef VIEW_NAMES_FRAME_H
#define VIEW_NAMES_FRAME_H

#include "view/names/names.h"

/*
 * Returns the kind of frame that a sample counts as. If the garbage collector is anywhere in the
 * stack, that is KIND_GC, because the collector has caused everything that it calls, even
 * finalizers. Otherwise it is the kind of the innermost frame. @stack: @n > 0 frames, innermost
 * first, or with @inverted last.
 */
enum frame_kind view_stack_kind(const struct profile *p, const uint32_t *stack, size_t n,
				bool inverted);

/*
 * view_kind_word() returns the word for a kind, such as "python". view_kind_by_word() returns the
 * kind for a word (-EINVAL + message: no kind has that word).
 */
const char *view_kind_word(enum frame_kind kind);
_must_use_ int view_kind_by_word(const char *word);

/*
 * Appends the module of a frame: "json.decoder", "libz.so.1", "[kernel]"; nothing if it isn't
 * known.
 */
void view_module(struct profile *p, const struct render_names *names, uint32_t location,
		 struct str *b);

/*
 * Appends a frame's name with its module, if it has one: "json.decoder.JSONDecoder.decode",
 * "deflate".
 */
void view_dotted(struct profile *p, const struct render_names *names, uint32_t location,
		 struct str *b);

#endif
