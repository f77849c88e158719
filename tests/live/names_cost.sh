#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# names_cost.sh: makes a library of 150 MB with 300,000 C++ functions. Opening it and naming 20,690
# addresses must take less than 1 s and 256 MiB. The right names are known, because function number
# N begins at the start + N * 256.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/tools/lib.sh

FUNCTIONS=300000 SPACING=256

make_library() {
	awk -v n=$FUNCTIONS 'BEGIN {
		print ".text\n.p2align 12\n.globl first\nfirst:"
		for (i = 0; i < n; i++) {
			name = sprintf("_ZN8analytic6engine5part%c11step%07d11evaluateAllERKSt6vectorISt10shared_ptrINS0_4NodeEESaIS5_EEmPKc", 65 + i % 26, i)
			printf ".globl %s\n.type %s,@function\n%s: .skip 230\n.size %s,.-%s\n.p2align 8\n", name, name, name, name, name
		}
	}' >"$WORK/big.s"
	${CC:-gcc} -shared -nostdlib -o "$WORK/big.so" "$WORK/big.s"
}

tool_build names
make_library || { echo "SKIP names-cost: can't make a library"; exit 0; }
first=$(nm "$WORK/big.so" | sed -n 's/ T first$//p')
awk -v first="$((16#$first))" -v n=$FUNCTIONS -v s=$SPACING 'BEGIN {
	for (i = 0; i < n; i += 29) {
		printf "%x\n%x\n", first + i * s + i % 230, first + i * s + 230 + i % 26
	}
}' >"$WORK/addresses"
awk -v n=$FUNCTIONS 'BEGIN {
	for (i = 0; i < n; i += 29)
		printf "analytic::engine::part%c::step%07d::evaluateAll\n-\n", 65 + i % 26, i
}' >"$WORK/truth"
$TOOL elf "$WORK/big.so" <"$WORK/addresses" >"$WORK/got" 2>"$WORK/cost"
if ! cmp -s "$WORK/truth" "$WORK/got"; then
	echo "FAIL names-cost: $(diff "$WORK/truth" "$WORK/got" | sed -n 2,3p | tr '\n' ' ')"
	exit 1
fi
verdict=$(awk '{ v[$1] = $2 } END {
	ok = v["cpu_ms"] < 1000 && v["peak_mib"] > 0 && v["peak_mib"] < 256 && v["symbols"] >= 300000
	print(ok ? "PASS" : "FAIL")
}' "$WORK/cost")
echo "$verdict names-cost: $(tr '\n' ' ' <"$WORK/cost")"
[ "$verdict" = PASS ]
