/* SPDX-License-Identifier: BSD-2-Clause */
/* The words that sentences of reports use for a profile's values. */
#ifndef VIEW_NAMES_VALUE_WORDS_H
#define VIEW_NAMES_VALUE_WORDS_H

/* Returns what a value of type @type counts: "CPU time", "time waiting"; else @type. */
const char *value_words(const char *type);

#endif
