# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Shared by the tests in emulated machines. Sourced by run.sh and oracle.sh, with set -euo pipefail.
VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$VM_DIR/../setup/common.sh"
. "$VM_DIR/../setup/apt.sh"
. "$VM_DIR/machine.sh"
. "$VM_DIR/kernels.sh"
. "$VM_DIR/initramfs.sh"
