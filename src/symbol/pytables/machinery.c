/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Has the list of the interpreter's own functions; see machinery.h. The list was made from the
 * symbols of CPython 2.7 and 3.6 to 3.15, and from their sources.
 * tests/unit/symbol/test_machinery.c has names that must be on the list, and names that must not
 * be. A stripped interpreter has only the names that it exports.
 */
#include "symbol/pytables/machinery.h"

#include <stdlib.h>

/*
 * Names of the interpreter's own functions. A * stands for any characters. Where a * would match
 * too much, names are written out: PyObject_Call* would match PyObject_Calloc.
 */
static const char *const patterns[] = {
	/*
	 * Functions of the evaluation loop: they run it, make and clear its frames, look up names
	 * for it. Functions _PyEval_* that import, unpack, match or wait for the GIL aren't listed,
	 * because users want to see these.
	 */
	"_PyEvalFrame*",
	"_PyEval_CallTracing",
	"_PyEval_CheckExc*",
	"_PyEval_Eval*",
	"_PyEval_ExceptionGroupMatch",
	"_PyEval_Format*",
	"_PyEval_FrameClearAndPop",
	"_PyEval_GetANext",
	"_PyEval_GetAwaitable",
	"_PyEval_GetIter",
	"_PyEval_Load*",
	"_PyEval_MakeFrameVector",
	"_PyEval_MakePendingCalls",
	"_PyEval_MonitorRaise",
	"_PyEval_SpecialMethodCanSuggest",
	"_PyEval_Vector",
	"_PyFrame_Clear*",
	"_PyFrame_Copy",
	"_PyFrame_Get*",
	"_PyFrame_Init*",
	"_PyFrame_Is*",
	"_PyFrame_MakeAndSetFrameObject",
	"_PyFrame_New_NoTrack",
	"_PyFrame_NumSlotsForCodeObject",
	"_PyFrame_Push*",
	"_PyFrame_SetStackPointer",
	"_PyFrame_Stack*",
	"_PyJIT_Entry",
	"_PyStackRef_*",
	"_PyThreadState_BumpFramePointerSlow",
	"_PyThreadState_HasStackSpace",
	"_PyThreadState_PopFrame",
	"_PyThreadState_PushFrame",
	"_PyTier2Interpreter",
	"_Py_EnterRecursive*",
	"_Py_HandlePending",
	"_TAIL_CALL_*", /* a function for each opcode, in 3.14 and later if built with tail calls */
	"PyEval_Eval*",
	"PyFrame_BlockPop",
	"PyFrame_BlockSetup",
	"PyFrame_New",
	"PyStackRef_*",
	"check_periodics*",
	"clear_gen_frame",
	"clear_thread_frame",
	"eval_frame_handle_pending",
	"frame_dealloc",
	"get_exception_handler",
	"initialize_locals",
	"make_pending_calls",
	"_make_pending_calls",
	"py_trampoline_evaluator", /* with -X perf, this function runs frames by trampolines */

	/*
	 * Functions by which, in 3.11 and later, the evaluation loop rewrites its own instructions.
	 */
	"_PyCode_Quicken",
	"_PyCode_Warmup",
	"_Py_Specialize_*",
	"analyze_descriptor*",
	"do_specialize_instance_load_attr",
	"specialize",
	"specialize_*",
	"unspecialize",

	/* Functions that call an object of any type. */
	"_PyCFunction_FastCall*",
	"_PyCallMethodDescriptor*",
	"_PyCFunction_Vectorcall*",
	"_PyFunction_FastCall*",
	"_PyFunction_Vectorcall",
	"_PyMethodDef_RawFastCall*",
	"_PyMethodDescr_FastCall*",
	"_PyMethodDescr_Vectorcall",
	"_PyObject_Call",
	"_PyObject_CallFunction*",
	"_PyObject_CallMethod*",
	"_PyObject_CallNoArg*",
	"_PyObject_CallOneArg",
	"_PyObject_Call_Prepend",
	"_PyObject_FastCall*",
	"_PyObject_MakeTpCall",
	"_PyObject_MaybeCallSpecial*",
	"_PyObject_Vectorcall*",
	"_PyStack_*",
	"_PyVectorcall_*",
	"_Py_BuiltinCall*",
	"_Py_CallBuiltinClass*",
	"_Py_CheckFunctionResult",
	"_Py_CheckSlotResult",
	"_Py_VectorCall*_StackRefSteal",
	"PyCFunction_Call",
	"PyEval_Call*",
	"PyObject_Call",
	"PyObject_CallFinalizer*",
	"PyObject_CallFunction*",
	"PyObject_CallMethod*",
	"PyObject_CallNoArgs",
	"PyObject_CallObject",
	"PyObject_CallOneArg",
	"PyObject_Vectorcall*",
	"PyVectorcall_*",
	"call_attribute",
	"call_function",
	"call_function_tail",
	"call_maybe",
	"call_method",
	"call_method_noarg",
	"call_unbound",
	"call_unbound_noarg",
	"callmethod",
	"do_call",
	"do_call_core",
	"ext_do_call",
	"fast_function",
	"function_code_fastcall",
	"load_args",
	"lookup_maybe",
	"lookup_maybe_method",
	"lookup_method",
	"lookup_method_ex",
	"maybe_call_special_no_args",
	"maybe_call_special_one_arg",
	"object_vacall",
	"objargs_mkstack",
	"objargs_mktuple",
	"update_keyword_args",
	"update_star_args",
	"vectorcall_maybe",
	"vectorcall_method",
	"vectorcall_unbound",

	/*
	 * Functions tp_call of callable objects: functions, methods, C functions, classes. Not
	 * every *_vectorcall is listed: list_vectorcall does the work of list(x).
	 */
	"cfunction_call*",
	"cfunction_check_kwargs",
	"cfunction_enter_call",
	/* the name that method_names.h gives to any of the vectorcall functions in this list */
	"cfunction_vectorcall",
	"cfunction_vectorcall_*",
	"classmethoddescr_call",
	"function_call",
	"instance_call",
	"instancemethod_call",
	"method_call",
	"method_check_args",
	"method_enter_call",
	"method_vectorcall",
	"method_vectorcall_*",
	"methoddescr_call",
	"type_call",
	"wrapper_call",
	"wrapperdescr_call",
	"wrapperdescr_raw_call",

	/*
	 * Functions that lead from a C slot of a type to a method of the class, or from a method to
	 * a C slot.
	 */
	"_PyObject_SlotCompare",
	"_Py_slot_tp_*",
	"richcmp_*",
	"__new__", /* the name that method_names.h gives to tp_new_wrapper */
	/* names that method_names.h gives to a slot's function of __add__ and the like */
	"slot___*",
	"slot_am_*",
	"slot_bf_*",
	"slot_mp_*",
	"slot_nb_*",
	"slot_sq_*",
	"slot_tp_*",
	"tp_new_wrapper",
	"wrap___*", /* names that method_names.h gives to the wrappers of slots */
	"wrap_binaryfunc*",
	"wrap_buffer",
	"wrap_call",
	"wrap_cmpfunc",
	"wrap_coercefunc",
	"wrap_del",
	"wrap_delattr",
	"wrap_delitem",
	"wrap_delslice",
	"wrap_descr_*",
	"wrap_hashfunc",
	"wrap_indexargfunc",
	"wrap_init",
	"wrap_inquirypred",
	"wrap_lenfunc",
	"wrap_next",
	"wrap_objobj*",
	"wrap_releasebuffer",
	"wrap_richcmpfunc",
	"wrap_setattr",
	"wrap_sq_*",
	"wrap_ssize*",
	"wrap_ternaryfunc*",
	"wrap_unaryfunc",

	/* Functions that resume a generator, a coroutine or an asynchronous generator. */
	"_PyAsyncGenASend_Send",
	"_PyCoro_GetAwaitableIter",
	"_PyGen_ClearFrame",
	"_PyGen_FetchStopIterationValue",
	"_PyGen_GetGeneratorFromFrame",
	"_PyGen_Send",
	"_PyGen_SetStopIterationValue",
	"_PyGen_yf",
	"_PyIter_Send",
	"_gen_throw",
	"PyGen_am_send",
	"PyIter_Send",
	"async_gen_anext",
	"async_gen_asend_iternext",
	"async_gen_asend_send",
	"async_gen_asend_throw",
	"async_gen_athrow_iternext",
	"async_gen_athrow_send",
	"async_gen_athrow_throw",
	"async_gen_unwrap_value",
	"coro_wrapper_iternext",
	"coro_wrapper_send",
	"coro_wrapper_throw",
	"gen_clear_frame",
	"gen_close",
	"gen_close_iter",
	"gen_iternext",
	"gen_send",
	"gen_send_ex",
	"gen_send_ex2",
	"gen_set_exception",
	"gen_set_stop_iteration",
	"gen_status_from_result",
	"gen_throw",
	"gen_throw_current_exception",
	"gen_try_set_executing",

	/*
	 * Functions that run between the start of the program or thread and its first Python frame.
	 */
	"_PyRun_*",
	"_Py_UnixMain",
	"_pymain_*",
	"PyRun_*",
	"Py_BytesMain",
	"Py_Main",
	"Py_RunMain",
	"RunInteractiveHook",
	"RunMainFromImporter",
	"RunModule",
	"pymain_*",
	"pyrun_*",
	"pythread_wrapper",
	"run_eval_code_obj",
	"run_mod",
	"run_pyc_file",
	"t_bootstrap",
	"thread_run",
};

