#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# code_rows.sh [--full]: compares what krait derives from instructions with objdump and with call
# frame information; see code_rows.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/tools/lib.sh

tool_build x86_insns
insns=$TOOL
tool_build code_check
check=$TOOL
tool_build code_hidden
hidden=$TOOL
tool_build unwind_rows
exec python3 -B tests/unwind/code_rows.py "$insns" "$check" "$hidden" "$TOOL" "$@"
