/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A native stack of any depth, made of different functions. It is built as a library, which
 * bench/programs/target.py calls.
 */
#include <poll.h>

#define FUNCTIONS 128

typedef long deep_fn(long n);
extern deep_fn *const deep_table[FUNCTIONS];

/* Spins until there is something to read on standard input. */
static long spin(void)
{
	struct pollfd in = {.events = POLLIN};
	long rounds = 0;

	while (!poll(&in, 1, 0))
		for (volatile int i = 0; i < 200000; i++)
			rounds++;
	return rounds;
}

#define F(k)                                                                                       \
	static __attribute__((noinline)) long deep_##k(long n)                                     \
	{                                                                                          \
		volatile char frame[32 + 8 * (k % 7)];                                             \
		frame[n & 15] = (char)n;                                                           \
		return n > 1 ? deep_table[(k + 1) % FUNCTIONS](n - 1) + frame[n & 15] : spin();    \
	}
#define F8(k) F(k##0) F(k##1) F(k##2) F(k##3) F(k##4) F(k##5) F(k##6) F(k##7)
#define N8(k)                                                                                      \
	deep_##k##0, deep_##k##1, deep_##k##2, deep_##k##3, deep_##k##4, deep_##k##5, deep_##k##6, \
		deep_##k##7
/*
 * These numbers count in octal, but the compiler reads them as decimal. That does no harm: F(k)
 * uses k only to vary the size of the frame (k % 7).
 */
F8(10)
F8(11)
F8(12)
F8(13)
F8(14)
F8(15)
F8(16) F8(17) F8(20) F8(21) F8(22) F8(23) F8(24) F8(25) F8(26) F8(27)

	deep_fn *const deep_table[FUNCTIONS] = {N8(10), N8(11), N8(12), N8(13), N8(14), N8(15),
						N8(16), N8(17), N8(20), N8(21), N8(22), N8(23),
						N8(24), N8(25), N8(26), N8(27)};

long deep(long n)
{
	return deep_table[0](n);
}
