/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much CPU time and waiting each service had since the store was made, and some functions that
 * were named for it. The sums outlive what they are of: they are written with each segment that is
 * sealed, in its transaction, so they never fall when old segments go or the agent is started
 * again. A function counts from when it was named first.
 */
#ifndef STORE_SEALED_TOTALS_H
#define STORE_SEALED_TOTALS_H

#include "base/vec.h"
#include "store/batch.h"

#define TOTALS_SERVICES	  200 /* further ones are summed as TOTALS_OTHERS */
#define TOTALS_FUNCTIONS  50
#define TOTALS_NAME_BYTES 256
#define TOTALS_OTHERS	  "[other services]"

enum total_kind { TOTAL_SERVICE, TOTAL_FUNCTION };

struct total {
	enum total_kind kind;
	char *name; /* owned; of a service "": samples of none */
	int64_t cpu_ns, waiting_ns;
};

struct totals {
	VEC(struct total) list;
};

void totals_fini(struct totals *t);

/* Finds a total, or adds it with zeros. NULL + message: no memory, or there are too many. */
struct total *totals_get(struct totals *t, enum total_kind kind, const char *name);

/*
 * Adds the samples of @b, which has its own names, to its services and to the functions in @t. 0 or
 * -ENOMEM + message.
 */
_must_use_ int totals_add(struct totals *t, const struct batch *b);

/*
 * Is function @qualname of @file the one that @wanted names? It may be named as a report shows it,
 * with its module.
 */
bool totals_is_function(const char *wanted, const char *qualname, const char *file);

/* Appends the totals as text; reads them from any text: -EBADMSG + message if it isn't one. */
void totals_write(const struct totals *t, struct str *ret);
_must_use_ int totals_read(struct totals *t, const char *text);

#endif
