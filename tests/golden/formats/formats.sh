#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks every format that krait writes, by reading the files back: those of a made-up recording
# with odd names, and those of a real program's recording if krait may record on this machine. After
# that the viewers' own code reads the files. KEEP=DIR leaves the files in DIR.
set -euo pipefail
cd "$(dirname "$0")/../../.."
KRAIT=${KRAIT:-build/release/krait}
files=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$files"' EXIT
bad=0

cat >"$files/work.py" <<'EOF'
import threading, time, zlib
def spin(seconds):
    end = time.time() + seconds
    while time.time() < end:
        sum(i * i for i in range(1000))
def compress(seconds):
    end, data = time.time() + seconds, bytes(range(256)) * 4000
    while time.time() < end:
        zlib.compress(data)
def recurse(n, seconds):
    recurse(n - 1, seconds) if n else spin(seconds)
thread = threading.Thread(target=compress, args=(1,), name='w;\n"x"')
thread.start()
recurse(5, .7)
exec(compile("def %s():\n  spin(.3)\n%s()" % (("f" * 4000,) * 2), "odd;name\n.py", "exec"))
thread.join()
EOF
recordings=()
if timeout 60 "$KRAIT" record -q --times -o "$files/real.pb.gz" -- python3 "$files/work.py" 2>"$files/err"; then
	recordings=("$files/real.pb.gz")
else
	echo "SKIP formats of a real recording: $(head -n 1 "$files/err")"
fi
timeout 120 python3 -B tests/golden/formats/formats.py "$KRAIT" "$files" "${recordings[@]}" || bad=1
timeout 240 python3 -B tests/golden/formats/viewers.py "$files" || bad=1
exit $bad
