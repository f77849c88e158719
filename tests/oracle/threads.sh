#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# threads.sh: names and tids of Python threads as krait reads them from running interpreters of
# every version, against what the program itself says of them.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/setup/interpreters-lib.sh

TOOL=build/release/tests/tools/threads
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

build() {
	make -s build/release/libkrait.a >/dev/null
	mkdir -p "$(dirname $TOOL)"
	${CC:-gcc} -std=gnu17 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -Isrc -Iabi -Itests/tools \
		-o $TOOL tests/tools/threads.c build/release/libkrait.a -lelf -lz
}

# inner PID <"TID NAME" lines: the tids as the process itself sees them.
inner() {
	local tid rest
	while IFS=' ' read -r tid rest; do
		tid=$(awk '$1 == "NSpid:" { print $NF }' "/proc/$1/task/$tid/status" 2>/dev/null)
		printf '%s %s\n' "${tid:-none}" "$rest"
	done
}

check() { # NAME COMMAND...
	local name=$1 line pid
	shift
	coproc target { exec "$@" tests/oracle/threads.py 2>"$WORK/err"; }
	: >"$WORK/want"
	while IFS= read -r line <&"${target[0]}" && [ "$line" != ready ]; do
		printf '%s\n' "$line" >>"$WORK/want"
	done
	pid=$(interpreter_pid "$target_PID")
	$TOOL "$pid" >"$WORK/raw" || true
	inner "$pid" <"$WORK/raw" >"$WORK/got"
	eval "exec ${target[1]}>&-"
	wait "$target_PID" 2>/dev/null || true
	if ! diff <(sort "$WORK/want") <(sort "$WORK/got") >"$WORK/diff" || [ ! -s "$WORK/want" ]; then
		echo "FAIL threads $name: names differ"; head -5 "$WORK/diff" "$WORK/err" | cut -c1-200
		return 1
	fi
	echo "PASS threads $name: $(wc -l <"$WORK/want") names and tids"
}

# interpreter_pid PID: the process that really is the interpreter (wrappers may stay in between).
interpreter_pid() {
	local child
	child=$(cat "/proc/$1/task/$1/children" 2>/dev/null)
	if [ -n "$child" ]; then interpreter_pid "${child%% *}"; else echo "$1"; fi
}

main() {
	local bad=0 name path
	build
	[ -s "$INTERPRETERS_TSV" ] || { echo "SKIP threads: no test interpreters"; return 0; }
	while IFS=$'\t' read -r name path; do
		check "$name" "$path" || bad=1
		case $name in
		python3.7-pyenv | python3-dist) # tids differ in a PID namespace of its own
			if [ "$(id -u)" = 0 ]; then
				check "$name-pidns" unshare --pid --fork "$path" || bad=1
			else
				echo "SKIP threads $name-pidns: not root"
			fi ;;
		esac
	done < <(awk -F '\t' '$3 != "pypy" && $3 != "chroot" { print $1 "\t" $4 }' "$INTERPRETERS_TSV")
	return $bad
}

main "$@"
