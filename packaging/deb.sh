#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# deb.sh: makes Debian packages of these sources in build/deb, for this machine's release of the
# distribution. packaging/debian/control lists the packages that this needs. Arguments are passed to
# dpkg-buildpackage.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(make -s version | tr - .)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)}
umask 022
rm -rf build/deb
mkdir -p build/deb
archive=$(packaging/wheel.py --sdist build/deb)
mv "build/deb/$archive" "build/deb/krait_$version.orig.tar.gz"
tar -C build/deb -xzf "build/deb/krait_$version.orig.tar.gz"
mv "build/deb/${archive%.tar.gz}" build/deb/krait
cd build/deb/krait
cp -r packaging/debian debian
cat >debian/changelog <<-END
	krait ($version-1) unstable; urgency=medium

	  * This version; CHANGELOG.md says what is new in it.

	 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -uRd "@$SOURCE_DATE_EPOCH")
END
dpkg-buildpackage -us -uc "$@"
