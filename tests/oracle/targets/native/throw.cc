/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that call back while an exception is in flight. e_call_K catches what e_throw_K throws; in
 * between, a destructor in e_guarded_K runs while the stack is unwound. Even ones call back from the
 * handler, odd ones from the destructor.
 */
#define EXPORT extern "C" __attribute__((visibility("default"), noinline))

typedef long callback(long);

/* Something to do after a call; its number makes the functions differ. */
#define AFTER(r, k) __asm__ volatile("# " #k : "+r"(r) : : "memory")

struct error {
	callback *f;
	long n;
};

static inline void spin(long n)
{
	for (long i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i));
}

template <long (*call)(callback *, long)> struct guard {
	callback *f;
	long n, *r;
	__attribute__((always_inline)) ~guard()
	{
		*r += call(f, n);
	}
};

#define THROW(k, FROM_GUARD)                                                                       \
	EXPORT long e_unwinding_##k(callback *f, long n)                                           \
	{                                                                                          \
		long r = FROM_GUARD ? f(n) : 1;                                                    \
		spin(150);                                                                         \
		AFTER(r, k);                                                                       \
		return r;                                                                          \
	}                                                                                          \
	EXPORT long e_caught_##k(callback *f, long n)                                              \
	{                                                                                          \
		long r = FROM_GUARD ? 1 : f(n);                                                    \
		spin(150);                                                                         \
		AFTER(r, k);                                                                       \
		return r;                                                                          \
	}                                                                                          \
	EXPORT long e_throw_##k(callback *f, long n)                                               \
	{                                                                                          \
		spin(150);                                                                         \
		throw error{f, n};                                                                 \
	}                                                                                          \
	EXPORT long e_guarded_##k(callback *f, long n, long *r)                                    \
	{                                                                                          \
		guard<e_unwinding_##k> g{f, n, r};                                                 \
		long thrown = e_throw_##k(f, n);                                                   \
		AFTER(thrown, k);                                                                  \
		return thrown;                                                                     \
	}                                                                                          \
	EXPORT long e_call_##k(callback *f, long n)                                                \
	{                                                                                          \
		long r = 0;                                                                        \
		try {                                                                              \
			r += e_guarded_##k(f, n, &r);                                              \
		} catch (const error &e) {                                                         \
			r += e_caught_##k(e.f, e.n);                                               \
		}                                                                                  \
		AFTER(r, k);                                                                       \
		return r;                                                                          \
	}

#define TWO(even, odd) THROW(even, false) THROW(odd, true)
/* clang-format off */
TWO(0, 1) TWO(2, 3) TWO(4, 5) TWO(6, 7) TWO(8, 9)
TWO(10, 11) TWO(12, 13) TWO(14, 15) TWO(16, 17) TWO(18, 19)
