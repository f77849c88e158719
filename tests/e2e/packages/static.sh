#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# static.sh: build/static/krait is one file that needs nothing else. In a root that has only krait,
# /proc and /sys it records a Python process. Needs root.
set -uo pipefail
cd "$(dirname "$0")/../../.."
krait=build/static/krait
bad=0
check() { # check NAME COMMAND...: prints PASS if the command succeeds, else FAIL
	local name=$1; shift
	if "$@"; then echo "PASS static $name"; else echo "FAIL static $name: see the log"; bad=1; fi
}

if [ "${1:-}" != inside ]; then
	make STATIC=1 >/dev/null || { echo "FAIL static build: make STATIC=1"; exit 1; }
	[ "$(id -u)" = 0 ] || { echo "SKIP static: not root"; exit 0; }
	unshare --mount --propagation private true 2>/dev/null ||
		{ echo "SKIP static: no mount namespace here"; exit 0; }
	exec unshare --mount --propagation private -- "$0" inside
fi

root=$(mktemp -d)
trap 'kill $target 2>/dev/null; umount -l "$root"; rmdir "$root"' EXIT
mount -t tmpfs tmpfs "$root"
mkdir "$root"/{proc,sys,tmp}
cp $krait "$root/krait"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
python3 -c '
import time
def busy_outside():
    end = time.time() + 30
    while time.time() < end: pass
busy_outside()' &
target=$!
sleep 0.3

no_interpreter() { ! readelf -dlW $krait | grep -E 'INTERP|NEEDED'; }
# Runs krait in the other root, whose /tmp is empty and which has no shell.
inside() { chroot "$root" /krait "$@"; }

check no-libraries no_interpreter
check version inside --version
inside doctor >"$root/tmp/doctor" || true
check doctor grep -q 'can record here' "$root/tmp/doctor"
inside record -q -p $target -d 1 -o /tmp/x.folded
check record grep -q busy_outside "$root/tmp/x.folded"
exit $bad
