#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# code_steps.sh: steps through OpenBLAS's assembly under gdb, and compares each step with the unwind
# rows that krait makes from it; see code_steps.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/tools/lib.sh

name=code-steps
python=$(awk -F '\t' '$2 ~ /^3\.12\./ && $3 == "shared" { print $4; exit }' "$INTERPRETERS_TSV" 2>/dev/null || true)
[ -n "$python" ] || { echo "SKIP $name: no Python 3.12"; exit 0; }
# uses the real program, because the interpreter's file may be a script
python=$("$python" -c 'import os; print(os.path.realpath("/proc/self/exe"))')
command -v gdb >/dev/null || { echo "SKIP $name: no gdb"; exit 0; }
packages=$(PYTHONPATH=tests/oracle python3 -B -c 'import modules, sys
print(modules.package(sys.argv[1], (3, 12), "numpy") or "")' "$(dirname "$INTERPRETERS_TSV")")
library=$(find "${packages:-/nonexistent}" -name 'libscipy_openblas*.so' -print -quit 2>/dev/null)
[ -n "$library" ] || { echo "SKIP $name: numpy can't be had"; exit 0; }

tool_build unwind_rows
"$TOOL" "$library" >"$WORK/rows"
"$TOOL" -t "$library" >"$WORK/tables"
cat >"$WORK/work.py" <<'PY'
import os, signal
import numpy as np
os.kill(os.getpid(), signal.SIGUSR1)
a = np.random.rand(14, 14)
b, c, v = a.astype("f4"), a + 1j * a, a[0].copy()
for _ in range(3):
    a @ a.T, a.T @ a, a @ a, b @ b, b @ b.T, a @ v, v @ v, c @ c, c @ c.T
    np.linalg.svd(a), np.linalg.solve(a, a), np.linalg.inv(c), np.linalg.qr(a), np.linalg.eig(a)
PY
# functions for all kinds of processors, as the program may call any of them
functions=$(nm "$library" | awk '$2 ~ /[tT]/ { print $3 }' |
	grep -E '^[dsz](gemm_kernel|gemm_[io]n?copy|gemm_beta|dot_k|copy_k|swap_k|nrm2_k|scal_k|axpy_k)_(HASWELL|ZEN|SKYLAKEX|COOPERLAKE|SAPPHIRERAPIDS|SANDYBRIDGE|NEHALEM)$' | tr '\n' ' ')
PYTHONPATH=$packages OPENBLAS_NUM_THREADS=1 KRAIT_ROWS=$WORK/rows KRAIT_TABLES=$WORK/tables KRAIT_LIBRARY=$(basename "$library") \
	KRAIT_FUNCTIONS=$functions gdb -q -batch -x tests/unwind/code_steps.py \
	--args "$python" "$WORK/work.py" >"$WORK/log" 2>&1 || true
steps=$(sed -n 's/^TOTAL \([0-9]*\) steps/\1/p' "$WORK/log")
wrong=$(grep '^STEPS' "$WORK/log" | grep -v ' unknown 0 wrong 0 ' || true)
if [ -n "$wrong" ] || [ "${steps:-0}" -lt 500 ]; then
	echo "FAIL $name: ${wrong:-only ${steps:-0} steps: $(tail -n 2 "$WORK/log")}"
	exit 1
fi
echo "PASS $name: $(grep -c '^STEPS' "$WORK/log") functions, $steps instructions"
