# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Shared by the tests in emulated machines: run.sh, oracle.sh and preempt.sh source it, with
# set -euo pipefail.
VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$VM_DIR/../setup/common.sh"
. "$VM_DIR/../setup/apt.sh"
. "$VM_DIR/machine.sh"
. "$VM_DIR/kernels.sh"
. "$VM_DIR/initramfs.sh"
