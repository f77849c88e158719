#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# in-root.sh ROOT COMMAND [ARG]...: exec COMMAND in ROOT, in a mount namespace of its own, as in
# a container without a PID namespace. /tmp, /proc, /sys, /dev and the working directory are the
# host's, so scripts given by a path below one of them run. Needs root.
set -eu
if [ "${KRAIT_IN_ROOT:-}" != "$$" ]; then
	KRAIT_IN_ROOT=$$ exec unshare --mount --propagation private -- "$0" "$@"
fi
unset KRAIT_IN_ROOT
root=$1
shift
here=$PWD
for dir in /tmp /proc /sys /dev "$here"; do
	[ "$dir" != / ] || continue
	mkdir -p "$root$dir"
	mount --rbind "$dir" "$root$dir"
done
# This isn't chroot, which would leave the working directory; and there is no shell in ROOT to go
# back.
exec nsenter --root="$root" --wd="$root$here" -- "$@"
