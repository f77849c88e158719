/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about the agent, as texts that programs read: what it stores, costs and loses. One form is
 * JSON (docs/schema/agent-status.schema.json), the other Prometheus' text format 0.0.4.
 */
#ifndef QUERY_FACTS_H
#define QUERY_FACTS_H

#include "base/text/str.h"
#include "store/pins/pins.h"
#include "store/store.h"

/*
 * Appends the agent's facts as a JSON object, and a newline. @dir: the store's directory. @pins:
 * the windows of time whose samples are kept; NULL if the user who asks may not see them.
 */
void facts_json(const char *dir, const struct store_facts *f, const struct pins *pins,
		struct str *ret);

/*
 * Appends the agent's metrics. Each counter includes the counts of all earlier agents that used
 * this store, so it never falls as long as the store exists.
 */
void facts_prometheus(const struct store_facts *f, struct str *ret);

/*
 * Appends metrics of services, and of functions whose CPU time is counted. The names of services
 * and functions become values of labels. Recorded programs choose some of these names, so a name
 * may have any bytes.
 */
void facts_totals(const struct totals *t, struct str *ret);

/*
 * Appends metrics of pins (windows of time whose samples are kept), and for each trigger a counter
 * of the windows that it pinned.
 */
void facts_pins(const struct pins *pins, struct str *ret);

/*
 * Returns how many ms the agent has recorded, up to the newest second that is in the store; 0: not
 * known.
 */
int64_t facts_recorded_ms(const struct store_facts *f);

#endif