/*
 * The functions in patterns[], under the names that method_names.h finds in the tables of a
 * stripped file.
 */
static const char *const from_tables[] = {
	"async_generator.am_anext",
	"async_generator_asend.am_send",
	"async_generator_asend.send",
	"async_generator_asend.throw",
	"async_generator_asend.tp_iternext",
	"async_generator_athrow.send",
	"async_generator_athrow.throw",
	"async_generator_athrow.tp_iternext",
	"builtin_function_or_method.tp_call",
	"classmethod_descriptor.tp_call",
	"coroutine.am_send",
	"coroutine.close",
	"coroutine.send",
	"coroutine.throw",
	"coroutine_wrapper.send",
	"coroutine_wrapper.throw",
	"coroutine_wrapper.tp_iternext",
	"frame.tp_dealloc",
	"function.tp_call",
	"generator.am_send",
	"generator.close",
	"generator.send",
	"generator.throw",
	"generator.tp_iternext",
	"instance.tp_call",
	"instancemethod.tp_call",
	"method.tp_call",
	"method-wrapper.tp_call",
	"method_descriptor.tp_call",
	"type.tp_call",
	"wrapper_descriptor.tp_call",
};

/* Names that match a pattern of patterns[], but aren't functions of the interpreter's own. */
static const char *const exceptions[] = {
	"_PyFrame_GetLocals", /* locals() calls _PyFrame_GetLocals(), so users want to see it */
	"pymain_import_readline",
	"pymain_init",
	"pymain_free",
};

