/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of the interpreter's functions krait hides, and which it never hides. The names are those
 * that nm shows in CPython 2.7 and 3.6 to 3.15. The source file with the list of patterns is
 * included here, so that the list itself can be checked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../../../src/symbol/pytables/machinery.c"

static void machinery_is_known(void **state)
{
	static const char *const names[] = {
		"PyEval_EvalFrameEx",
		"PyEval_EvalCodeEx",
		"PyEval_EvalCode",
		"_PyEval_Vector",
		"_PyEval_EvalFrameDefault",
		"_PyEval_EvalFrameDefault.cold",
		"_PyEval_EvalFrameDefault.localalias",
		"_PyEval_EvalFrameDefault/1",
		"_PyEval_EvalCodeWithName",
		"_PyEval_MakeFrameVector",
		"_TAIL_CALL_BINARY_OP",
		"_PyEvalFramePushAndInit",
		"_PyFrame_ClearExceptCode",
		"PyFrame_New",
		/* functions that call */
		"_PyFunction_Vectorcall",
		"_PyFunction_Vectorcall.localalias",
		"function_call",
		"function_code_fastcall",
		"fast_function",
		"call_function",
		"do_call_core",
		"PyObject_Call",
		"PyObject_CallObject",
		"PyObject_CallFunctionObjArgs",
		"_PyObject_MakeTpCall",
		"_PyObject_Call_Prepend",
		"_PyObject_FastCallDict",
		"PyObject_Vectorcall",
		"_PyObject_VectorcallTstate.lto_priv.0",
		"PyVectorcall_Call",
		"_PyVectorcall_Call",
		"cfunction_call",
		"cfunction_vectorcall_FASTCALL",
		"cfunction_vectorcall_NOARGS",
		"cfunction_vectorcall_O",
		"method_vectorcall",
		"method_vectorcall_NOARGS",
		"method_vectorcall_FASTCALL_KEYWORDS",
		"methoddescr_call",
		"type_call",
		"PyCFunction_Call",
		"_PyCFunction_FastCallDict",
		"_PyMethodDef_RawFastCallKeywords",
		"instancemethod_call",
		"_Py_CheckFunctionResult",
		/* functions in slots */
		"slot_tp_call",
		"slot_tp_init",
		"slot_nb_add",
		"slot_sq_length",
		"slot_mp_subscript",
		"slot_tp_iternext",
		"slot_tp_getattr_hook",
		"slot_am_await",
		"wrap_init",
		"wrap_unaryfunc",
		"wrapper_call",
		"wrapperdescr_call",
		"vectorcall_method",
		"call_method.part.0",
		"call_maybe.constprop.1",
		/* functions of generators */
		"gen_send_ex",
		"gen_send_ex2",
		"gen_iternext",
		"PyIter_Send",
		"coro_wrapper_send",
		"async_gen_asend_send",
		/* names as method_names.h gives them */
		"generator.send",
		"type.tp_call",
		"method-wrapper.tp_call",
		"__new__",
		"slot___add__",
		"wrap___init__",
		"cfunction_vectorcall",
		/* functions that start the program */
		"Py_Main",
		"Py_BytesMain",
		"Py_RunMain",
		"pymain_run_python.constprop.0",
		"PyRun_SimpleFileExFlags",
		"_PyRun_SimpleFileObject",
		"pyrun_file",
		"run_mod",
		"run_eval_code_obj",
		"t_bootstrap",
		"thread_run",
		"pythread_wrapper",
		"_Py_Specialize_LoadAttr",
		"specialize_dict_access",
		"py_trampoline_evaluator",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!machinery_is(names[i]))
			fail_msg("%s is machinery", names[i]);
	}
}

