/* SPDX-License-Identifier: BSD-2-Clause */
/* Says for each table which members of its rows are stored as columns; see columns.h. */
#include "store/columns.h"

#define MEMBER(type, column, member, of, needed)                                                   \
	{                                                                                          \
		COLUMN_##column, sizeof(((struct type *)0)->member),                               \
			offsetof(struct type, member), BATCH_##of, needed                          \
	}
#define TABLE(name, type)                                                                          \
	const struct column_table column_##name = {sizeof(struct type), name, ARRAY_SIZE(name)}

static const struct column_member mappings[] = {
	MEMBER(profile_mapping, MAPPING_NAME, name, STRINGS, false),
	MEMBER(profile_mapping, MAPPING_BUILD_ID, build_id, STRINGS, false),
	MEMBER(profile_mapping, MAPPING_START, start, TABLES, false),
	MEMBER(profile_mapping, MAPPING_LIMIT, limit, TABLES, false),
	MEMBER(profile_mapping, MAPPING_OFFSET, offset, TABLES, false),
};
TABLE(mappings, profile_mapping);

static const struct column_member functions[] = {
	MEMBER(profile_function, FUNCTION_NAME, name, STRINGS, false),
	MEMBER(profile_function, FUNCTION_FILE, file, STRINGS, false),
	MEMBER(profile_function, FUNCTION_SYSTEM_NAME, system_name, STRINGS, false),
	MEMBER(profile_function, FUNCTION_MADE_IN, made_in, STRINGS, false),
	MEMBER(profile_function, FUNCTION_START_LINE, start_line, TABLES, false),
};
TABLE(functions, profile_function);

static const struct column_member locations[] = {
	MEMBER(profile_location, LOCATION_MAPPING, mapping, MAPPINGS, true),
	MEMBER(profile_location, LOCATION_FUNCTION, function, FUNCTIONS, false),
	MEMBER(profile_location, LOCATION_OUTER, outer, LOCATIONS, false),
	MEMBER(profile_location, LOCATION_LINE, line, TABLES, false),
	MEMBER(profile_location, LOCATION_COLUMN, column, TABLES, false),
	MEMBER(profile_location, LOCATION_END_LINE, end_line, TABLES, false),
	MEMBER(profile_location, LOCATION_END_COLUMN, end_column, TABLES, false),
	MEMBER(profile_location, LOCATION_ADDRESS, address, TABLES, false),
};
TABLE(locations, profile_location);

static const struct column_member labels[] = {
	MEMBER(profile_label, LABEL_KEY, key, STRINGS, true),
	MEMBER(profile_label, LABEL_VALUE, value, STRINGS, false),
};
TABLE(labels, profile_label);

static const struct column_member nodes[] = {
	MEMBER(batch_node, NODE_PARENT, parent, NODES, false),
	MEMBER(batch_node, NODE_LOCATION, location, LOCATIONS, true),
};
TABLE(nodes, batch_node);
