/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints what krait decodes from instructions, for tests/unwind/code_rows.py. Reads the output of
 * `objdump -dw --insn-width=16`, and prints "length VADDR OURS THEIRS TEXT" where krait's length
 * differs from objdump's; at last "refused MNEMONIC COUNT" and "total COUNT". With -w, prints each
 * instruction as "BYTES WRITES KIND" instead, where WRITES is a mask of the registers that it may
 * change, by hardware number.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "unwind/x86/x86_insn.h"

#define BYTES_MAX 16

/* Returns up to eight letters of a mnemonic as a key. */
static uint64_t mnemonic(const char *text)
{
	uint64_t key = 0;

	for (int i = 0; i < 8 && isgraph((unsigned char)text[i]); i++)
		key |= (uint64_t)(unsigned char)text[i] << 8 * i;
	return key;
}

/*
 * Parses " VADDR:\tXX XX ...\ttext". Returns the number of bytes, or 0 if the line isn't of this
 * form.
 */
static size_t parse(char *line, uint8_t *bytes, char **text)
{
	char *at = strchr(line, '\t'), *end;
	size_t n = 0;

	if (!at || at == line || at[-1] != ':')
		return 0;
	for (at++; isxdigit((unsigned char)*at) && n < BYTES_MAX; at = end + (*end == ' '))
		bytes[n++] = (uint8_t)strtoul(at, &end, 16);
	*text = strchr(at, '\t');
	if (!*text) /* data among the code, which objdump shows as characters */
		return 0;
	++*text;
	return n;
}

static void show_writes(const uint8_t *bytes, size_t n, const struct x86_insn *insn)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", bytes[i]);
	printf(" %x %u\n", insn->writes, insn->kind);
}

int main(int argc, char **argv)
{
	bool writes = argc > 1 && streq(argv[1], "-w");
	unsigned long long total = 0;
	struct map refused;
	static char line[4096];

	map_init(&refused);
	while (fgets(line, sizeof(line), stdin)) {
		uint8_t bytes[2 * BYTES_MAX] = {};
		struct x86_insn insn;
		char *text;
		size_t n = parse(line, bytes, &text);

		if (!n || !strncmp(text, "(bad)", 5))
			continue;
		total++;
		if (!x86_decode(bytes, sizeof(bytes), &insn)) {
			uint64_t *known = map_get(&refused, mnemonic(text));

			if (map_put(&refused, mnemonic(text), known ? *known + 1 : 1))
				return 1;
		} else if (writes) {
			show_writes(bytes, n, &insn);
		} else if (insn.len != n &&
			   /* objdump shows fwait as part of the next instruction */
			   bytes[0] != 0x9b) {
			printf("length %.*s %u %zu %s", (int)strcspn(line, ":"), line, insn.len, n,
			       text);
		}
	}
	map_foreach(slot, &refused)
		printf("refused %.8s %llu\n", (char *)&slot->key, (unsigned long long)slot->value);
	printf("total %llu\n", total);
	map_fini(&refused);
	return 0;
}
