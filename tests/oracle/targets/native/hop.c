/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 200 functions c_hop_K(). Each calls its own c_low_K(), which calls the callback, so that every
 * native frame has a name that says where it belongs. Frames are laid out in each way that a
 * compiler knows: addressed from the stack pointer, from the frame pointer, of variable size,
 * realigned.
 */
#include <alloca.h>
#include <pthread.h>
#include <stddef.h>

#define EXPORT	 __attribute__((visibility("default")))
#define NOINLINE __attribute__((noinline, noclone))
#define TURNS	 150

typedef long callback(long);

static inline void spin(long n)
{
	for (long i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i));
}

/*
 * An asm statement after a call, so that the call isn't a tail call and the caller has a frame. The
 * number @k makes functions differ, because a compiler would merge equal functions.
 */
#define AFTER(r, k) __asm__ volatile("# " #k : "+r"(r) : : "memory")

/* Each of these declares what a function's frame holds. */
#define PLAIN	 volatile char room[1]
#define BIG	 volatile char room[3000]
#define VARIABLE volatile char *room = alloca(16 + ((size_t)n & 7) * 64)
#define ALIGNED                                                                                    \
	volatile char line[96] __attribute__((aligned(64)));                                       \
	volatile char *room = ((size_t)n & 1) ? line : alloca(32)

#define LOW(k, ROOM)                                                                               \
	NOINLINE static long c_low_##k(callback *f, long n)                                        \
	{                                                                                          \
		ROOM;                                                                              \
		long r;                                                                            \
		room[0] = 1;                                                                       \
		spin(TURNS);                                                                       \
		r = f(n);                                                                          \
		spin(TURNS);                                                                       \
		AFTER(r, k);                                                                       \
		return r + room[0] - 1;                                                            \
	}
#define POINTER(k) __attribute__((optimize("no-omit-frame-pointer"))) LOW(k, PLAIN)

#define HOP(k)                                                                                     \
	EXPORT NOINLINE long c_hop_##k(callback *f, long n)                                        \
	{                                                                                          \
		long r;                                                                            \
		spin(TURNS);                                                                       \
		r = c_low_##k(f, n);                                                               \
		spin(TURNS);                                                                       \
		AFTER(r, k);                                                                       \
		return r;                                                                          \
	}

#define FIVE(k0, k1, k2, k3, k4)                                                                   \
	LOW(k0, PLAIN)                                                                             \
	POINTER(k1)                                                                                \
	LOW(k2, VARIABLE) LOW(k3, ALIGNED) LOW(k4, BIG) HOP(k0) HOP(k1) HOP(k2) HOP(k3) HOP(k4)
#define TEN(k) FIVE(k##0, k##1, k##2, k##3, k##4) FIVE(k##5, k##6, k##7, k##8, k##9)

/* A thread that Python didn't start. */
struct start {
	callback *f;
	long n;
	pthread_t thread;
};

static void *c_thread(void *argument)
{
	struct start *s = argument;
	long r = 0;

	for (int i = 0; i < 200; i++)
		r += s->f(s->n);
	AFTER(r, thread);
	return NULL;
}

/* Runs f and g in threads of their own. */
EXPORT long c_threads(callback *f, callback *g, long n)
{
	struct start start[2] = {{.f = f, .n = n}, {.f = g, .n = n}};

	for (int i = 0; i < 2; i++)
		if (pthread_create(&start[i].thread, NULL, c_thread, &start[i]))
			return -1;
	for (int i = 0; i < 2; i++)
		pthread_join(start[i].thread, NULL);
	return 0;
}

/* clang-format off */
TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9)
TEN(10) TEN(11) TEN(12) TEN(13) TEN(14) TEN(15) TEN(16) TEN(17) TEN(18) TEN(19)
