/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offsets: prints the offset of the variable `armed` in the BPF map with the global variables of
 * krait's programs. While `armed` is 0, krait's programs return at once. bench/waits writes to it
 * to switch a running recording on and off.
 */
#include <stdio.h>

#include "sampler/internal.h"
#include "sample.skel.h"

int main(void)
{
	printf("%zu\n", offsetof(struct sample_bpf__bss, armed));
	return 0;
}
