# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # who sources this uses them
# kit.sh: how tests in shell begin: `. kit.sh NAME` in bash, and then `check CASE COMMAND...` for each thing that must hold. In the
# repository's root; $work is a directory that is gone afterwards, $bad is 1 where something failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
test_name=$1
bad=0
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

check() { # CASE COMMAND...
	local case=$1; shift
	if "$@"; then echo "PASS $test_name $case"; else echo "FAIL $test_name $case: see the log"; bad=1; fi
}

# The whole test can't be done here.
skip_all() { echo "SKIP $test_name: $1"; exit 0; }
