#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# cross-arm64.sh [MAKE-ARGUMENT]...: builds krait for arm64, one static file
# (build/aarch64-linux-gnu/krait), with the arm64 headers and static libraries of this
# distribution's release. `cross-arm64.sh cc ...` is that compiler alone. Compiler and libc:
# gcc-aarch64-linux-gnu, libc6-dev-arm64-cross.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$SETUP_DIR/apt.sh"

APT_ARCH=arm64
TRIPLET=aarch64-linux-gnu
SYSROOT=$KRAIT_TEST_CACHE/sysroot-arm64

# Fetches only the libraries themselves, because libc comes with the cross compiler.
fetch() {
	local packages="libbpf-dev libelf-dev zlib1g-dev libcap-dev libiberty-dev liblzma-dev libsqlite3-dev libdw-dev libzstd-dev"
	apt_root "$SYSROOT/apt" "$(. /etc/os-release; echo "${VERSION_CODENAME:-sid}")"
	rm -rf "$SYSROOT/debs"
	mkdir -p "$SYSROOT/debs"
	# shellcheck disable=SC2086 # one word per package
	( cd "$SYSROOT/debs" && apt_in_root apt-get download $packages )
	dpkg_unpack "$SYSROOT/root" "$SYSROOT"/debs/*.deb
	rm -rf "$SYSROOT/debs"
	stamp sysroot-arm64 "$SETUP_DIR/cross-arm64.sh"
}

libs_for_arm64() {
	need "$TRIPLET-gcc" gcc-aarch64-linux-gnu
	need "/usr/$TRIPLET/lib/libc.a" libc6-dev-arm64-cross
	stamped sysroot-arm64 "$SETUP_DIR/cross-arm64.sh" || attempt sysroot-arm64 fetch
}

main() {
	local include=$SYSROOT/root/usr/include lib=$SYSROOT/root/usr/lib/$TRIPLET cflags ldflags libs
	libs_for_arm64
	if [ ! -e "$lib/libbpf.a" ]; then
		echo "SKIP build-arm64: no arm64 libraries obtainable"
		exit 0
	fi
	cflags="-O2 -g -idirafter $include -idirafter $include/$TRIPLET"
	ldflags="-static -L$lib"
	libs="-lbpf -ldw -lelf -lz -lzstd -lcap -liberty -llzma -lsqlite3 -lm"
	if [ "${1:-}" = cc ]; then
		# shellcheck disable=SC2086 # flags
		"$TRIPLET-gcc" $cflags "${@:2}" $ldflags $libs
	else
		make -C "$SETUP_DIR/../.." CROSS="$TRIPLET" CFLAGS="$cflags" LDFLAGS="$ldflags" \
			LDLIBS="$libs" "$@"
	fi
}

main "$@"
