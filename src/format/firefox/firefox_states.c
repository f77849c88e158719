/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes waits as markers: intervals with a name that the Firefox Profiler draws. The name says
 * what the thread waited for.
 */
#include "format/firefox/firefox_states.h"

#include <errno.h>

#include "base/text/json.h"
#include "format/common/spool.h"
#include "profile/intervals/part.h"
#include "view/waits/waits.h"

enum { DATA, NAME, START, END, COLUMNS };

const char firefox_state_schema[] =
	"{\"name\":\"state\",\"display\":[\"marker-chart\",\"marker-table\","
	"\"timeline-overview\"],\"tooltipLabel\":\"{marker.name}\",\"tableLabel\":"
	"\"{marker.data.on}\",\"chartLabel\":\"{marker.name} {marker.data.on}\",\"fields\":["
	"{\"key\":\"on\",\"label\":\"On what\",\"format\":\"string\"}]}";

int firefox_states_open(struct firefox_states *s, struct profile *p)
{
	*s = (struct firefox_states){
		.p = p, .waits = profile_time_value(p, "off_cpu"), .comma = ""};
	for (int i = 0; s->waits >= 0 && i < COLUMNS; i++) {
		s->columns[i] = spool_open();
		if (!s->columns[i])
			return -EIO;
	}
	return 0;
}

void firefox_states_close(struct firefox_states *s)
{
	for (int i = 0; i < COLUMNS; i++)
		if (s->columns[i])
			fclose(s->columns[i]);
}

static void put_time(const struct firefox_states *s, int column, int64_t ns)
{
	fputs(s->comma, s->columns[column]);
	json_put_decimal(s->columns[column], ns, 6);
}

void firefox_states_add(struct firefox_states *s, const struct profile_sample *wait)
{
	int64_t ns = wait_length(s->p, wait, s->waits);
	uint32_t state = profile_label_value(s->p, wait->labels, "state");

	if (!ns)
		return;
	/* the ids of the profile's strings are also their numbers in the file */
	fprintf(s->columns[NAME], "%s%u", s->comma, state);
	fprintf(s->columns[DATA], "%s{\"type\":\"state\",\"on\":", s->comma);
	json_put_string(s->columns[DATA], profile_label_text(s->p, wait->labels, "on"));
	fputc('}', s->columns[DATA]);
	put_time(s, START, wait->time_ns);
	put_time(s, END, wait->time_ns + ns);
	s->comma = ",";
	s->n++;
}

/* Writes a column of @n equal numbers. */
static void put_constant(const char *name, uint64_t n, int number, FILE *out)
{
	fprintf(out, ",\"%s\":[", name);
	for (uint64_t i = 0; i < n; i++)
		fprintf(out, "%s%d", i ? "," : "", number);
	fputc(']', out);
}

int firefox_states_put(struct firefox_states *s, FILE *out)
{
	static const char *const names[COLUMNS] = {"data", "name", "startTime", "endTime"};
	int r = 0;

	fputs("\"markers\":{", out);
	for (int i = 0; i < COLUMNS && !r; i++) {
		fprintf(out, "%s\"%s\":[", i ? "," : "", names[i]);
		r = s->waits < 0 ? 0 : spool_move(s->columns[i], out);
		fputc(']', out);
	}
	put_constant("phase", s->n, 1, out); /* 1: an interval */
	put_constant("category", s->n, KIND_MARK, out);
	fprintf(out, ",\"length\":%llu}", (unsigned long long)s->n);
	s->comma = "";
	s->n = 0;
	return r;
}
