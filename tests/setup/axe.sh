#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# axe.sh: gets axe-core, which checks pages for accessibility, from npm into the cache outside of
# the checkout, and prints where its script is. If it can't be had, prints why; the exit code is 77.
set -euo pipefail
. "$(dirname "$0")/common.sh"

from_npm axe 120 axe-core/axe.min.js axe-core@4.14.1
echo "$KRAIT_TEST_CACHE/axe/node_modules/axe-core/axe.min.js"
