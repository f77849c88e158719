#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# linetable.sh: compares krait's decoder of line tables with every version of Python on this
# machine. The interpreter prints the position of every instruction of its standard library, and
# krait must decode the same positions. The test must notice if an offset is wrong by one
# instruction.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/tools/lib.sh

LEAST=40000 # at least this many instructions must be compared for each version

check() { # NAME PATH
	local instructions mismatches noticed
	"$2" - <tests/live/linetable.py >"$WORK/dump" || { echo "FAIL linetable $1: no dump"; return 1; }
	read -r instructions mismatches < <($TOOL <"$WORK/dump")
	read -r _ noticed < <($TOOL 2 <"$WORK/dump")
	if [ "$mismatches" != 0 ] || [ "$instructions" -lt $LEAST ] || [ "$noticed" = 0 ]; then
		echo "FAIL linetable $1: $instructions instructions, $mismatches wrong" \
			"(shifted by one: $noticed)"
		return 1
	fi
	echo "PASS linetable $1: $instructions instructions, 0 wrong (shifted by one: $noticed wrong)"
}

tool_build linetable
# one interpreter of each version; those in a chroot are copies of the same files
each_interpreter linetable '$3 != "pypy" && $3 != "chroot" && !seen[$2]++' check
