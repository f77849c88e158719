#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# oracle.sh [SUITE VERSION...]: runs tests/oracle on arm64, in an emulated machine, with these
# Python versions of a Debian suite (without arguments, sid's 3.13, 3.14, 3.15). Prints the oracle's
# lines. KRAIT_ARM64= names the binary; the log stays in the cache, in vm-arm64/log.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

VM_LIMIT_S=${VM_LIMIT_S:-2400} VM_MEMORY=3072

# repository VERSION...: copies the files of the repository that the oracle needs. The host fetches
# the extension modules, because the machine has no network.
repository() {
	local version
	mkdir -p tests cache
	cp -a "$VM_DIR/../oracle" tests/
	for version; do
		printf 'python%s-arm64\t%s\tstatic\t/usr/bin/python%s\n' "$version" "$version" "$version"
		/usr/bin/python3 -B tests/oracle/modules.py cache "$version" manylinux2014_aarch64 manylinux_2_28_aarch64
	done >cache/interpreters.tsv
}

main() {
	local suite=${1:-sid} versions=("${@:2}") packages=() version base over out kernel
	[ $# -gt 1 ] || versions=(3.13 3.14 3.15)
	machine_of arm64:6.12
	machine_needs
	[ -x "$VM_KRAIT" ] || fail "nothing is built ($VM_BUILD)"
	machine_take
	for version in "${versions[@]}"; do packages+=("python$version"); done
	kernel=$(kernel_get 6.12)
	out=$VM_CACHE/log/oracle-$suite
	over=$(mktemp -d)
	( cd "$over"; repository "${versions[@]}" )
	base=$(initramfs_base "oracle-$suite" "$suite" "${packages[@]}" libstdc++6)
	initramfs_make "$out.cpio" "$base" "$over"
	rm -rf "$over"
	boot "$kernel" "$out" oracle
	rm -f "$out.cpio"
	tr -d '\r' <"$out.console" | grep -a '^\(PASS\|FAIL\|SKIP\|  \)' || true
	[ "$(tr -d '\r' <"$out.console" | grep -acE '^PASS oracle .* total: |^END$')" = $((${#versions[@]} + 1)) ]
}

main "$@"
