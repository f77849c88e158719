/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of kernel frames, also names of modules that are loaded during the recording. Reading all
 * names takes a tenth of a second. A worker's thread does that. The first kernel stack comes early,
 * while many new processes have to be examined, and examining them mustn't wait for a tenth of a
 * second.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/system/clock.h"
#include "base/system/log.h"
#include "collect/native/native.h"
#include "symbol/kernel_names.h"

#define WAIT_MIN_NS NSEC_PER_SEC
#define WAIT_MAX_NS (60 * WAIT_MIN_NS)

struct kernel {
	struct kernel_names *names; /* the names; NULL: no names were read yet, or there are none */
	bool asked;
	uint64_t unknown; /* the address without a name because of which names are being read */
	/*
	 * .retry_ns: until this time (CLOCK_MONOTONIC) names aren't read again; .wait_ns: the
	 * length of that pause; 0: names were never read
	 */
	uint64_t retry_ns, wait_ns;
};

bool kernel_init(struct collect *c)
{
	return (c->natives->kernel = calloc(1, sizeof(struct kernel)));
}

void kernel_fini(struct collect *c)
{
	if (c->natives->kernel)
		kernel_names_free(c->natives->kernel->names);
	free(c->natives->kernel);
}

bool kernel_is_asked(const struct collect *c)
{
	return c->natives->kernel->asked;
}

/* Does the profile have a location for @pc already, with a known name? */
static bool is_known(struct collect *c, uint64_t pc)
{
	return known_native(c, KNOWN_KERNEL, pc)->location;
}

const char *kernel_name(const struct collect *c, uint64_t pc, const char **module)
{
	const struct kernel *k = c->natives->kernel;

	return k->names ? kernel_names_find(k->names, pc, module) : NULL;
}

/* Returns the first address of @pc[@n] that has no name; 0: all addresses have names. */
static uint64_t first_unknown(struct collect *c, const uint64_t *pc, size_t n)
{
	const char *module;

	for (size_t i = 0; i < n; i++)
		if (!is_known(c, pc[i]) && !kernel_name(c, pc[i], &module))
			return pc[i];
	return 0;
}

void kernel_take(struct collect *c, struct kernel_names *names, const char *why)
{
	struct kernel *k = c->natives->kernel;
	const char *module;

	if (*why)
		log_info("%s", why);
	if (names) {
		kernel_names_free(k->names);
		k->names = names;
		known_natives_forget(c);
	}
	/*
	 * An address that never gets a name must not make krait read all kernel names again and
	 * again.
	 */
	k->wait_ns = !k->wait_ns || kernel_name(c, k->unknown, &module)
			     ? WAIT_MIN_NS
			     : MIN(k->wait_ns * 2, WAIT_MAX_NS);
	k->retry_ns = clock_ns(CLOCK_MONOTONIC) + k->wait_ns;
	k->asked = false;
}

uint64_t kernel_shown_address(const struct collect *c, uint64_t pc)
{
	const struct kernel *k = c->natives->kernel;

	if (c->config.kernel_addresses)
		return pc;
	return k->names ? kernel_names_relative(k->names, pc) : 0;
}

bool kernel_lacks(struct collect *c, const uint64_t *pc, size_t n, bool *ask)
{
	struct kernel *k = c->natives->kernel;
	uint64_t unknown;

	*ask = false;
	if (!n || c->config.kallsyms < 0 || (k->wait_ns && !k->names))
		return false;
	unknown = first_unknown(c, pc, n);
	if (!unknown || (!k->asked && clock_ns(CLOCK_MONOTONIC) < k->retry_ns))
		return false;
	*ask = !k->asked;
	if (!k->asked)
		k->unknown = unknown;
	k->asked = true;
	return true;
}
