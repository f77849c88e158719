#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# musl.sh: tests the wheel on a system whose only C library is musl (Alpine Linux). Its pip refuses
# a wheel without musl's tag, and installs a wheel with that tag. The installed krait records names
# and lines. When krait is removed, no file stays. Needs root.
. "$(dirname "$0")/../kit.sh" musl
[ "$(id -u)" = 0 ] || skip_all "not root"
root=$(tests/setup/musl.sh) || skip_all "$root"
make -s STATIC=1 stripped || { echo "FAIL musl: no static binary"; exit 1; }

mkdir "$work/with" "$work/without"
wheel=$(packaging/wheel.py build/static/stripped/krait "$(uname -m)" "$work/with")
# pip decides by the wheel's file name whether it installs the wheel
cp "$work/with/$wheel" "$work/without/$(sed 's/\.musllinux_[a-z0-9_]*//' <<<"$wheel")"

in_root() { tests/setup/in-root.sh "$root" env PATH=/usr/local/bin:/usr/bin:/bin HOME=/tmp PYTHONDONTWRITEBYTECODE=1 "$@"; }
listed() { ( cd "$1" && find . -xdev -path ./tmp -prune -o -print | LC_ALL=C sort ); }
no_glibc() { [ -e "$root/lib/ld-musl-$(uname -m).so.1" ] && [ -z "$(find "$root" -xdev -name 'ld-linux*' -o -xdev -name 'libc.so.6')" ]; }
pip_install() { in_root "$work/env/bin/pip" install -q --no-index --no-compile --find-links "$1" krait-profiler >"$work/log" 2>&1 || { cat "$work/log"; return 1; }; }
refused() { ! pip_install "$work/without" >/dev/null && grep -q 'No matching distribution found for krait-profiler' "$work/log"; }
uninstall() { in_root "$work/env/bin/pip" uninstall -q -y krait-profiler; }

cat >"$work/app.py" <<END
import time

def busy_of_musl():
    end = time.process_time() + 0.5
    while time.process_time() < end:
        sum(range(1000))

busy_of_musl()
END
records() { # records: checks that a recording has the functions' names and the lines of the loop
	in_root "$work/env/bin/krait" record -q --lines -o "$work/x.folded" -- python3 "$work/app.py" &&
		grep -q 'busy_of_musl (.*app\.py:[56])' "$work/x.folded" || { tail -n 5 "$work/x.folded"; return 1; }
}

check no-glibc no_glibc
# makes the folders on which in_root mounts, so that the lists before and after have them
in_root true
listed "$root" >"$work/root.before"
check environment in_root python3 -m venv "$work/env"
listed "$work/env" >"$work/env.before"
check refuses-without-tag refused
check install pip_install "$work/with"
check records records
check remove uninstall
listed "$work/env" >"$work/env.after"
listed "$root" >"$work/root.after"
check leaves-nothing-in-environment diff "$work/env.before" "$work/env.after"
check leaves-nothing-in-root diff "$work/root.before" "$work/root.after"
exit $bad
