/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile in memory: interned strings, mappings, functions, locations, stacks, label sets, and
 * the samples, which refer to them. It knows nothing of processes, kernels or formats. Ids are
 * dense from 1 (0 = none), in first-use order. Samples go to an unlinked temporary file in blocks,
 * so that memory doesn't grow with recording time (samplelog.h). Stacks share their root ends. Not
 * thread-safe.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdio.h>
#include "base/util.h"
#include "profile/comments.h"

struct profile;
struct str;

enum frame_kind { KIND_PYTHON, KIND_NATIVE, KIND_KERNEL, KIND_JIT, KIND_GC, KIND_MARK, KIND_MAX };

struct profile_value_type {
	/*
	 * type and unit of a value: "samples" and "count", "cpu" and "nanoseconds"; they outlive
	 * the profile
	 */
	const char *type, *unit;
};

/*
 * The unit of counts that have fractions: they are kept as millionths. Code that shows or writes
 * them puts in the decimal point where the format has one.
 */
#define PROFILE_MICROCOUNT	  "microcount"
#define PROFILE_MICROCOUNT_DIGITS 6

/*
 * profile_fraction_digits(): how many digits of a value in this @unit follow the decimal point.
 * profile_is_count(): is such a value a number of things?
 */
static inline unsigned profile_fraction_digits(const char *unit)
{
	return streq(unit, PROFILE_MICROCOUNT) ? PROFILE_MICROCOUNT_DIGITS : 0;
}

static inline bool profile_is_count(const char *unit)
{
	return streq(unit, "count") || streq(unit, PROFILE_MICROCOUNT);
}

static inline bool profile_same_type(const struct profile_value_type *a,
				     const struct profile_value_type *b)
{
	return streq(a->type, b->type) && streq(a->unit, b->unit);
}

/*
 * How many values samples may have. Sums and stored samples take memory only for those that the
 * profile has.
 */
#define PROFILE_MAX_VALUES 16

/* In krait's own recordings values[0] is samples/count; another tool's file may differ. */
struct profile_meta {
	struct profile_value_type values[PROFILE_MAX_VALUES];
	unsigned n_values, default_value; /* number of .values, and the index of the default one */
	struct profile_value_type period_type;
	int64_t period;
	int64_t time_ns; /* when the recording started, wall clock time since the epoch */
	int64_t duration_ns;
	struct comments comments;
};

/*
 * Do the values of type "samples", and .period, belong to value @value? In a recording of several
 * events they belong to the event that .period_type names (docs/decisions/0021). If .period_type
 * names no value of the profile, as in files of other tools, they belong to every value of the
 * profile.
 */
bool profile_samples_are_of(const struct profile_meta *m, unsigned value);

/*
 * The name tells the kind, because files keep only the name: "[python 3.12]", "[kernel]", "[jit]",
 * "[gc]", "[krait]" for marks, else a native file. profile_kind() of the name must be .kind. An ELF
 * file has one mapping, whatever address it was loaded at: .start and .limit are those of its code
 * in the file's own addresses (p_vaddr), .offset is where that code lies in the file.
 */
struct profile_mapping {
	uint32_t name, build_id; /* strings, by id; .build_id 0: none */
	enum frame_kind kind;
	uint64_t start, limit, offset;
};
struct profile_function {
	uint32_t name, file; /* strings, by id; .file 0: none */
	/*
	 * Id of a string: the symbol as in an ELF file, which tells the language. 0: Python, marks,
	 * JIT code.
	 */
	uint32_t system_name;
	/*
	 * Id of a string: for code without a file (<string>) the file of the module that it runs
	 * in; 0: not known.
	 */
	uint32_t made_in;
	int32_t start_line;
};
/*
 * .function 0: no symbol covers the address. The location is written without a name, so that
 * whoever has the file with that build id can look the name up; it is shown as [libfoo.so+0x1234].
 * Such a location has a mapping with a name. .outer: the location of the function that this one's
 * code was inlined into; 0: none. Both have the same address and mapping. In a stack, .outer always
 * follows this location. A chain has at most PROFILE_MAX_INLINED functions. Readers refuse longer
 * ones: a format that repeats the chain for each of its locations (pprof) would grow with the
 * square of its length.
 */
