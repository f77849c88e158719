#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests the page: the TypeScript compiler checks the types of the page's modules, and what
# ui/pack.awk makes of them; a headless Chromium runs every feature by mouse and keys, and draws
# pictures. KEEP=DIR leaves pages and screenshots in DIR. page.sh --update accepts how the page
# looks now: it replaces the reference pictures (pictures.py).
set -euo pipefail
cd "$(dirname "$0")/../../.."
program=build/asan/tests/unit/picture/test_render_html
pages=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$pages"' EXIT

flock Makefile make --no-print-directory VARIANT=asan "$program" >/dev/null
KRAIT_PICTURES=$pages "$program" >/dev/null 2>&1 ||
	{ echo "FAIL page: $program, which makes the pages"; exit 1; }
if command -v tsc >/dev/null; then
	tsc -p ui/jsconfig.json && echo "PASS page-types" || echo "FAIL page-types: see the log"
	NODE_PATH=$(dirname "$(readlink -f "$(command -v tsc)")")/../.. node tests/golden/page/packing.js ui/*.js ui/*/*.js ||
		echo "FAIL page-pack: see the log"
else
	echo "SKIP page-types: no tsc (node-typescript)"
	echo "SKIP page-pack: no tsc (node-typescript)"
fi
# All modules become one script, so no two of them may define the same name.
twice=$(cat ui/*.js ui/*/*.js | grep -oE '^(export )?(async )?(function|const|let|class) [A-Za-z_]+' |
	awk '{print $NF}' | sort | uniq -d | tr '\n' ' ')
[ -z "$twice" ] && echo "PASS page-names" || echo "FAIL page-names: declared twice: $twice"
if [ "${1-}" = --update ]; then exec python3 -B tests/golden/page/pictures.py "$pages" --update; fi
bad=0
python3 -B tests/golden/page/page.py "$pages" || bad=1
python3 -B tests/golden/page/pictures.py "$pages" || bad=1
exit $bad
