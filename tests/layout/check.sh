#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh [NAME...]: compares what krait knows of each test interpreter's structures with what the
# compiler says of that interpreter's own headers: the tables of src/python/layout/layout.c, the
# layout that krait chooses for the interpreter's file, and the root variables that it finds there.
# Builds that aren't installed (Py_TRACE_REFS, Py_DEBUG, free-threaded) are checked with the headers
# alone. Needs build/release/libkrait.a (make) and the interpreters of tests/setup/interpreters.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/setup/interpreters-lib.sh
. tests/setup/interpreters-lib.sh
build=${KRAIT_BUILD:-build/release}
cc=${CC:-gcc}
cache=$(dirname "$INTERPRETERS_TSV")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A pattern for those lines of the tool (pyimage) whose names offsets.c prints as well. Both
# programs print lines "name value".
layout_fields='^(version|str_kind_shift|[a-z]+_[a-z_]+) '

# compile OUT INCLUDE FLAG...: compiles offsets.c with the headers in INCLUDE. The directory above
# it, where Debian sid has zlib and multiarch headers, is searched last.
compile() {
	local out=$1 inc=$2; shift 2
	"$cc" -w "$@" -I"$inc" -I"$inc/internal" -I"$inc/internal/mimalloc" \
		-idirafter "$(dirname "$inc")" -o "$out" tests/layout/offsets.c 2>"$out.err"
}

# include_of NAME: prints the directory that has this interpreter's Python.h.
include_of() {
	local said base dir
	said=$("$(interpreter_path "$1")" -c 'import sysconfig as s; print(s.get_paths()["include"])') || return 1
	base=$(basename "$said")
	for dir in "$said" "$cache"/*/root/usr/include/"$base" /usr/include/"$base" /usr/include/"${base%d}"; do
		[ -f "$dir/Python.h" ] && echo "$dir" && return 0
	done
	return 1
}

# image_of NAME: prints the path of the file that contains the interpreter, as mapped in a process.
image_of() {
	"$(interpreter_path "$1")" -c '
import os
for line in open("/proc/self/maps"):
    if "/libpython" in line:
        print(line.split()[-1])
        break
else:
    print(os.path.realpath("/proc/self/exe"))' 2>/dev/null
}

# differ NAME WANT GOT: prints PASS, or FAIL with the fields that differ between WANT and GOT. A
# field that GOT lacks is a failure, unless it belongs to _PyRuntime or says which build this is.
# The size of _PyRuntime is compared only with krait's tables, because otherwise krait reads it from
# the file.
differ() {
	local bad
	bad=$(awk -v name="$1" 'NR == FNR { got[$1] = $2; next }
		$1 ~ /^(patch|trace_refs|debug|runtime_)/ && !($1 in got) && ($1 != "runtime_codes_made" || name ~ / free-threaded$/) { next }
		$1 == "patch" || ($1 == "runtime_size" && name !~ / (table|arm64)$/) { next }
		got[$1] != $2 { printf " %s is %s, krait says %s;", $1, $2, got[$1] }' "$3" "$2")
	if [ -n "$bad" ]; then
		echo "FAIL layout $1:$bad"
	else
		echo "PASS layout $1 ($(grep -c . "$2") facts)"
	fi
}

# roots FILE: prints the addresses of the root variables relative to _PyRuntime, as nm gives them.
roots() {
	local runtime
	runtime=$( (nm -D "$1"; nm "$1" 2>/dev/null) | awk '$3 == "_PyRuntime" { print $1; exit }')
	[ -n "$runtime" ] || return 0
	"$work/pyimage" "$1" | while read -r name value; do
		case $name in
		interp_head | tstate_current | tss_key | gil_holder | gil_locked | gil_wait | codes_made | finalizing)
			[ "$value" = 0x0 ] || echo "runtime_$name $((value - 0x$runtime))" ;;
		esac
	done
}

check_interpreter() {
	local name=$1 inc image version flags=()
	[ "$(interpreter_field "$name" 3)" != dbg ] || flags=(-DPy_DEBUG)
	version=$(interpreter_field "$name" 2)
	inc=$(include_of "$name") || { echo "SKIP layout $name: no headers"; return 0; }
	image=$(image_of "$name") || { echo "SKIP layout $name: doesn't run"; return 0; }
	compile "$work/offsets" "$inc" "${flags[@]}" || { echo "SKIP layout $name: $(head -n 1 "$work/offsets.err")"; return 0; }
	"$work/offsets" >"$work/want"
	{ "$work/pyimage" "$image" | grep -E "$layout_fields"; roots "$image"; } >"$work/got" || true
	differ "$name" "$work/want" "$work/got"
	[ ${#flags[@]} = 0 ] || return 0
	if "$work/pyimage" --layout "$version" >"$work/got"; then
		differ "$name table" "$work/want" "$work/got"
		check_flavours "$name" "$inc" "$version"
		check_arm64 "$name" "$inc" "$version"
	elif [[ $inc != *t ]]; then
		check_free_threaded "$name" "$inc"
	fi
}

# Checks the layouts of two other builds of the same version, whose fields have other offsets: with
# Py_TRACE_REFS, and with Py_DEBUG.
check_flavours() {
	local name=$1 inc=$2 version=$3
	if compile "$work/offsets" "$inc" -DPy_TRACE_REFS -DPy_REF_DEBUG; then
		"$work/offsets" >"$work/want"
		"$work/pyimage" --trace-refs "$version" >"$work/got"
		differ "$name trace-refs" "$work/want" "$work/got"
	else
		echo "SKIP layout $name trace-refs: $(grep -m 1 error "$work/offsets.err")"
	fi
	[ "${version#3.1}" != "$version" ] || [ "${version#3.[89]}" != "$version" ] || return 0
	if compile "$work/offsets" "$inc" -DPy_DEBUG; then
		"$work/offsets" >"$work/want"
		"$work/pyimage" --layout "$version" >"$work/got"
		differ "$name debug" "$work/want" "$work/got"
	fi
}

# Checks the layouts with the same headers, compiled for arm64 (glibc). Debian has a pyconfig.h for
# each machine; that of this machine serves for arm64 as well, because both are 64-bit machines.
check_arm64() {
	local name=$1 inc=$2 version=$3 cross=aarch64-linux-gnu-gcc own
	command -v "$cross" >/dev/null || { echo "SKIP layout $name arm64: no $cross"; return 0; }
	own=$(dirname "$inc")/$(uname -m)-linux-gnu
	rm -rf "$work/by-machine"
	mkdir "$work/by-machine"
	[ ! -d "$own" ] || ln -s "$own" "$work/by-machine/aarch64-linux-gnu"
	"$cross" -O1 -w -S -DOFFSETS_ASM -I"$inc" -I"$inc/internal" -idirafter "$work/by-machine" \
		-o "$work/offsets.s" tests/layout/offsets.c 2>"$work/offsets.err" ||
		{ echo "SKIP layout $name arm64: $(grep -m 1 error "$work/offsets.err")"; return 0; }
	sed -n 's/.*\.ascii "->\([^"]*\)".*/\1/p' "$work/offsets.s" | sort -u >"$work/want"
	"$work/pyimage" --arm64 "$version" >"$work/got"
	differ "$name arm64" "$work/want" "$work/got"
}

