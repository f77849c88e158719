/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests demangled names. The expected names were written by hand, except those of libstdc++'s
 * symbols, which come from c++filt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "symbol/demangle/demangle.h"

static void expect(const char *name, const char *shown, enum symbol_language language)
{
	enum symbol_language got = LANGUAGE_UNKNOWN;
	_cleanup_free_ char *s = symbol_demangle(name, &got);

	assert_string_equal(s, shown);
	assert_int_equal(got, language);
}

static void test_languages(void **state)
{
	expect("_ZN5krait3runEiPKc", "krait::run", LANGUAGE_CPP);
	expect("_ZNSt6vectorIiSaIiEE9push_backERKi",
	       "std::vector<int, std::allocator<int> >::push_back", LANGUAGE_CPP);
	expect("_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example", LANGUAGE_RUST);
	expect("_RNvMNtCs1234_7mycrate3fooNtB2_3Bar3baz", "<mycrate::foo::Bar>::baz",
	       LANGUAGE_RUST);
	expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad",
	       LANGUAGE_RUST);
	expect("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h"
	       "930b740aa94f1d3aE",
	       "<Test + 'static as foo::Bar<Test>>::bar", LANGUAGE_RUST);
	expect("PyObject_Call", "PyObject_Call", LANGUAGE_C);
	expect("_start", "_start", LANGUAGE_C);
	expect("_Zebra", "_Zebra", LANGUAGE_C);
	expect("runtime.goexit", "runtime.goexit", LANGUAGE_GO);
	expect("main.(*T).Run", "main.(*T).Run", LANGUAGE_GO);
	expect("github.com/a/b.F", "github.com/a/b.F", LANGUAGE_GO);
	expect("", "", LANGUAGE_UNKNOWN);
	expect("\x7f\xff", "\x7f\xff", LANGUAGE_UNKNOWN);
}

/*
 * Names from polars 2.1, tokenizers 0.23 and cryptography 50 (Rust), and of a class with type
 * arguments in Rust's older mangling.
 */
static void test_pyo3(void **state)
{
	expect("_RNvMs0_NtNtCs6sirJ9RUytl_13polars_python6series10comparisonNtB7_8PySeries15___"
	       "pymethod_eq__",
	       "polars_python::series::PySeries.eq", LANGUAGE_RUST);
	expect("_ZN1a1b8PyLoader21__pymethod_next_one__17h0123456789abcdefE",
	       "a::b::PyLoader.next_one", LANGUAGE_RUST);
	expect("_ZN1a1_46_$LT$impl$u20$a..b..Loader$LT$T$C$a..U$GT$$GT$21__pymethod___next____"
	       "17h0123456789abcdefE",
	       "a::b::Loader.__next__", LANGUAGE_RUST);
	expect("_ZN1a1_17__pymethod_next__17h0123456789abcdefE", "a::_::__pymethod_next__",
	       LANGUAGE_RUST);
	expect("_ZN36_$LT$a..b..C$u20$as$u20$a..Trait$GT$17__pymethod_next__17h0123456789abcdefE",
	       "<a::b::C as a::Trait>::__pymethod_next__", LANGUAGE_RUST);
	expect("_ZN1a1C17__pymethod_next__28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
	       "a::C::__pymethod_next__::{{closure}}", LANGUAGE_RUST);
}

/*
 * Names of functions by Cython: those of a module pkg.lo_op by Cython 3.1, and those of uvloop by
 * 0.29. The .pyx file says which demangled name is right.
 */
