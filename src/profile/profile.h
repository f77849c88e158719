/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile in memory: strings, mappings, functions, locations, stacks and label sets, each stored
 * once, and the samples, which refer to them by id. It knows nothing of processes, kernels or
 * formats. Ids are numbered from 1 without gaps, in the order of first use; 0 stands for none.
 * Samples go to an unlinked temporary file in blocks, so that memory doesn't grow with recording
 * time (samplelog.h). Stacks share their outer frames. Not thread-safe.
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
	 * type and unit of a value, such as "samples" and "count", or "cpu" and "nanoseconds"; the
	 * texts outlive the profile
	 */
	const char *type, *unit;
};

/*
 * The unit of counts that have fractions, kept as millionths. Code that shows or writes such a
 * count adds the decimal point.
 */
#define PROFILE_MICROCOUNT	  "microcount"
#define PROFILE_MICROCOUNT_DIGITS 6

/*
 * profile_fraction_digits() returns how many digits of a value in this unit follow the decimal
 * point. profile_is_count() tells whether such a value is a number of things.
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
 * The most values that a sample may have. In memory a sample only has as many as the profile has
 * types of values.
 */
#define PROFILE_MAX_VALUES 16

/*
 * Facts of a whole profile. In krait's own recordings values[0] is samples/count; in another tool's
 * file it may be something else.
 */
struct profile_meta {
	struct profile_value_type values[PROFILE_MAX_VALUES];
	/* number of .values, and the index of the default value in .values */
	unsigned n_values, default_value;
	struct profile_value_type period_type;
	int64_t period;
	int64_t time_ns; /* when the recording started: wall clock time in ns since 1970 */
	int64_t duration_ns;
	struct comments comments;
};

/*
 * Tells whether the values of type "samples", and .period, belong to the event of value @value. In
 * a recording of several events they belong to the event that .period_type names
 * (docs/decisions/0021). If .period_type names no value of the profile, as in files of other tools,
 * they belong to every value.
 */
bool profile_samples_are_of(const struct profile_meta *m, unsigned value);

/*
 * A mapping: the file that code is in, or another origin of the code. Its name tells the kind,
 * because files keep only the name: "[python 3.12]", "[kernel]", "[jit]", "[gc]", "[krait]" for
 * marks, or a native file. So profile_kind() of the name must be .kind. An ELF file is one mapping,
 * whatever address it was loaded at. .start and .limit are where the file's code begins and ends,
 * in the file's own addresses (p_vaddr); .offset is where that code is in the file.
 */
struct profile_mapping {
	uint32_t name, build_id; /* ids of strings; .build_id 0: the mapping has no build id */
	enum frame_kind kind;
	uint64_t start, limit, offset;
};
struct profile_function {
	uint32_t name, file; /* ids of strings; .file 0: the function has no file */
	/*
	 * Id of a string: the symbol as an ELF file has it, from which the language is guessed. 0
	 * for Python, marks and JIT code.
	 */
	uint32_t system_name;
	/*
	 * Id of a string: for code without a file (<string>), the file of the module in which the
	 * code runs; 0: not known.
	 */
	uint32_t made_in;
	int32_t start_line;
};
/*
 * A place in code. .function is 0 if no symbol covers the address. Such a location is written
 * without a name, so that whoever has the ELF file (known by the mapping's build id) can look the
 * name up. It is shown as [libfoo.so+0x1234], so its mapping must have a name.
 *
 * .outer is the location of the function that this location's code was inlined into, or 0. Both
 * locations have the same address and mapping. In a stack, .outer always follows this location. A
 * chain of such locations has at most PROFILE_MAX_INLINED functions, and readers refuse longer
 * ones: pprof repeats the chain for each location in it, so a file would grow with the square of
 * the chain's length.
 */
