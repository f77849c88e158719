# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Finds Debian's cloud kernels by series ("5.10", "newest") in the package lists, and fetches each
# once. Sourced after machine.sh (VM_ARCH, VM_CACHE), ../setup/common.sh and ../setup/apt.sh.

# Prints the Debian suites that may have a kernel series. Each suite has an apt state of its own: if
# the mirror has dropped a suite, only the kernels that no other suite has are lost.
kernel_suites() {
	case $1 in
	5.10) echo bullseye ;;
	6.1) echo bookworm ;;
	6.12) echo trixie bookworm-backports ;;
	newest) echo experimental sid trixie-backports trixie ;;
	*) echo bullseye bookworm bookworm-backports trixie trixie-backports sid experimental ;;
	esac
}

# kernel_get SERIES: prints the path of a vmlinuz of this series. A file beside it has the kernel's
# version.
kernel_get() {
	local dir=$VM_CACHE/kernels/$1 suite
	if [ ! -s "$dir/vmlinuz" ]; then
		for suite in $(kernel_suites "$1"); do
			# kernel_from_suite makes a subshell for itself, because errexit is off in
			# everything that is called here.
			kernel_from_suite "$1" "$suite" "$dir" >&2 && break
		done
	fi
	[ -s "$dir/vmlinuz" ] || fail "no cloud kernel $1 obtainable"
	echo "$dir/vmlinuz"
}

kernel_from_suite() {
	local release
	apt_root "$VM_CACHE/apt-$2" "$2" >/dev/null || return 1
	for release in $(kernel_releases "$1" | sed -n 1,6p); do
		kernel_unpack "$release" "$3" && return 0
	done
	return 1
}

# kernel_releases SERIES: prints the releases of a kernel series, newest first, such as "6.1.0-56".
kernel_releases() {
	local series=${1//./\\.}
	[ "$1" != newest ] || series='[0-9]+\.[0-9]+'
	apt_in_root apt-cache pkgnames linux- | sed -nE \
		"s/^linux-(image|binary)(-unsigned)?-($series([.-].*)?)-cloud-$VM_ARCH(-unsigned)?\$/\\3/p" |
		sort -Vur
}

# kernel_unpack RELEASE DIR: puts the vmlinuz of a kernel release, and its version, into DIR. Tries
# several package names: since 6.19 linux-image-* is empty, and linux-binary-* has the kernel;
# signed packages come later than unsigned ones; unsigned packages are sometimes listed but not in
# the pool.
kernel_unpack() {
	local package image tmp=$2.new
	for package in "linux-binary-$1-cloud-$VM_ARCH" "linux-binary-unsigned-$1-cloud-$VM_ARCH" \
		"linux-image-$1-cloud-$VM_ARCH" "linux-image-$1-cloud-$VM_ARCH-unsigned"; do
		rm -rf "$tmp"
		mkdir -p "$tmp/root"
		( cd "$tmp" && apt_in_root apt-get download "$package" ) 2>/dev/null || continue
		dpkg -x "$tmp"/*.deb "$tmp/root" || continue
		image=$(find "$tmp/root" -name 'vmlinuz*' -size +1000k -print -quit)
		[ -n "$image" ] || continue
		mv "$image" "$tmp/vmlinuz"
		dpkg-deb -f "$tmp"/*.deb Version >"$tmp/version"
		echo "$1" >"$tmp/release"
		rm -rf "$tmp"/root "$tmp"/*.deb "$2"
		mv "$tmp" "$2"
		return 0
	done
	rm -rf "$tmp"
	return 1
}
