/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The programs of a recording. They share their maps and most of their code, so they are in one BPF
 * object. Loading a BPF object costs a lot, because all of the kernel's BTF is read for it.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "events/exec.bpf.h"
#include "events/perf.bpf.h"
#include "events/question.bpf.h"
#include "events/unmap.bpf.h"
#include "events/wake.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