static void test_cython(void **state)
{
	expect("__pyx_pw_6uvloop_4loop_4Loop_51run_until_complete",
	       "uvloop.loop.Loop.run_until_complete", LANGUAGE_C);
	expect("__pyx_pw_3pkg_5lo_op_1foo", "pkg.lo_op.foo", LANGUAGE_C);
	expect("__pyx_pw_3pkg_5lo_op_3abc_def", "pkg.lo_op.abc_def", LANGUAGE_C);
	expect("__pyx_pf_3pkg_5lo_op_2abc_def", "pkg.lo_op.abc_def", LANGUAGE_C);
	expect("__pyx_pw_3pkg_5lo_op_4Loop_1__init__", "pkg.lo_op.Loop.__init__", LANGUAGE_C);
	expect("__pyx_pw_3pkg_5lo_op_4Loop_4prop_1__get__", "pkg.lo_op.Loop.prop.__get__",
	       LANGUAGE_C);
	expect("__pyx_pf_3pkg_5lo_op_4Loop_6run_until_complete.constprop.0",
	       "pkg.lo_op.Loop.run_until_complete", LANGUAGE_C);
	expect("__pyx_pw_3pkg_5lo_op_5outer_1inner_one", "pkg.lo_op.outer.inner_one", LANGUAGE_C);
	expect("__pyx_f_3pkg_5lo_op_4Loop__inner", "pkg.lo_op.Loop._inner", LANGUAGE_C);
	expect("__pyx_f_3pkg_5lo_op_plain", "pkg.lo_op.plain", LANGUAGE_C);
	/*
	 * names that stay mangled: a function that is either the first one of a class or the sixth
	 * one of another scope, the code of a generator, a lambda, and nonsense
	 */
	for (const char *const *s =
		     (const char *const[]){
			     "__pyx_pf_3pkg_5lo_op_4Loop___init__", "__pyx_pf_3pkg_5lo_op_foo",
			     "__pyx_gb_3pkg_5lo_op_8generator1",
			     "__pyx_pw_3pkg_5lo_op_5outer_2__pyx_lambda_funcdef_lambda",
			     "__pyx_pw_", "__pyx_pw_1", "__pyx_f_9",
			     "__pyx_pw_99999999999999999999a_1b", "__pyx_pw_1a_1",
			     "__pyx_pw_3foo_bar", "__pyx_f_3pkg_", NULL};
	     *s; s++)
		expect(*s, *s, LANGUAGE_C);
}

static void test_parts(void **state)
{
	expect("foo.cold", "foo", LANGUAGE_C);
	expect("foo.part.0.isra.12.cold", "foo", LANGUAGE_C);
	expect("foo.lto_priv.3", "foo", LANGUAGE_C);
	expect("foo.constprop.0.cold.7", "foo", LANGUAGE_C);
	expect("_ZN5krait3runEiPKc.llvm.1234567890", "krait::run", LANGUAGE_CPP);
	expect("_RNvCs15kBYyAo9fc_7mycrate7example.cold.1", "mycrate::example", LANGUAGE_RUST);
	expect("malloc@@GLIBC_2.2.5", "malloc", LANGUAGE_C);
	expect("memcpy@GLIBC_2.2.5", "memcpy", LANGUAGE_C);
	expect(".cold", ".cold", LANGUAGE_UNKNOWN);
	expect("@x", "@x", LANGUAGE_UNKNOWN);
	expect("foo.7", "foo.7", LANGUAGE_UNKNOWN);
	expect("foo.", "foo.", LANGUAGE_UNKNOWN);
	expect("7.", "7.", LANGUAGE_UNKNOWN);
}

/* Each substitution doubles the length of the name: without a limit it would get 2^40 bytes. */
static void test_bounded(void **state)
{
	char name[1024] = "_Z1fI1AIiiE", *end = name + strlen(name);
	char *s;

	for (int i = 0; i < 40; i++)
		end += sprintf(end, "1AIS%.0d%c_S%.0d%c_E", 0, i ? 'A' + (i - 1) % 26 : '0', 0,
			       i ? 'A' + (i - 1) % 26 : '0');
	strcpy(end, "EvT_");
	s = symbol_demangle(name, NULL);
	assert_non_null(s);
	assert_true(strlen(s) <= SYMBOL_SHOWN_MAX + 3);
	free(s);
	memset(name, 'P', sizeof(name) - 1);
	memcpy(name, "_Z1f", 4);
	name[sizeof(name) - 1] = '\0';
	s = symbol_demangle(name, NULL);
	assert_non_null(s);
	free(s);
}

#define MANGLED                                                                                    \
	"nm -DP --without-symbol-versions /usr/lib/*/libstdc++.so.6 2>/dev/null | "                \
	"awk '/^_Z/ {print $1}' | sort -u"

static void test_against_cxxfilt(void **state)
{
	_cleanup_free_ char *mangled = NULL, *truth = NULL;
	FILE *names = popen(MANGLED, "r"),
	     *shown = popen(MANGLED " | c++filt -p -i 2>/dev/null", "r");
	size_t m = 0, n = 0, count = 0;

	assert_true(names && shown);
	while (getline(&mangled, &m, names) > 1 && getline(&truth, &n, shown) > 1) {
		mangled[strcspn(mangled, "\n")] = truth[strcspn(truth, "\n")] = '\0';
		expect(mangled, truth, LANGUAGE_CPP);
		count++;
	}
	pclose(names);
	pclose(shown);
	print_message("%s: %zu names\n",
		      count ? "compared" : "SKIP demangle: no nm, c++filt, libstdc++", count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_languages), cmocka_unit_test(test_cython),
		cmocka_unit_test(test_pyo3),	  cmocka_unit_test(test_parts),
		cmocka_unit_test(test_bounded),	  cmocka_unit_test(test_against_cxxfilt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