# Since 3.14 the headers contain the values of the debug offsets. So those of a free-threaded build
# can be checked without such a build.
check_free_threaded() {
	local name=$1 inc=$2
	[ -f "$inc/internal/pycore_debug_offsets.h" ] || return 0
	compile "$work/offsets" "$inc" -DPy_GIL_DISABLED=1 -DDEBUG_OFFSETS ||
		{ echo "SKIP layout $name free-threaded: $(grep -m 1 error "$work/offsets.err")"; return 0; }
	"$work/offsets" >"$work/want"
	"$work/offsets" --debug-offsets >"$work/bytes"
	"$work/pyimage" --debug-offsets "$work/bytes" >"$work/got" || true
	differ "$name free-threaded" "$work/want" "$work/got"
}

[ -f "$build/libkrait.a" ] || { echo "FAIL layout: no $build/libkrait.a (make)"; exit 1; }
[ -f "$INTERPRETERS_TSV" ] || { echo "SKIP layout: no test interpreters (tests/setup/interpreters.sh)"; exit 0; }
"$cc" -D_GNU_SOURCE -std=gnu17 -Iabi -Isrc -o "$work/pyimage" tests/tools/pyimage.c \
	"$build/libkrait.a" -lelf
for name in ${*:-$(interpreters_names)}; do
	case $(interpreter_field "$name" 3) in
	# pypy has no CPython headers; the files of the other two belong to another list entry
	pypy | chroot | dlopen) ;;
	*) check_interpreter "$name" ;;
	esac
done | tee "$work/log"
! grep -q ^FAIL "$work/log"
