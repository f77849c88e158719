/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library for gil_blame.py: its threads wait for the GIL and hold it, and note when. Each thread
 * runs one loop in C, called through ctypes.PyDLL. So it takes and drops the GIL only where it
 * looks at the clock. If a thread took the GIL without sleeping, it hasn't waited for the GIL,
 * though it may have lost its CPU meanwhile. If it lost its CPU in a futex call, krait counts that
 * as waiting.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default"), noinline))
#define MOST   (1 << 18)

/* CPython's functions. They are found in the interpreter that loads this library. */
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *state);
void *PyList_GetSlice(void *list, long from, long to);
int PyList_Sort(void *list);
void *PyObject_CallFunctionObjArgs(void *call, ...);
void Py_DecRef(void *object);

enum { ASKS, SORTS, MATCHES, SLEEPS };

struct span {
	/*
	 * 'W': waited for the GIL; 'U': waited for the GIL, but for a part of the time the thread
	 * may only have lacked a CPU; 'P': lacked a CPU while it took the GIL, and may also have
	 * waited for the GIL; 'H': held the GIL
	 */
	char what;
	long long from, to;
	/*
	 * of a wait: the part of it in which the thread had a CPU, to look whether the GIL is free;
	 * of 'H': how long the thread asked to sleep while it held the GIL
	 */
	long long part;
};

static long long read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static void nap(long long ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	if (ns > 0)
		nanosleep(&t, NULL);
}

struct counts {
	long slept, preempted;
	long long cpu;
};

static struct counts counts(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (struct counts){usage.ru_nvcsw, usage.ru_nivcsw,
			       read_clock(CLOCK_THREAD_CPUTIME_ID)};
}

/* Notes the time from @from to @to as a wait if the thread has left its CPU since @before. */
static long note(struct span *spans, long n, struct counts before, long long from, long long to)
{
	long long cpu = read_clock(CLOCK_THREAD_CPUTIME_ID) - before.cpu;
	struct counts after = counts();
	bool slept = after.slept != before.slept, preempted = after.preempted != before.preempted;

	if (!slept && !preempted)
		return n;
	spans[n] = (struct span){!slept ? 'P' : preempted ? 'U' : 'W', from, to, cpu};
	return n + 1;
}

static void hold(int kind, void *object, void *argument, long size)
{
	void *made = NULL;

	if (kind == SORTS) {
		made = PyList_GetSlice(object, 0, size);
		PyList_Sort(made);
	} else if (kind == MATCHES) {
		made = PyObject_CallFunctionObjArgs(object, argument, NULL);
	} else if (kind == SLEEPS) {
		nap(size);
	}
	if (made)
		Py_DecRef(made);
}

struct account {
	struct span spans[MOST];
	long n;
	/* when the thread last got the GIL in give(); 0: it hasn't called give() yet */
	long long since;
	long long nap; /* how long the thread sleeps each time that it has the GIL */
};

/*
 * Drops the GIL until the time @until, then takes it again. Notes how long the thread had held the
 * GIL, and how long it waits for it.
 */
static void give(struct account *a, long long until)
{
	struct counts before = counts();
	long long from = now();
	void *state;

	if (a->since)
		a->spans[a->n++] = (struct span){'H', a->since, from, a->nap};
	state = PyEval_SaveThread();
	a->n = note(a->spans, a->n, before, from, now());
	while (now() < until)
		nap(until - now());
	before = counts();
	from = now();
	PyEval_RestoreThread(state);
	a->since = now();
	a->n = note(a->spans, a->n, before, from, a->since);
}

static void tell(const char *path, const struct span *spans, long n)
{
	FILE *f = fopen(path, "w");

	for (long i = 0; f && i < n; i++)
		fprintf(f, "%c %lld %lld %lld\n", spans[i].what, spans[i].from, spans[i].to,
			spans[i].part);
	if (f)
		fclose(f);
}

/*
 * Until @end, in turn: drops the GIL for @gap ns, takes it, and holds it as @kind says. Writes the
 * account to the file @path. Before @begin, and for a second after @end, no thread holds the GIL,
 * because the program's Python code waits for it too.
 */
EXPORT void krait_contend(int kind, void *object, void *argument, long size, long gap,
			  long long begin, long long end, const char *path)
{
	struct account *a = malloc(sizeof(*a));

	if (!a)
		return;
	a->n = a->since = 0;
	a->nap = kind == SLEEPS ? size : 0;
	give(a, begin);
	while (a->n < MOST - 6 && now() < end) {
		give(a, now() + gap);
		hold(kind, object, argument, size);
	}
	give(a, end + 1000000000);
	tell(path, a->spans, a->n);
	free(a);
}
