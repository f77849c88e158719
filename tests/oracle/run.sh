#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh [--full] [--only VERSION] [--program NAME]: the oracle; see oracle.py --help.
exec python3 -B "$(dirname "$0")/oracle.py" "$@"
