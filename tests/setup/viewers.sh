#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# viewers.sh: gets the viewers of other formats from npm into the cache outside of the checkout, and
# prints where they are. If they can't be had, prints why; the exit code is 77.
set -euo pipefail
. "$(dirname "$0")/common.sh"

# The Firefox Profiler's command line wants a node from 24 on, which npm has as well.
from_npm viewers 240 .bin/node speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0 node@24.9.0
echo "$KRAIT_TEST_CACHE/viewers"
