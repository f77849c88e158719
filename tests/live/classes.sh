#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# classes.sh: up to Python 3.10 code objects have no qualified names, so krait proves a method's
# class from the first argument. This test compares krait's names with what the program itself
# knows.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/tools/lib.sh

check() { # NAME PATH
	truth_start "$WORK/cases" "$2" tests/live/classes.py
	cut -d' ' -f1-3 "$WORK/cases" | $TOOL "$truth_PID" >"$WORK/got" 2>>"$WORK/err" || true
	truth_stop
	cut -d' ' -f4- "$WORK/cases" >"$WORK/want"
	if ! diff "$WORK/want" "$WORK/got" >"$WORK/diff" || [ ! -s "$WORK/want" ]; then
		echo "FAIL classes $1: names differ"; head -8 "$WORK/diff" "$WORK/err" | cut -c1-200
		return 1
	fi
	echo "PASS classes $1: $(wc -l <"$WORK/want") names"
}

tool_build classes
each_interpreter classes '$2 ~ /^(2\.7|3\.[6-9]|3\.10)\./' check