/* Returns the length of the function's own name in @symbol, without suffixes. */
static size_t own_length(const char *symbol)
{
	return symbol[0] ? 1 + strcspn(symbol + 1, ".@/") : 0;
}

static bool matches(const char *pattern, const char *symbol, size_t n)
{
	const char *star = strchr(pattern, '*');
	size_t before = star ? (size_t)(star - pattern) : strlen(pattern), after;

	if (!star)
		return n == before && !memcmp(symbol, pattern, n);
	after = strlen(star + 1);
	return n >= before + after && !memcmp(symbol, pattern, before) &&
	       !memcmp(symbol + n - after, star + 1, after);
}

static bool is_one_of(const char *const *list, size_t n, const char *symbol)
{
	size_t length = own_length(symbol);

	for (size_t i = 0; length && i < n; i++) {
		if (list[i][0] == symbol[0] && matches(list[i], symbol, length))
			return true;
	}
	return false;
}

static bool is_from_tables(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(from_tables); i++) {
		if (streq(name, from_tables[i]))
			return true;
	}
	return false;
}

bool machinery_is(const char *symbol)
{
	if (strchr(symbol, '.') && is_from_tables(symbol))
		return true;
	return is_one_of(patterns, ARRAY_SIZE(patterns), symbol) &&
	       !is_one_of(exceptions, ARRAY_SIZE(exceptions), symbol);
}

bool machinery_is_eval(const char *symbol, unsigned int major)
{
	static const char *const loop_2[] = {"PyEval_EvalFrameEx"};
	static const char *const loop_3[] = {"_PyEval_EvalFrameDefault", "_TAIL_CALL_*"};

	return major < 3 ? is_one_of(loop_2, ARRAY_SIZE(loop_2), symbol)
			 : is_one_of(loop_3, ARRAY_SIZE(loop_3), symbol);
}

bool machinery_is_import(const char *symbol)
{
	/* in this list, __import__ and exec are names that come from method_names.h */
	static const char *const imports[] = {
		"PyImport_*",  "_PyEval_ImportFrom",   "_PyEval_ImportName*", "_PyEval_LazyImport*",
		"_PyImport_*", "__import__",	       "builtin___import__*", "builtin_exec*",
		"exec",	       "import_find_and_load", "import_from",	      "import_name",
	};

	return is_one_of(imports, ARRAY_SIZE(imports), symbol);
}

bool machinery_is_gc(const char *symbol)
{
	static const char *const entries[] = {
		"PyGC_Collect",
		"_PyGC_Collect*",
		/* the function `collect` is the garbage collector up to 3.11 */
		"_Py_RunGC",
		"collect",
		"collect_generations",
		"collect_with_callback",
		"gc_collect",
		"gc_collect_*",
	};

	return is_one_of(entries, ARRAY_SIZE(entries), symbol) || streq(symbol, "gc.collect");
}
