#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests the version that make finds: in a checkout, in an archive without .git, and without a git
# program.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp Makefile VERSION "$work"
bad=0

# expect NAME PATTERN DIRECTORY [VARIABLE=VALUE...]: checks that the version which make finds in
# DIRECTORY matches PATTERN.
expect() {
	name=$1 pattern=$2 directory=$3
	shift 3
	# shellcheck disable=SC2016 # make's variable
	said=$(env "$@" make -s -C "$directory" --eval='print: ; @echo "$(VERSION)";' print 2>/dev/null)
	if printf '%s\n' "$said" | grep -xE -- "$pattern" >/dev/null; then
		echo "PASS version $name"
	else
		echo "FAIL version $name: '$said'"
		bad=1
	fi
}

number='[0-9]+\.[0-9.]+'
# a directory with all programs that make calls, except git
mkdir "$work/bin"
for program in make sh cat grep uname find env pkg-config; do
	ln -s "$(command -v "$program")" "$work/bin/" 2>/dev/null
done
expect archive "$number" "$work"
if [ -e .git ] && git rev-parse HEAD >/dev/null 2>&1; then
	expect checkout "$number\+[0-9a-f]+(-dirty)?" .
	expect no-git "$number" . PATH="$work/bin"
	git init -q "$work"
	as_somebody() { git -C "$work" -c user.name=x -c user.email=x@y "$@"; }
	as_somebody add Makefile VERSION && as_somebody commit -q -m x
	expect not-tagged "$number\+[0-9a-f]+" "$work"
	as_somebody tag -a -m x v9.9 && as_somebody tag -a -m x "v$(cat VERSION)"
	expect tagged "$(cat VERSION)" "$work"
	echo >>"$work/Makefile"
	expect tagged-and-changed "$number\+.*-dirty" "$work"
else
	echo "SKIP version checkout: no checkout that git reads"
fi
exit $bad
