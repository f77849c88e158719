#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dist.sh: makes all files of a release in build/dist/, with SHA256SUMS. For each architecture these
# are an archive of the static binary with manual page and completions, an rpm package of the same
# files, and a wheel. There is one container image for both architectures, a source archive, and a
# list of what this machine's binary contains (SBOM). The same sources give the same bytes in any
# directory: SOURCE_DATE_EPOCH is the commit's time unless it is given. --native: leaves out arm64.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=build/dist
work=build/dist-work
version=$(make -s version)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)}
export SOURCE_DATE_EPOCH
umask 022

# archive NAME: packs build/dist-work/NAME as NAME.tar.gz.
archive() {
	tar -C $work --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
		--format=ustar -cf - "$1" | gzip -n9 >"$dist/$1.tar.gz"
}

# package ARCH VARIANT MAKE...: makes the archive and the wheel of build/VARIANT.
package() {
	local arch=$1 variant=$2 name=krait-$version-linux-$1; shift 2
	"$@" stripped
	"$@" install DESTDIR="$PWD/$work/$name" PREFIX= BIN=/usr/local/bin >/dev/null
	install -m 755 "build/$variant/stripped/krait" "$work/$name/bin/krait"
	install -D -m 644 -t "$work/$name" LICENSE README.md
	install -D -m 644 -t "$work/$name/LICENSES" LICENSES/*
	archive "$name"
	if command -v rpmbuild >/dev/null; then
		packaging/rpm.sh "$dist/$name.tar.gz" "$arch" $dist >/dev/null
	else
		echo "no rpmbuild: no rpm packages" >&2
	fi
	packaging/wheel.py "build/$variant/stripped/krait" "$arch" $dist >/dev/null
	binaries+=("$arch=build/$variant/stripped/krait")
}

binaries=()
rm -rf $dist $work
mkdir -p $dist $work
package "$(uname -m)" static make -s STATIC=1
packaging/sbom.py build/static/stripped/krait "$dist/krait-$version-linux-$(uname -m).spdx.json"
if [ "${1:-}" != --native ] && [ "$(uname -m)" = x86_64 ]; then
	# This machine can't run the other architecture's krait, so its own krait prints the manual
	# page and the completions.
	package aarch64 aarch64-linux-gnu tests/setup/cross-arm64.sh -s KRAIT_HERE=build/static/krait
fi
packaging/oci.py "$dist/krait-$version.oci.tar" "$version" "${binaries[@]}"
packaging/wheel.py --sdist $dist >/dev/null
rm -rf $work
( cd $dist && LC_ALL=C sha256sum -- * >../SHA256SUMS && mv ../SHA256SUMS . )
ls -l $dist
