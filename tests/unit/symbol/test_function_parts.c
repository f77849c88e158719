/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions whose code is in several pieces, in a file made by hand. krait finds the function of
 * each piece, except where that can't be known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "cfi_writer.h"
#include "base/cleanup.h"
#include "symbol/elf/function_parts.h"

#define BYTES 0x40 /* size of each piece; the pieces are next to each other */

enum piece { F, G, H, OF_F, OF_PART, OF_BOTH, OF_H, OTHER_FRAME, ENTRY, NOBODYS, PIECES };

static uint64_t at(enum piece piece)
{
	return EW_TEXT + (uint64_t)piece * BYTES;
}

/*
 * Writes call frame information for a piece. With @part, the piece is a part of a function and has
 * @words words on the stack from its first byte on. Otherwise it is a whole function, which has
 * them after its first byte.
 */
static void add_piece(struct cfi_writer *w, enum piece piece, bool part, uint8_t words)
{
	const uint8_t program[] = {part ? 0 : 0x41, 0x0e, (uint8_t)(8 + 8 * words)};

	cw_fde(w, at(piece), BYTES, program, sizeof(program));
}

/*
 * Writes jump number @nth of piece @from, which leads to piece @to: a jmp or, with @branch, a jne.
 */
static void jump(uint8_t *text, enum piece from, unsigned nth, enum piece to, bool branch)
{
	uint8_t *code = text + from * BYTES + 8 * (nth + 1);
	int32_t by = (int32_t)(at(to) - (at(from) + 8 * (nth + 1)) - (branch ? 6 : 5));

	if (branch)
		*code++ = 0x0f;
	*code++ = branch ? 0x85 : 0xe9;
	memcpy(code, &by, sizeof(by));
}

static void write_text(struct elf_writer *ew)
{
	uint8_t text[PIECES * BYTES];

	memset(text, 0x90, sizeof(text));
	jump(text, F, 0, OF_F, true);
	jump(text, F, 1, OF_BOTH, false);
	jump(text, F, 2, ENTRY, false);
	jump(text, F, 3, OTHER_FRAME, true);
	jump(text, G, 0, OF_BOTH, false);
	jump(text, H, 0, OF_H, false);
	jump(text, H, 1, OTHER_FRAME, false);
	jump(text, OF_F, 0, OF_PART, false);
	jump(text, OF_F, 1, F, false); /* this jump leads back to the function */
	ew_text(ew, text, sizeof(text));
}

static void test_pieces(void **state)
{
	static const struct {
		enum piece piece;
		/* 1 + number of the piece where the function begins; 0: not known */
		uint64_t whole;
	} want[] = {{OF_F, F + 1}, {OF_PART, F + 1}, {OF_H, H + 1}, {OF_BOTH}, {OTHER_FRAME},
		    {ENTRY},	   {NOBODYS},	     {F},	    {G}};
	_cleanup_elf_ struct elf_file *f = NULL;
	_cleanup_close_ int fd = -1;
	struct function_parts *p;
	struct cfi_writer w = {};
	struct elf_writer ew;

	cw_usual(&w);
	for (enum piece piece = F; piece < PIECES; piece++)
		add_piece(&w, piece, piece > H && piece != ENTRY,
			  piece == H || piece == OF_H || piece == OTHER_FRAME ? 2 : 1);
	cw_put(&w, 0, 4);
	ew_init(&ew, ET_DYN);
	cw_place(&w, &ew);
	write_text(&ew);
	fd = ew_write(&ew);
	assert_int_equal(elf_file_open(fd, "test", &f), 0);
	assert_int_equal(function_parts_open(f, &p), 0);
	assert_non_null(p);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_int_equal(function_parts_find(p, at(want[i].piece)),
				 want[i].whole ? at((enum piece)(want[i].whole - 1)) : 0);
	assert_int_equal(function_parts_find(p, at(OF_F) + 1), 0);
	function_parts_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
