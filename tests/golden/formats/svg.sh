#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests the SVG pictures: two parsers find them well-formed, the contrast suffices, and nothing is
# fetched. If there is a headless Chromium, it also tests what is drawn and what zoom, search and
# keys do. KEEP=DIR leaves pictures and screenshots in DIR.
set -euo pipefail
cd "$(dirname "$0")/../../.."
program=build/asan/tests/unit/picture/test_render_svg
pictures=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$pictures"' EXIT

flock Makefile make --no-print-directory VARIANT=asan "$program" >/dev/null
KRAIT_PICTURES=$pictures "$program" >/dev/null 2>&1 ||
	{ echo "FAIL svg: $program, which makes the pictures"; exit 1; }
if command -v xmllint >/dev/null; then
	# xmllint needs --huge, because the embedded recording is one long text.
	xmllint --noout --nonet --huge "$pictures"/*.svg && echo "PASS svg-xmllint" ||
		echo "FAIL svg-xmllint: a picture isn't well-formed"
else
	echo "SKIP svg-xmllint: no xmllint (libxml2-utils)"
fi
exec python3 tests/golden/formats/svg.py "$pictures"
