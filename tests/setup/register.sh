# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The table of test interpreters: one file per interpreter in table/, one wrapper in bin/.
# Sourced. A wrapper execs, so the process that was started is the interpreter itself, and
# /proc/PID/exe is its real executable.

# register NAME KIND COMMAND...: write the wrapper, run it once for its version, note it.
register() {
	local name=$1 kind=$2 wrapper version; shift 2
	mkdir -p "$KRAIT_TEST_CACHE"/{bin,table}
	wrapper=$KRAIT_TEST_CACHE/bin/$name
	{ echo '#!/bin/sh'; printf 'exec'; printf " '%s'" "$@"; echo ' "$@"'; } >"$wrapper.new"
	chmod +x "$wrapper.new"
	mv "$wrapper.new" "$wrapper"
	version=$("$wrapper" -c 'import platform; print(platform.python_version())') ||
		fail "$name doesn't run"
	printf '%s\t%s\t%s\t%s\n' "$name" "$version" "$kind" "$wrapper" >"$KRAIT_TEST_CACHE/table/$name"
}

# forget GLOB: removes the interpreters of these names. A source that may have fewer interpreters
# than last time calls it first.
forget() {
	# shellcheck disable=SC2086 # a glob
	( cd "$KRAIT_TEST_CACHE" && mkdir -p bin table && rm -f table/$1 bin/$1 )
}

write_table() {
	local table=$KRAIT_TEST_CACHE/interpreters.tsv
	cat "$KRAIT_TEST_CACHE"/table/* 2>/dev/null | sort -V >"$table.new" || true
	mv "$table.new" "$table"
}
