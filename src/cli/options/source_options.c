/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles --source and --no-source; see source_options.h. */
#include "cli/options/source_options.h"

#include "base/error.h"

int source_options_mode(const struct source_options *o, enum source_mode *ret)
{
	if (o->all && o->none)
		return err_set(-EINVAL, "--source and --no-source exclude each other; keep one");
	*ret = o->none ? SOURCE_NONE : o->all ? SOURCE_ALL : SOURCE_OWN;
	return 0;
}