#define PROFILE_MAX_INLINED 256
struct profile_location {
	/* id of the mapping, never 0; pprof_read() invents a mapping that a file leaves out */
	uint32_t mapping;
	uint32_t function; /* id of the location's function; 0: none */
	uint32_t outer;	   /* id of the location that this one was inlined into; 0: none */
	int32_t line;	   /* line in the file of the function; 0: none */
	int32_t column;	   /* column, counted from 1 as in pprof; 0: none */
	/* End of the expression, after its last byte, as in co_positions(); 0, 0 = not known. */
	int32_t end_line, end_column;
	/*
	 * native: address in the ELF file (p_vaddr); kernel and JIT code: address in memory;
	 * Python: 0
	 */
	uint64_t address;
};
struct profile_label {
	uint32_t key, value; /* strings, by id */
};
/* A label that is to be added to a profile. */
struct profile_label_text {
	const char *key; /* the key, never empty; not NUL-terminated: key_len bytes */
	size_t key_len;
	const char *value; /* the value, which may be empty */
};

/*
 * Removes the end of @l's expression if it isn't after the beginning, as generated code may have
 * it.
 */
static inline void profile_check_end(struct profile_location *l)
{
	bool behind = l->end_line > l->line || l->end_column > l->column;

	if (!l->column || !l->end_column || l->end_line < l->line || !behind)
		l->end_line = l->end_column = 0;
}

/* Returns the kind that frames in a mapping with this name have. */
enum frame_kind profile_kind(const char *mapping);

/* Makes an empty profile. NULL: out of memory. */
struct profile *profile_new(void);
void profile_free(struct profile *p);

struct profile_meta *profile_meta(struct profile *p);

/* Exchanges all that profiles @a and @b hold, but for what profile_meta() returns. */
void profile_swap(struct profile *a, struct profile *b);

/*
 * Interning: return the id of an equal object, or else of a new one. 0: memory ran out, which
 * profile_failed() tells, or the string is "". @s needs no NUL; invalid UTF-8 and NUL are replaced
 * by U+FFFD.
 */
uint32_t profile_string_n(struct profile *p, const char *s, size_t n);
uint32_t profile_string(struct profile *p, const char *s);
uint32_t profile_mapping(struct profile *p, const struct profile_mapping *m);
uint32_t profile_function(struct profile *p, const struct profile_function *f);
uint32_t profile_location(struct profile *p, const struct profile_location *l);
uint32_t profile_stack(struct profile *p, const uint32_t *locations,
		       size_t n); /* @locations: innermost frame first; @n may be 0 */
/*
 * Make a stack frame by frame, root first, so that the stacks of a deep tree cost no more than the
 * tree's nodes. profile_node(): the node of @location below @parent (0 = the root).
 * profile_stack_at(): the stack of @n frames that ends at @node.
 */
uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t location);
uint32_t profile_stack_at(struct profile *p, uint32_t node, size_t n);
/*
 * The set of these labels, which come in any order; of labels with the same key the last counts.
 * "time" becomes "time.label", because "time" is the sample's time in files. No labels: 0.
 */
uint32_t profile_labels(struct profile *p, const struct profile_label *labels, size_t n);
/*
 * Changes the value of @key in the label set @id, for all its samples, earlier ones too: a thread's
 * name may be found out after its first sample. False if the set has no such key.
 */
bool profile_relabel(struct profile *p, uint32_t id, uint32_t key, uint32_t value);
/*
 * For callers that failed to allocate what they wanted to put into @p. Sets
 * profile_failed() and returns 0, which is no id.
 */
uint32_t profile_no_memory(struct profile *p);

/* tells whether an allocation has failed since the last profile_forget_failure() */
bool profile_failed(const struct profile *p);
/*
 * Clears the sticky failure. That is safe: stacks, samples and label sets never refer to objects
 * that couldn't be created.
 */
void profile_forget_failure(struct profile *p);

/*
 * Ids that krait invents where a format wants a process or thread id. They begin here, above
 * Linux's PID_MAX_LIMIT.
 */
#define PROFILE_MADE_UP_ID (1u << 22)

/*
 * Notes that a process which ran @function (a valid id) began @ms before the recording did. Of
 * several such times the longest is kept. If the source file changed since then, its text isn't
 * what ran.
 */
/* the most milliseconds that profile_ran_before() takes: 31 years */
#define PROFILE_MAX_RAN_BEFORE 1000000000000ull
void profile_ran_before(struct profile *p, uint32_t function, uint64_t ms);
uint64_t profile_get_ran_before(const struct profile *p, uint32_t function);

/*
 * Look-ups; valid ids only (asserted). Pointers are valid as long as the profile. Those of
 * profile_get_stack() are valid until the next interning call, and only for the last two stacks (so
 * that two can be compared). String 0 is "", label set 0 is empty.
 */
