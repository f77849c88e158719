#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dist.sh: `make dist` gives the same bytes in two directories at two times, and its checksums are
# right. Slow: makes four builds without a compiler cache.
. "$(dirname "$0")/../e2e/kit.sh" dist
git rev-parse HEAD >/dev/null 2>&1 || skip_all "no checkout that git reads"

made_in() { # DIRECTORY
	git clone -q . "$1" && CCACHE_DISABLE=1 make -s -C "$1" dist >/dev/null
}
check first made_in "$work/a"
check second made_in "$work/another/directory"
check same-bytes cmp "$work/a/build/dist/SHA256SUMS" "$work/another/directory/build/dist/SHA256SUMS"
sums() { ( cd "$work/a/build/dist" && sha256sum -c --quiet SHA256SUMS ); }
check sums sums
# For each architecture there are an archive, a wheel and, if rpmbuild is installed, an rpm. There
# are also the container image, the sources, the list of components and the checksums.
files() { [ "$(ls "$work/a/build/dist" | wc -l)" = "$1" ] || ls "$work/a/build/dist"; }
check all-packages files "$(command -v rpmbuild >/dev/null && echo 10 || echo 8)"
small() { [ -z "$(find "$work/a/build/dist" -name '*.whl' -size +5000000c)" ]; }
check wheels-below-5-MB small
exit $bad
