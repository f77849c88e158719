#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# linetable.sh: krait's line table decoder against every interpreter version that is here: each
# says the position of every instruction of its standard library, none may differ. An offset that
# is one instruction off must be noticed.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/setup/interpreters-lib.sh

LEAST=40000 # instructions a version
TOOL=build/release/tests/tools/linetable
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

build() {
	make -s build/release/src/python/linetable.o >/dev/null
	mkdir -p "$(dirname $TOOL)"
	${CC:-gcc} -std=gnu17 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -Isrc -Iabi \
		-o $TOOL tests/tools/linetable.c build/release/src/python/linetable.o
}

# one_of_each: a path per version; the untouched chroot copies are the same files once more.
one_of_each() {
	awk -F '\t' '$3 != "pypy" && $3 != "chroot" && !seen[$2]++ { print $1 "\t" $4 }' \
		"$INTERPRETERS_TSV"
}

check() { # NAME PATH
	local instructions mismatches noticed
	"$2" - <tests/oracle/linetable.py >"$WORK/dump" || { echo "FAIL linetable $1: no dump"; return 1; }
	read -r instructions mismatches < <($TOOL <"$WORK/dump")
	read -r _ noticed < <($TOOL 2 <"$WORK/dump")
	if [ "$mismatches" != 0 ] || [ "$instructions" -lt $LEAST ] || [ "$noticed" = 0 ]; then
		echo "FAIL linetable $1: $instructions instructions, $mismatches wrong" \
			"(shifted by one: $noticed)"
		return 1
	fi
	echo "PASS linetable $1: $instructions instructions, 0 wrong (shifted by one: $noticed wrong)"
}

main() {
	local bad=0 name path
	build
	[ -s "$INTERPRETERS_TSV" ] || { echo "SKIP linetable: no test interpreters"; return 0; }
	while IFS=$'\t' read -r name path; do
		check "$name" "$path" || bad=1
	done < <(one_of_each)
	return $bad
}

main "$@"