#define PROFILE_MAX_INLINED 256
struct profile_location {
	/*
	 * id of the mapping, never 0; if a file leaves the mapping out, pprof_read() makes one up
	 */
	uint32_t mapping;
	uint32_t function; /* id of the location's function; 0: no function is known */
	/* id of the location that this location was inlined into; 0: it wasn't inlined */
	uint32_t outer;
	int32_t line;	/* line in the file of the function; 0: not known */
	int32_t column; /* column, counted from 1 as in pprof; 0: not known */
	/*
	 * the place right after the last byte of the expression, as in co_positions(); 0, 0: not
	 * known
	 */
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
/* A label that is to be added to a profile, as text. */
struct profile_label_text {
	const char *key; /* the key, never empty; not NUL-terminated: key_len bytes */
	size_t key_len;
	const char *value; /* the value, which may be empty */
};

/*
 * Removes the end of @l's expression if the end isn't after the beginning, which may happen in
 * generated code.
 */
static inline void profile_check_end(struct profile_location *l)
{
	bool behind = l->end_line > l->line || l->end_column > l->column;

	if (!l->column || !l->end_column || l->end_line < l->line || !behind)
		l->end_line = l->end_column = 0;
}

/* Returns the kind of the frames whose mapping has this name. */
enum frame_kind profile_kind(const char *mapping);

/* Makes an empty profile. NULL: out of memory. */
struct profile *profile_new(void);
void profile_free(struct profile *p);

struct profile_meta *profile_meta(struct profile *p);

/*
 * Returns the index of the value of type @type that is in nanoseconds; -1: the profile has no such
 * value.
 */
int profile_time_value(struct profile *p, const char *type);

/* Exchanges the contents of profiles @a and @b, except what profile_meta() returns. */
void profile_swap(struct profile *a, struct profile *b);

/*
 * The functions below return the id of an equal object if the profile has one, else the id of a new
 * object. 0: memory ran out, which profile_failed() tells; or the string is "". @s needs no NUL.
 * Invalid UTF-8 and NUL in @s are replaced by U+FFFD.
 */
uint32_t profile_string_n(struct profile *p, const char *s, size_t n);
uint32_t profile_string(struct profile *p, const char *s);
uint32_t profile_mapping(struct profile *p, const struct profile_mapping *m);
uint32_t profile_function(struct profile *p, const struct profile_function *f);
uint32_t profile_location(struct profile *p, const struct profile_location *l);
uint32_t profile_stack(struct profile *p, const uint32_t *locations,
		       size_t n); /* @locations: innermost frame first; @n may be 0 */
/*
 * profile_node() and profile_stack_at() make a stack frame by frame, outermost frame first. So a
 * caller that walks a deep tree doesn't have to list all frames for each stack. profile_node()
 * returns the node of @location below node @parent (0: at the root). profile_stack_at() returns the
 * stack of @n frames that ends at @node.
 */
uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t location);
/* Makes room for @n more nodes at once, so that the table of nodes needn't grow step by step. */
void profile_expect_nodes(struct profile *p, size_t n);
uint32_t profile_stack_at(struct profile *p, uint32_t node, size_t n);
/*
 * Returns the id of the set of these labels, which may be in any order; 0 for no labels. Of labels
 * with the same key the last one counts. The key "time" becomes "time.label", because in files
 * "time" is the sample's time.
 */
uint32_t profile_labels(struct profile *p, const struct profile_label *labels, size_t n);
/*
 * Changes the value of @key in label set @id. That also changes earlier samples with the label set,
 * as is needed when a thread's name is found out after its first sample. Returns false if the set
 * has no label with that key.
 */
bool profile_relabel(struct profile *p, uint32_t id, uint32_t key, uint32_t value);
/*
 * For a caller that couldn't allocate what it wanted to put into @p: makes profile_failed() true,
 * and returns 0, which is no id.
 */
uint32_t profile_no_memory(struct profile *p);

/* tells whether an allocation has failed since the last profile_forget_failure() */
bool profile_failed(const struct profile *p);
/*
 * Makes profile_failed() false again. That is safe, because stacks, samples and label sets never
 * refer to objects that couldn't be made.
 */
void profile_forget_failure(struct profile *p);

/*
 * The lowest of the process and thread ids that krait makes up, where a format needs an id and none
 * is known. It is above all ids that Linux gives (PID_MAX_LIMIT).
 */
#define PROFILE_MADE_UP_ID (1u << 22)

/*
 * profile_ran_before() stores that a process which ran @function (a valid id) began @ms before the
 * recording did. Of several such times the longest is kept. If a source file changed after the
 * process began, its text may not be what ran. profile_get_ran_before() returns the stored time, or
 * 0.
 */
/* the most milliseconds that profile_ran_before() takes: 31 years */
#define PROFILE_MAX_RAN_BEFORE 1000000000000ull
void profile_ran_before(struct profile *p, uint32_t function, uint64_t ms);
uint64_t profile_get_ran_before(const struct profile *p, uint32_t function);

/*
 * The functions below look up objects by id. Ids must be valid (asserted). Returned pointers are
 * valid as long as the profile, except pointers of profile_get_stack(). These are valid for the
 * last two stacks that were asked for, so that two stacks can be compared, and only until something
 * is added to the tables. String 0 is "", label set 0 is empty.
 */
