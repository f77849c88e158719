/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader's part that fills struct profile_meta, after the last field of a file. */
#ifndef FORMAT_PPROF_PPROF_META_H
#define FORMAT_PPROF_PPROF_META_H

#include "format/pprof/pprof_tables.h"

/* Which of the file's value types are kept, and the default one. 0 or -errno + message. */
_must_use_ int pprof_meta_values(struct pprof_tables *t);

/* Comments, after the values: one says which of those were left out. 0 or -errno + message. */
_must_use_ int pprof_meta_comments(struct pprof_tables *t);

#endif
