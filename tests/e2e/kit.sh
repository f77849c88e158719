# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # the scripts that source this file use them
# kit.sh: tests in shell begin with `. kit.sh NAME` in bash. Then `check CASE COMMAND...` checks one
# thing that must hold. The current directory is the repository's root. $work is a directory that is
# removed at the end; $bad is 1 if a check failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
test_name=$1
bad=0
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

check() { # check CASE COMMAND...: prints PASS if the command succeeds, else FAIL
	local case=$1; shift
	if "$@"; then echo "PASS $test_name $case"; else echo "FAIL $test_name $case: see the log"; bad=1; fi
}

# Prints a SKIP and ends the whole test.
skip_all() { echo "SKIP $test_name: $1"; exit 0; }
