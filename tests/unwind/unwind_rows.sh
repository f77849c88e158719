#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# unwind_rows.sh [--full]: compares krait's unwind rows with readelf's; see unwind_rows.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/tools/lib.sh

tool_build unwind_rows
exec python3 -B tests/unwind/unwind_rows.py "$TOOL" "$@"
