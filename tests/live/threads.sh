#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# threads.sh: compares the names and tids of Python threads that krait reads from running
# interpreters of every version with those that the program itself prints.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/tools/lib.sh

# inner PID: reads lines "TID NAME", and prints them with the tids that the threads have in the PID
# namespace of process PID.
inner() {
	local tid rest
	while IFS=' ' read -r tid rest; do
		tid=$(awk '$1 == "NSpid:" { print $NF }' "/proc/$1/task/$tid/status" 2>/dev/null)
		printf '%s %s\n' "${tid:-none}" "$rest"
	done
}

check() { # arguments: NAME COMMAND...
	local name=$1 pid
	shift
	truth_start "$WORK/want" "$@" tests/live/threads.py
	pid=$(interpreter_pid "$truth_PID")
	$TOOL "$pid" >"$WORK/raw" || true
	inner "$pid" <"$WORK/raw" >"$WORK/got"
	truth_stop
	if ! diff <(sort "$WORK/want") <(sort "$WORK/got") >"$WORK/diff" || [ ! -s "$WORK/want" ]; then
		echo "FAIL threads $name: names differ"; head -5 "$WORK/diff" "$WORK/err" | cut -c1-200
		return 1
	fi
	echo "PASS threads $name: $(wc -l <"$WORK/want") names and tids"
}

# interpreter_pid PID: prints the pid of the interpreter, which is PID itself or, if PID is a
# wrapper, its child.
interpreter_pid() {
	local child
	child=$(cat "/proc/$1/task/$1/children" 2>/dev/null)
	if [ -n "$child" ]; then interpreter_pid "${child%% *}"; else echo "$1"; fi
}

check_both() { # NAME PATH
	local bad=0
	check "$1" "$2" || bad=1
	case $1 in
	python3.7-pyenv | python3-dist) # tids differ in a PID namespace of its own
		if [ "$(id -u)" = 0 ]; then
			check "$1-pidns" unshare --pid --fork "$2" || bad=1
		else
			echo "SKIP threads $1-pidns: not root"
		fi ;;
	esac
	return $bad
}

tool_build threads
each_interpreter threads '$3 != "pypy" && $3 != "chroot"' check_both
