/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells what only a krait with BPF has: the libraries that are linked into it, and the events; see
 * parts.h.
 */
#include "cli/parts.h"

#include <elfutils/libdwfl.h>
#include <lzma.h>
#include "sampler/sources/event.h"
#include "sampler/sampler.h"

void parts_add_recording(struct str *ret)
{
	str_addf(ret, ", libbpf %s, elfutils %s, xz %s", sampler_library_version(),
		 dwfl_version(NULL), lzma_version_string());
}

const char *const *parts_event_names(void)
{
	return event_names();
}
