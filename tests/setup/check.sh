#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: sets up the test interpreters, and compares each with tests/interpreters in one line.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck disable=SC2046 # no word or one
./interpreters.sh $([ -z "${KRAIT_TEST_FULL:-}" ] || echo --full)
. ./interpreters-lib.sh
for name in $(interpreters_names); do
	echo "PASS interpreter $name"
done
interpreters_check
