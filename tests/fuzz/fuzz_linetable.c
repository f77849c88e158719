/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as a line table of each Python version. krait must not read past the table's end,
 * no number may overflow, and no line may be below 0.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "python/code/linetable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const unsigned versions[] = {0x207, 0x306, 0x309, 0x30a, 0x30b, 0x30c, 0x30f};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	_cleanup_free_ uint8_t *table = NULL;
	struct py_position pos;
	int head[2];

	if (n < sizeof(head))
		return 0;
	memcpy(head, data, sizeof(head));
	n -= sizeof(head);
	/* An allocation of the table's exact size, so that ASan notices a read past its end. */
	table = malloc(n + !n);
	if (!table)
		return 0;
	memcpy(table, data + sizeof(head), n);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		pos = py_linetable_position(versions[i], table, n, head[0], head[1]);
		if (pos.line < 0 || pos.end_line < 0 || pos.col < -1 || pos.end_col < -1)
			abort();
	}
	return 0;
}
