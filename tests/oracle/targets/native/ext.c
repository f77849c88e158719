/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An extension module: 200 functions x_hop_K(callable, n). Each calls its own x_low_K(), which
 * calls the callable. They do so in each of the ways that C code calls a Python function.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03060000 /* with it, one file serves all versions of Python 3 */
#include <Python.h>
#include <alloca.h>

#define NOINLINE __attribute__((noinline, noclone))
#define EXPORT	 __attribute__((visibility("default"))) /* from 3.9 on PyMODINIT_FUNC has it */
#define TURNS	 100

static inline void spin(long n)
{
	for (long i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(i));
}

/* Something to do after a call; its number makes the functions differ. */
#define AFTER(r, k) __asm__ volatile("# " #k : "+r"(r) : : "memory")

/* Each of these is an expression that calls f(n). */
#define BY_ARGS	  PyObject_CallFunctionObjArgs(f, n, NULL)
#define BY_FORMAT PyObject_CallFunction(f, "(O)", n)
#define BY_TUPLE  call_tuple(f, n)
#define BY_METHOD PyObject_CallMethod(f, "__call__", "(O)", n)
#define BY_ALLOCA (memset(alloca(64 + ((size_t)n & 0xf0)), 1, 64), BY_ARGS)

static inline PyObject *call_tuple(PyObject *f, PyObject *n)
{
	PyObject *args = PyTuple_Pack(1, n), *r = args ? PyObject_Call(f, args, NULL) : NULL;

	Py_XDECREF(args);
	return r;
}

#define HOP(k, CALL)                                                                               \
	NOINLINE static PyObject *x_low_##k(PyObject *f, PyObject *n)                              \
	{                                                                                          \
		PyObject *r;                                                                       \
		spin(TURNS);                                                                       \
		r = CALL;                                                                          \
		spin(TURNS);                                                                       \
		AFTER(r, k);                                                                       \
		return r;                                                                          \
	}                                                                                          \
	NOINLINE static PyObject *x_hop_##k(PyObject *self, PyObject *args)                        \
	{                                                                                          \
		PyObject *f, *n, *r;                                                               \
		(void)self;                                                                        \
		if (!PyArg_ParseTuple(args, "OO", &f, &n))                                         \
			return NULL;                                                               \
		spin(TURNS);                                                                       \
		r = x_low_##k(f, n);                                                               \
		spin(TURNS);                                                                       \
		AFTER(r, k);                                                                       \
		return r;                                                                          \
	}

#define FIVE(DO, k0, k1, k2, k3, k4)                                                               \
	DO(k0, BY_ARGS) DO(k1, BY_FORMAT) DO(k2, BY_TUPLE) DO(k3, BY_METHOD) DO(k4, BY_ALLOCA)
#define TEN(DO, k) FIVE(DO, k##0, k##1, k##2, k##3, k##4) FIVE(DO, k##5, k##6, k##7, k##8, k##9)
/* clang-format off */
#define ALL(DO)                                                                                    \
	TEN(DO, ) TEN(DO, 1) TEN(DO, 2) TEN(DO, 3) TEN(DO, 4) TEN(DO, 5) TEN(DO, 6) TEN(DO, 7)     \
	TEN(DO, 8) TEN(DO, 9) TEN(DO, 10) TEN(DO, 11) TEN(DO, 12) TEN(DO, 13) TEN(DO, 14)          \
	TEN(DO, 15) TEN(DO, 16) TEN(DO, 17) TEN(DO, 18) TEN(DO, 19)
/* clang-format on */

ALL(HOP)

#define METHOD(k, CALL) {"x_hop_" #k, x_hop_##k, METH_VARARGS, NULL},
static PyMethodDef methods[] = {ALL(METHOD){NULL, NULL, 0, NULL}};

#if PY_MAJOR_VERSION < 3
EXPORT PyMODINIT_FUNC initext(void)
{
	Py_InitModule("ext", methods);
}
#else
static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT, "ext", NULL, -1, methods, NULL, NULL, NULL, NULL};

EXPORT PyMODINIT_FUNC PyInit_ext(void)
{
	return PyModule_Create(&module);
}
#endif