const char *profile_get_string(const struct profile *p, uint32_t id);
const struct profile_mapping *profile_get_mapping(const struct profile *p, uint32_t id);
const struct profile_function *profile_get_function(const struct profile *p, uint32_t id);
const struct profile_location *profile_get_location(const struct profile *p, uint32_t id);
/*
 * Returns how many functions a location has: its own function, and the functions that its code was
 * inlined into.
 */
unsigned profile_n_inlined(const struct profile *p, uint32_t location);
const uint32_t *profile_get_stack(const struct profile *p, uint32_t id, size_t *n);
const struct profile_label *profile_get_labels(const struct profile *p, uint32_t id, size_t *n);
/*
 * Return the value of a label in label set @id. The label's key is key[0..n) or @key. If the set
 * has no such label, profile_find_label() returns NULL and profile_label_text() "".
 */
const char *profile_find_label(const struct profile *p, uint32_t id, const char *key, size_t n);
const char *profile_label_text(const struct profile *p, uint32_t id, const char *key);
/*
 * Appends the words for a label that a set doesn't have, such as "[no thread]" for @key "thread".
 */
void profile_add_no_label(struct str *b, const char *key);
/*
 * Returns the id of the string that is the value of label @key in label set @id; 0 if the set has
 * no such label.
 */
uint32_t profile_label_value(const struct profile *p, uint32_t id, const char *key);
size_t profile_n_strings(const struct profile *p);
size_t profile_n_mappings(const struct profile *p);
size_t profile_n_functions(const struct profile *p);
size_t profile_n_locations(const struct profile *p);
size_t profile_n_stacks(const struct profile *p);
size_t profile_n_labels(const struct profile *p);
/*
 * Stacks are paths in a tree, outermost frame first. Some formats write that tree. Its nodes are
 * numbered from 1, parents before children. profile_stack_node() returns the node where a stack
 * ends; 0 for the empty stack.
 */
size_t profile_n_nodes(const struct profile *p);
void profile_get_node(const struct profile *p, uint32_t id, uint32_t *parent, uint32_t *location);
uint32_t profile_stack_node(const struct profile *p, uint32_t stack);
size_t profile_bytes(const struct profile *p); /* returns how many bytes the tables hold */

/*
 * A sample: the values of a stack with labels, taken at one moment or summed up from several
 * samples. The root frames that the option --by adds to a stack aren't in it; writers add them.
 */
struct profile_sample {
	uint32_t stack, labels;
	int64_t time_ns; /* ns since profile_meta.time_ns; -1: the sample has no time */
	int64_t values[PROFILE_MAX_VALUES];
};

/*
 * Appends a sample, which takes tens of ns. A negative time means that the sample has none. Values
 * beyond meta.n_values aren't kept. Samples for which the disk has no room stay in memory. 0 or
 * -ENOMEM.
 */
_must_use_ int profile_add(struct profile *p, const struct profile_sample *s);

/*
 * Calls @fn for every sample, in the order added. Stops at the first return that isn't 0, and
 * returns it.
 */
_must_use_ int profile_each(struct profile *p, int (*fn)(void *arg, const struct profile_sample *s),
			    void *arg);
/*
 * Does what profile_each() does, but only for the samples with first_ns <= time <= last_ns. A
 * sample without a time counts as having time -1.
 */
_must_use_ int profile_each_between(struct profile *p, int64_t first_ns, int64_t last_ns,
				    int (*fn)(void *arg, const struct profile_sample *s),
				    void *arg);

/*
 * Lets @fn change every sample. @fn may add to the tables of @p. Returns 0, or what @fn returned,
 * or -ENOMEM or -errno + message. Unless it returns 0, the samples are unchanged.
 */
_must_use_ int profile_change_each(struct profile *p,
				   int (*fn)(void *arg, struct profile_sample *s), void *arg);

/* Adds the comment "key: value". Does nothing if @value is NULL or memory runs out. */
void profile_add_comment(struct profile *p, const char *key, const char *value);

/*
 * Sums the samples up by stack and labels, without their times. So the number of samples is bounded
 * in a profile that grows for days. 0, or -errno + message: then the profile is unchanged.
 */
_must_use_ int profile_forget_times(struct profile *p);

/*
 * Returns how often profile_add() was called. After profile_forget_times(), returns the number of
 * sums instead.
 */
uint64_t profile_n_samples(const struct profile *p);

/*
 * A sum of all samples with the same stack and labels, as pictures and tables need it.
 * profile_sums() makes them in the order of first use. The caller frees *ret. Sums stop at
 * INT64_MAX.
 */
struct profile_sum {
	uint32_t stack, labels;
	const int64_t *values; /* meta.n_values numbers, in the same block of memory as the sums */
};
_must_use_ int profile_sums(struct profile *p, struct profile_sum **ret, size_t *n);

#endif
