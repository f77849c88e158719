#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rpm.sh ARCHIVE ARCH DIRECTORY: packs a release's archive (krait-VERSION-linux-ARCH.tar.gz) as an
# rpm package. The same archive gives the same bytes (SOURCE_DATE_EPOCH). Needs rpmbuild.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
archive=$(realpath "$1") arch=$2 out=$3
name=${archive##*/krait-}
version=${name%-linux-*}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(stat -c %Y "$archive")}
umask 022
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
mkdir "$top/SOURCES"
cp "$archive" "$top/SOURCES"
# Debian's rpm uses other directories than the distributions for which the package is made. Without
# _buildhost the package would contain this host's name.
rpmbuild -bb --quiet --with binary --target "$arch-linux" --define "_topdir $top" --define "krait_version $version" \
	--define "_prefix /usr" --define "_mandir /usr/share/man" --define "_buildhost localhost" --define "_binary_payload w9.gzdio" \
	--define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1" --define "_build_id_links none" \
	"$here/rpm/krait.spec"
cp "$top/RPMS/$arch"/*.rpm "$out"
