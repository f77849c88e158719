/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words that krait shows for what it doesn't know of a stack. Each text is written in this
 * file, once: for each mark (a frame that stands for what isn't known), and for each way in which a
 * walk of Python frames or an unwinding of native frames ends. An entry has its name in the source
 * code, the words that are shown, and one sentence that explains these words. Stacks, the lines
 * that a recording prints at its end, the manual page and the readers of formats take the texts
 * from this file (src/profile/mark.h). tests/build/rules.sh fails if another source file has a copy
 * of a text.
 */
#ifndef ABI_MARKS_H
#define ABI_MARKS_H

/* clang-format off */

/* A mark is a frame that stands for what isn't known. It has this word in place of a file name. */
#define MARK_MAPPING "[krait]"

/*
 * Frames that stand for what isn't known: X(NAME, text, sentence). A reason or a name replaces
 * "%s".
 */
#define MARKS(X)                                                                                   \
	X(NO_STACK, "[no stack]",                                                                  \
	  "The sample is counted, but its stack was not recorded, or all its frames are hidden.")  \
	X(TRUNCATED, "[truncated]",                                                                \
	  "The outermost frames of a deep stack are left out.")                                    \
	X(NO_PYTHON, "[no Python]",                                                                \
	  "The thread has no Python frame.")                                                       \
	X(STARTING, "[interpreter starting]",                                                      \
	  "The interpreter has no Python frame yet.")                                              \
	X(ENDING, "[interpreter ending]",                                                          \
	  "The interpreter has no Python frame any more.")                                         \
	X(UNSUPPORTED, "[unsupported: %s]",                                                        \
	  "krait can't read the frames of this interpreter.")                                      \
	X(INCOMPLETE, "[incomplete: %s]",                                                          \
	  "Frames, or the name of a frame, are missing at this place.")                            \
	X(NO_NAME, "[name not readable]",                                                          \
	  "A function whose name could not be read.")                                              \
	X(RARE, "[rare code]",                                                                     \
	  "Frames of rare stacks, summed up to keep the recording within its memory.")             \
	X(FULL, "[no memory for more stacks]",                                                     \
	  "Stacks that were new after the memory for stacks was used up.")

/*
 * How a walk of Python frames ended: X(NAME, mark, words, sentence). The first outcome is success.
 * If the mark is INCOMPLETE, the mark shows the words as its reason.
 */
#define WALK_OUTCOMES(X)                                                                           \
	X(OK, NO_STACK, "complete",                                                                \
	  "The stack was read to its outermost frame.")                                            \
	X(TRUNCATED, TRUNCATED, "deeper than 1,024 frames",                                        \
	  "The innermost 1,024 Python frames are shown; those further out are left out.")          \
	X(NO_PYTHON, NO_PYTHON, "thread without Python: starting, ending or native",               \
	  "The thread ran no Python function when the sample was taken.")                          \
	X(STARTING, STARTING, "the interpreter starts: no Python yet",                             \
	  "The sample was taken before the first Python function of the process.")                 \
	X(ENDING, ENDING, "the interpreter or its process ends: no Python any more",               \
	  "The sample was taken after the last Python function of the process.")                   \
	X(PENDING, INCOMPLETE, "process not examined yet",                                         \
	  "The process was new, and krait had not yet read which interpreter it has.")             \
	X(UNSUPPORTED, UNSUPPORTED, "interpreter not understood",                                  \
	  "krait can't read the frames of this interpreter; NAME is its name and version.")        \
	X(TLS_FAULT, INCOMPLETE, "thread's key table not readable",                                \
	  "The memory that leads from the thread to its Python state could not be read.")          \
	X(TSTATE_FAULT, INCOMPLETE, "thread state not readable",                                   \
	  "The memory of the thread's Python state could not be read.")                            \
	X(TSTATE_MISMATCH, INCOMPLETE, "thread state of another thread",                           \
	  "The Python state that was found belongs to another thread.")                            \
	X(FRAME_FAULT, INCOMPLETE, "frame not readable",                                           \
	  "The memory of a frame could not be read.")                                              \
	X(FRAME_TORN, INCOMPLETE, "taken while one frame replaced another",                        \
	  "The sample was taken during a call or a return, when the frames did not lead to the "   \
	  "outermost one.")                                                                        \
	X(FRAME_CYCLE, INCOMPLETE, "frame chain runs in a circle",                                 \
	  "Following the callers led back to a frame that had been read already.")                 \
	X(FRAME_CALLER, INCOMPLETE, "the caller of the outermost function isn't known",            \
	  "On Python 3.9, when an exception is thrown into a generator, the interpreter itself "   \
	  "doesn't know by which function.")                                                       \
	X(CODE_FAULT, INCOMPLETE, "code object not readable",                                      \
	  "The memory of a frame's code object could not be read.")                                \
	X(CODE_HUGE, INCOMPLETE, "code objects too large to verify",                               \
	  "Verifying that the code objects are still the same would have taken too long.")         \
	X(NOT_CODE, INCOMPLETE, "not a code object",                                               \
	  "A frame has no code object: it was left over, or not set up yet.")                      \
	X(STACK_LOST, INCOMPLETE, "the stack was lost between the kernel and krait",               \
	  "The kernel program sent the frames of this stack, but krait did not receive them.")     \
	X(CROWDED, INCOMPLETE, "too many new processes to look at",                                \
	  "So many processes began that krait only counts the samples of this one, without stacks.")

/*
 * These words come before the words of a NATIVE_OUTCOMES entry, in marks and in the lines that a
 * recording prints at its end.
 */
#define NATIVE_WORDS_OF "native stack: "

/*
 * How the unwinding of a native stack ended: X(NAME, words, sentence). The outcomes from LATE on
 * mean that the unwinding broke off, so the stack gets the mark INCOMPLETE. Only user space gives
 * the last outcome, when it merges native and Python frames.
 */
#define NATIVE_OUTCOMES(X)                                                                         \
	X(NONE, "not asked for",                                                                   \
	  "No native frames were asked for.")                                                      \
	X(WHOLE, "complete",                                                                       \
	  "The native stack was unwound to its outermost frame.")                                  \
	X(LEAF, "up to the innermost Python frame",                                                \
	  "The native frames that the innermost Python frame called were unwound.")                \
	X(LATE, "took too long",                                                                   \
	  "Unwinding was stopped because it took longer than one sample may.")                     \
	X(TRUNCATED, "deeper than 2,048 frames",                                                   \
	  "The innermost 2,048 native frames are shown; those further out are left out.")          \
	X(NO_SPACE, "mappings not read yet",                                                       \
	  "krait had not yet read which files the process maps.")                                  \
	X(UNMAPPED, "code outside of the known mappings",                                          \
	  "A return address lies in no mapping of code that krait knows.")                         \
	X(NO_ROWS, "unwind tables not ready",                                                      \
	  "The unwind tables of a file were not made yet, or were freed for lack of room.")        \
	X(NO_RULE, "code without unwind information",                                              \
	  "Nothing says how to find the caller of a function.")                                    \
	X(NO_REGISTER, "frame address in a register that isn't known",                             \
	  "The caller is found through a register whose value the inner frames did not keep.")     \
	X(STACK_FAULT, "not readable",                                                             \
	  "The memory of the C stack could not be read.")                                          \
	X(NO_PROGRESS, "impossible frame address",                                                 \
	  "The address found for the caller's frame is misaligned, too far away, or not beyond "   \
	  "the frame that it called.")                                                             \
	X(CONTRADICTED, "doesn't match the Python frames",                                         \
	  "The evaluation loops on the native stack are not those of the Python frames.")

/*
 * Reasons why a frame has no name or line, in a stack that was walked to its outermost frame:
 * X(NAME, words, sentence).
 */
#define NAMING_OUTCOMES(X)                                                                         \
	X(CODE, "code object lost",                                                                \
	  "A function could not be named: its code object did not reach krait.")                   \
	X(NAME, "name not readable",                                                               \
	  "The name of a function could not be read, and the process has ended.")                  \
	X(LINES, "line table not readable",                                                        \
	  "The lines of a function could not be read, and the process has ended.")
/* clang-format on */

enum mark {
#define X(name, text, sentence) MARK_##name,
	MARKS(X)
#undef X
		MARK_MAX
};

enum walk_outcome {
#define X(name, mark, words, sentence) WALK_##name,
	WALK_OUTCOMES(X)
#undef X
		WALK_OUTCOME_MAX
};

enum native_outcome {
#define X(name, words, sentence) NATIVE_##name,
	NATIVE_OUTCOMES(X)
#undef X
		NATIVE_OUTCOME_MAX
};

enum naming_outcome {
#define X(name, words, sentence) NAMING_##name,
	NAMING_OUTCOMES(X)
#undef X
		NAMING_OUTCOME_MAX
};

#endif
