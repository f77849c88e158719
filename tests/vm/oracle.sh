#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# oracle.sh [SUITE VERSION...]: tests/oracle on arm64, in an emulated machine, of these Pythons of a Debian suite (sid's 3.13, 3.14,
# 3.15). Prints the oracle's lines. KRAIT_ARM64= names the binary; the log stays in the cache's vm-arm64/log.
set -euo pipefail
VM_DIR=$(cd "$(dirname "$0")" && pwd)
. "$VM_DIR/../setup/common.sh"
. "$VM_DIR/../setup/apt.sh"
. "$VM_DIR/machine.sh"
. "$VM_DIR/kernels.sh"
. "$VM_DIR/initramfs.sh"

VM_LIMIT_S=${VM_LIMIT_S:-2400} VM_MEMORY=3072

# repository VERSION...: what the oracle needs of it; extension modules come from the host, as the machine has no network.
repository() {
	local version modules=cache/oracle/modules
	mkdir -p tests "$modules"
	cp -a "$VM_DIR/../oracle" tests/
	for version; do
		printf 'python%s-arm64\t%s\tstatic\t/usr/bin/python%s\n' "$version" "$version" "$version"
		mkdir -p "$modules/$version"
		/usr/bin/python3 -m pip download -q --no-deps --disable-pip-version-check --only-binary=:all: \
			--python-version "$version" --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 \
			-d wheels greenlet >/dev/null 2>&1 || continue
		/usr/bin/python3 -m zipfile -e wheels/*.whl "$modules/$version"
		rm -r wheels
	done >cache/interpreters.tsv
}

main() {
	local suite=${1:-sid} versions=("${@:2}") packages=() version base out kernel
	[ $# -gt 1 ] || versions=(3.13 3.14 3.15)
	machine_of arm64:6.12
	machine_needs
	[ -x "$VM_KRAIT" ] || fail "nothing is built ($VM_BUILD)"
	mkdir -p "$VM_CACHE/log"
	exec 9>"$VM_CACHE/lock"
	flock 9
	for version in "${versions[@]}"; do packages+=("python$version"); done
	kernel=$(kernel_get 6.12)
	out=$VM_CACHE/log/oracle-$suite
	VM_OVER=$(mktemp -d)
	( cd "$VM_OVER"; repository "${versions[@]}" )
	base=$(initramfs_base "oracle-$suite" "$suite" "${packages[@]}" libstdc++6)
	initramfs_make "$out.cpio" "$base"
	rm -rf "$VM_OVER"
	boot "$kernel" "$out" oracle
	rm -f "$out.cpio"
	tr -d '\r' <"$out.console" | grep -a '^\(PASS\|FAIL\|SKIP\|  \)' || true
	[ "$(tr -d '\r' <"$out.console" | grep -acE '^PASS oracle .* total: |^END$')" = $((${#versions[@]} + 1)) ]
}

main "$@"