static void work_is_never_folded(void **state)
{
	static const char *const names[] = {
		"",
		".",
		"main",
		"_start",
		"PyInit_zlib",
		/* the functions that `"%d" % x`, chr(), zlib.compress() and `s += t` call */
		"PyUnicode_Format",
		"unicode_mod",
		"unicode_format",
		"PyNumber_Remainder",
		"builtin_chr",
		"PyUnicode_FromOrdinal",
		"zlib_compress",
		"zlib_compress_impl",
		"deflate",
		"unicode_concatenate",
		"PyUnicode_Append",
		"PyUnicode_Concat",
		"PyNumber_InPlaceAdd",
		"string_concatenate",
		"PyString_Format",
		"PyString_Concat",
		"long_add",
		"long_mul",
		"float_add",
		"binary_op1",
		"PyNumber_Add",
		"chr",
		"zlib.compress",
		"str.nb_remainder",
		"str.nb_add",
		"list.sort",
		"dict.tp_new",
		"type.tp_new",
		"type.tp_vectorcall",
		"functools.partial.tp_call",
		"file.close",
		/* functions of containers and builtins */
		"list_sort_impl",
		"list_sort",
		"list_vectorcall",
		"dict_vectorcall",
		"tuple_vectorcall",
		"enumerate_vectorcall",
		"map_vectorcall",
		"zip_next",
		"map_next",
		"listiter_next",
		"PyDict_GetItem",
		"_PyDict_LoadGlobal",
		"lookdict",
		"lookdict_unicode_nodummy",
		"PyObject_GetAttr",
		"_PyObject_GenericGetAttrWithDict",
		"_PyType_Lookup",
		"PyObject_GetIter",
		"PyIter_Next",
		"PySequence_Fast",
		"builtin_sorted",
		"builtin_exec",
		"builtin_eval",
		"builtin___build_class__",
		"builtin_sum",
		"PyObject_Repr",
		"PyObject_RichCompare",
		"PyObject_Hash",
		"partial_call",
		"partial_vectorcall",
		"_functools__lru_cache_wrapper",
		"bounded_lru_cache_wrapper",
		"itemgetter_call",
		"PyCFuncPtr_call",
		"proxy_call",
		"weakref_call",
		"task_step_impl",
		"atexit_callfuncs",
		/* functions of memory */
		"PyObject_Malloc",
		"PyObject_Calloc",
		"_PyObject_Calloc",
		"_PyObject_Free",
		"_PyObject_GC_New",
		"subtype_dealloc",
		"dict_dealloc",
		"_Py_Dealloc",
		"PyObject_Free",
		"type_new",
		"object_new",
		/*
		 * functions of the garbage collector, of imports, of the compiler, and of
		 * exceptions
		 */
		"gc_collect_main",
		"collect.constprop.0",
		"visit_reachable",
		"_PyGC_Collect",
		"PyImport_ImportModuleLevelObject",
		"_PyEval_ImportName",
		"import_name",
		"builtin___import__",
		"_PyImport_LoadDynamicModuleWithSpec",
		"_PyAST_Compile",
		"PyTraceBack_Here",
		"PyErr_SetObject",
		"do_raise",
		/* functions that wait for the GIL or for another thread */
		"PyEval_RestoreThread",
		"PyEval_SaveThread",
		"PyEval_AcquireThread",
		"take_gil",
		"drop_gil",
		"PyGILState_Ensure",
		"_PyThreadState_Attach",
		"lock_PyThread_acquire_lock",
		/* functions that unpack or match values, which runs iterators and methods */
		"_PyEval_UnpackIterable",
		"_PyEval_UnpackIterableStackRef",
		"_PyEval_MatchClass",
		/* functions of the user's program itself */
		"wrap_strftime",
		"wrap_next_line",
		"call_method_of_mine",
		"slot_machine",
		"method_calls",
		"run_models",
		"thread_runner",
		"specializer",
		"gen_sender",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (machinery_is(names[i]))
			fail_msg("%s is work", names[i]);
	}
}

static void loops_are_known(void **state)
{
	assert_true(machinery_is_eval("PyEval_EvalFrameEx", 2));
	assert_true(machinery_is_eval("PyEval_EvalFrameEx.part.3", 2));
	assert_false(machinery_is_eval("PyEval_EvalFrameEx", 3));
	assert_true(machinery_is_eval("_PyEval_EvalFrameDefault", 3));
	assert_true(machinery_is_eval("_PyEval_EvalFrameDefault.cold", 3));
	assert_true(machinery_is_eval("_PyEval_EvalFrameDefault.part.0.cold", 3));
	assert_true(machinery_is_eval("_PyEval_EvalFrameDefault.constprop.0", 3));
	assert_true(machinery_is_eval("_PyEval_EvalFrameDefault.lto_priv.0", 3));
	assert_true(machinery_is_eval("_PyEval_EvalFrameDefault.cold.0/2", 3));
	assert_true(machinery_is_eval("_TAIL_CALL_LOAD_FAST", 3));
	assert_false(machinery_is_eval("_PyEval_EvalFrameDefault", 2));
	assert_false(machinery_is_eval("_PyEval_EvalFrame", 3));
	assert_false(machinery_is_eval("_PyEval_EvalFrameDefaults", 3));
	assert_false(machinery_is_eval("", 3));
}

static void collections_are_known(void **state)
{
	static const char *const entries[] = {"collect",
					      "collect.constprop.0",
					      "collect_generations",
					      "collect_with_callback",
					      "gc_collect_main",
					      "gc_collect_main.lto_priv.0",
					      "gc_collect_generations",
					      "gc_collect",
					      "gc_collect_impl",
					      "PyGC_Collect",
					      "_PyGC_CollectNoFail",
					      "_Py_RunGC",
					      "gc.collect"};
	static const char *const others[] = {"gc_get_objects", "PyGC_Enable",  "collections_clear",
					     "mi_collect",     "collect_name", ""};

	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		assert_true(machinery_is_gc(entries[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(machinery_is_gc(others[i]));
}

/* No pattern has two stars, occurs twice in the list, or is covered by another one. */
static void patterns_are_distinct(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		const char *star = strchr(patterns[i], '*');

		assert_true(!star || !strchr(star + 1, '*'));
		for (size_t j = 0; j < ARRAY_SIZE(patterns); j++) {
			if (i != j && matches(patterns[j], patterns[i], strlen(patterns[i])))
				fail_msg("%s says what %s says", patterns[j], patterns[i]);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(exceptions); i++)
		assert_true(is_one_of(patterns, ARRAY_SIZE(patterns), exceptions[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machinery_is_known),	 cmocka_unit_test(work_is_never_folded),
		cmocka_unit_test(loops_are_known),	 cmocka_unit_test(collections_are_known),
		cmocka_unit_test(patterns_are_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
