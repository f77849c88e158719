#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# go.sh NAME MODULE@VERSION [PACKAGE]: a program written in Go, built through Go's module proxy into
# the cache, its path printed; without PACKAGE the module's source directory. Exit code 77 and why
# not if it can't be had.
set -euo pipefail
. "$(dirname "$0")/common.sh"
name=$1 module=$2 package=${3:-}
export GOTOOLCHAIN=local GOFLAGS=-mod=mod
cannot() { echo "$*"; exit 77; }
have go || cannot "no Go tool chain"
dir=$KRAIT_TEST_CACHE/go/${module//\//-}
mkdir -p "$dir"
if [ -n "$package" ]; then
	[ -x "$dir/$name" ] || GOBIN=$dir timeout 600 go install "$package@${module#*@}" >"$dir/log" 2>&1 ||
		cannot "$module can't be had or built: $(tail -n 1 "$dir/log")"
	echo "$dir/$name"
else
	[ -s "$dir/go.mod" ] || printf 'module %s\n' "$name" >"$dir/go.mod"
	( cd "$dir" && timeout 600 go mod download -json "$module" ) >"$dir/log" 2>&1 ||
		cannot "$module can't be had: $(tail -n 1 "$dir/log")"
	sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p' "$dir/log"
fi
