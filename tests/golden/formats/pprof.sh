#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# pprof.sh ARGUMENT...: runs Go's pprof, which Debian's golang packages carry as a prebuilt tool.
# Exit code 77 if there is no pprof. The environment variable PPROF names another pprof.
for tool in "${PPROF:-}" /usr/lib/go-*/pkg/tool/*/pprof /usr/local/go/pkg/tool/*/pprof; do
	if [ -x "$tool" ]; then
		# These settings keep pprof from looking for binaries, symbols or settings of this machine.
		PPROF_BINARY_PATH=/nonexistent PPROF_TMPDIR=${TMPDIR:-/tmp} HOME=/nonexistent \
			exec "$tool" "$@"
	fi
done
echo "no pprof: install golang-1.19-go (Debian 12) or golang-go" >&2
exit 77