const char *profile_get_string(const struct profile *p, uint32_t id);
const struct profile_mapping *profile_get_mapping(const struct profile *p, uint32_t id);
const struct profile_function *profile_get_function(const struct profile *p, uint32_t id);
const struct profile_location *profile_get_location(const struct profile *p, uint32_t id);
/* How many functions a location has: its own, and those that it was inlined into. */
unsigned profile_n_inlined(const struct profile *p, uint32_t location);
const uint32_t *profile_get_stack(const struct profile *p, uint32_t id, size_t *n);
const struct profile_label *profile_get_labels(const struct profile *p, uint32_t id, size_t *n);
/*
 * The value of the label with this key in label set @id; if the set has none: NULL, or "" from
 * profile_label_text(). profile_find_label()'s key is key[0..n).
 */
const char *profile_find_label(const struct profile *p, uint32_t id, const char *key, size_t n);
const char *profile_label_text(const struct profile *p, uint32_t id, const char *key);
/* Appends what stands for the value of label @key in a set that lacks the label: "[no thread]". */
void profile_add_no_label(struct str *b, const char *key);
/* The string id of the value of label @key in label set @id; 0 if the set has no such label. */
uint32_t profile_label_value(const struct profile *p, uint32_t id, const char *key);
size_t profile_n_strings(const struct profile *p);
size_t profile_n_mappings(const struct profile *p);
size_t profile_n_functions(const struct profile *p);
size_t profile_n_locations(const struct profile *p);
size_t profile_n_stacks(const struct profile *p);
size_t profile_n_labels(const struct profile *p);
/*
 * Stacks are paths in a tree, root frame first, which formats may write as such. Nodes are numbered
 * from 1, parents before children. profile_stack_node(): the node where a stack ends; 0 for the
 * empty one.
 */
size_t profile_n_nodes(const struct profile *p);
void profile_get_node(const struct profile *p, uint32_t id, uint32_t *parent, uint32_t *location);
uint32_t profile_stack_node(const struct profile *p, uint32_t stack);
size_t profile_bytes(const struct profile *p); /* returns how many bytes the tables hold */

/*
 * A sample: what a stack took, once or in sum. Root frames (--by) aren't part of it: writers add
 * them.
 */
struct profile_sample {
	uint32_t stack, labels;
	int64_t time_ns; /* time since profile_meta.time_ns; -1: none */
	int64_t values[PROFILE_MAX_VALUES];
};

/*
 * Appends a sample; 0 or -ENOMEM. Takes tens of ns. A negative time means none. Values beyond
 * meta.n_values aren't kept. A full disk loses nothing: samples then stay in memory.
 */
_must_use_ int profile_add(struct profile *p, const struct profile_sample *s);

/* Calls @fn for every sample in the order added; stops at the first non-zero return, returns it. */
_must_use_ int profile_each(struct profile *p, int (*fn)(void *arg, const struct profile_sample *s),
			    void *arg);
/*
 * As profile_each(), for samples with first_ns <= time <= last_ns; samples without a time count as
 * -1.
 */
_must_use_ int profile_each_between(struct profile *p, int64_t first_ns, int64_t last_ns,
				    int (*fn)(void *arg, const struct profile_sample *s),
				    void *arg);

/*
 * Lets @fn change every sample; @fn may intern in @p. 0, what @fn returned, or -ENOMEM or -errno +
 * message: then the samples are unchanged.
 */
_must_use_ int profile_change_each(struct profile *p,
				   int (*fn)(void *arg, struct profile_sample *s), void *arg);

/* Adds "key: value" to the comments. Does nothing if there is no value, or memory runs out. */
void profile_add_comment(struct profile *p, const char *key, const char *value);

/*
 * Sums the samples up by stack and labels, without their times: this bounds the samples of a
 * profile that grows for days. 0; -errno + message: then the profile is unchanged.
 */
_must_use_ int profile_forget_times(struct profile *p);

/* Returns how often profile_add() was called; after profile_forget_times() the number of sums. */
uint64_t profile_n_samples(const struct profile *p);

/*
 * Samples summed by (stack, labels), in first-use order: what pictures and tables need. Caller
 * frees *ret. Sums stop at INT64_MAX.
 */
struct profile_sum {
	uint32_t stack, labels;
	const int64_t *values; /* meta.n_values; in the same block of memory as the sums */
};
_must_use_ int profile_sums(struct profile *p, struct profile_sum **ret, size_t *n);

#endif
