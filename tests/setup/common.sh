# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034 # the scripts that source this use them
# What the set-up scripts share: the cache outside the checkout, messages, and packages of
# the machine itself. Sourced, not run; the caller has set -euo pipefail.

KRAIT_TEST_CACHE=${KRAIT_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/krait-tests}
SETUP_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
MULTIARCH=$(uname -m)-linux-gnu
mkdir -p "$KRAIT_TEST_CACHE"

say() { printf '%s\n' "$*" >&2; }
fail() { say "$*"; return 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# need COMMAND-OR-FILE PACKAGE: installs PACKAGE if the command isn't there and installing is
# allowed.
need() {
	if have "$1" || [ -e "$1" ]; then
		return 0
	fi
	[ "$(id -u)" = 0 ] || fail "$1 is missing: apt-get install $2"
	apt-get install -y --no-install-recommends "$2" >/dev/null || fail "can't install $2"
}

# attempt WHAT COMMAND...: runs COMMAND with its output in a log. errexit is on inside of COMMAND,
# which a plain `||` would turn off. A failure is printed and remembered, and doesn't end the
# script.
attempt() {
	local what=$1 log rc; shift
	log=$KRAIT_TEST_CACHE/log/${what// /-}
	mkdir -p "$KRAIT_TEST_CACHE/log"
	set +e
	( set -e; "$@" ) >"$log" 2>&1
	rc=$?
	set -e
	[ $rc = 0 ] || say "MISSING $what: $(tail -n 1 "$log") (log: $log)"
	return 0
}

# stamped WHAT FILE...: true if WHAT was done before, with the present text of these files. If WHAT
# also depends on the machine, a function salt_WHAT prints what it depends on, which must be the
# same.
stamped() { [ "$(cat "$KRAIT_TEST_CACHE/stamp/$1" 2>/dev/null)" = "$(stamp_of "$@")" ]; }
stamp() { mkdir -p "$KRAIT_TEST_CACHE/stamp"; stamp_of "$@" >"$KRAIT_TEST_CACHE/stamp/$1"; }
stamp_of() {
	{
		cat "${@:2}"
		! declare -F "salt_$1" >/dev/null || "salt_$1"
	} | sha256sum | cut -c1-16
}

# from_npm WHAT SECONDS FILE PACKAGE...: installs packages of fixed versions in the cache, which
# must make FILE. If npm can't get the packages, prints why and ends the script with 77.
from_npm() {
	local what=$1 seconds=$2 file=$3 dir=$KRAIT_TEST_CACHE/$1; shift 3
	have npm || { echo "no npm"; exit 77; }
	stamped "$what" "$SETUP_DIR/$what.sh" ||
		attempt "$what" npm_install "$what" "$seconds" "$dir" "$file" "$@" 2>/dev/null
	stamped "$what" "$SETUP_DIR/$what.sh" || { echo "npm can't get $*"; exit 77; }
}
npm_install() {
	rm -rf "$3"
	mkdir -p "$3"
	timeout "$2" npm install --no-audit --no-fund --no-save --loglevel=error --prefix "$3" "${@:5}"
	[ -s "$3/node_modules/$4" ]
	stamp "$1" "$SETUP_DIR/$1.sh"
}
