#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# go.sh NAME MODULE@VERSION [PACKAGE]: gets a module through Go's module proxy, builds its program
# PACKAGE in the cache, and prints the program's path. Without PACKAGE it prints the directory of
# the module's sources. If they can't be had, prints why; the exit code is 77.
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
