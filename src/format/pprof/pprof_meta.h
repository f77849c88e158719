/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets struct profile_meta from a pprof file. To be called after the file's last field was read. */
#ifndef FORMAT_PPROF_PPROF_META_H
#define FORMAT_PPROF_PPROF_META_H

#include "format/pprof/pprof_tables.h"

/*
 * Decides which of the file's value types are kept, and which is the default. 0 or -errno +
 * message.
 */
_must_use_ int pprof_meta_values(struct pprof_tables *t);

/*
 * Adds the file's comments; to be called after pprof_meta_values(). One comment names the value
 * types that were left out. 0 or -errno + message.
 */
_must_use_ int pprof_meta_comments(struct pprof_tables *t);

#endif
