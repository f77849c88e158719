/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums of CPU time and waiting since the store was made: of each service, and of some functions
 * that the user named. The sums are written whenever a segment is sealed, in the same transaction.
 * They never fall, not even when old segments are removed or the agent is started anew. A function
 * is counted from the time at which it was first named.
 */
#ifndef STORE_SEALED_TOTALS_H
#define STORE_SEALED_TOTALS_H

#include "base/vec.h"
#include "store/batch.h"

/* the most services that are counted; the time of further ones is summed under TOTALS_OTHERS */
#define TOTALS_SERVICES	  200
#define TOTALS_FUNCTIONS  50
#define TOTALS_NAME_BYTES 256
#define TOTALS_OTHERS	  "[other services]"

enum total_kind { TOTAL_SERVICE, TOTAL_FUNCTION };

struct total {
	enum total_kind kind;
	/* the name, which this struct owns; "" is the total of samples without a service */
	char *name;
	int64_t cpu_ns, waiting_ns;
};

struct totals {
	VEC(struct total) list;
};

void totals_fini(struct totals *t);

/*
 * Finds the total of that kind and name, or adds it with zeros. Returns NULL + message if memory
 * ran out or there are too many totals.
 */
struct total *totals_get(struct totals *t, enum total_kind kind, const char *name);

/*
 * Adds the samples of @b to the totals of their services and of the functions in @t. @b must have
 * its names (strings, functions). Returns 0 or -ENOMEM + message.
 */
_must_use_ int totals_add(struct totals *t, const struct batch *b);

/*
 * Tells whether a user means function @qualname of @file by @wanted. @wanted may begin with the
 * module's name, as reports show it.
 */
bool totals_is_function(const char *wanted, const char *qualname, const char *file);

/*
 * totals_write() appends the totals as text. totals_read() adds those of a text, which may be
 * anything; -EBADMSG + message if it isn't a text of totals.
 */
void totals_write(const struct totals *t, struct str *ret);
_must_use_ int totals_read(struct totals *t, const char *text);

#endif
