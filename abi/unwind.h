/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How native stacks are unwound: user space compiles an ELF file's call frame information into
 * rows, and the kernel program looks them up. A row says from which address on a rule holds. A rule
 * says how to find the caller's frame. Rules are few, and shared by all files. Rows are 8 bytes and
 * lie in chunks that form a search tree per file. The mappings of a process lie in chunks of the
 * same size.
 */
#ifndef ABI_UNWIND_H
#define ABI_UNWIND_H

#ifdef __bpf__
#include "kernel.h"
#else
#include <linux/types.h>
#endif

/* In which way a rule finds the canonical frame address (CFA; DWARF 5, section 6.4). */
enum unwind_cfa {
	UNWIND_UNKNOWN = 0, /* this code has no rule, so unwinding ends with it */
	UNWIND_END,   /* the outermost frame, whose return address is undefined (_start, clone) */
	UNWIND_REG,   /* CFA = reg + off */
	UNWIND_DEREF, /* CFA = *(reg + off) + off2: realigned stacks (GCC's DRAP) */
	UNWIND_PLT,   /* x86-64 lazy PLT: CFA = rsp + 8, or rsp + 16 if (pc & 15) >= off */
	/*
	 * the frame is that of a signal's return trampoline; the signal's ucontext is at sp + off
	 */
	UNWIND_SIGNAL,
	UNWIND_INDEXED, /* CFA = *(reg + off + 8 * index) + off2: OpenSSL's bn_mul_mont() */
	/*
	 * CFA = reg + off; but in a new thread, where a system call has returned 0, this is the
	 * outermost frame
	 */
	UNWIND_CLONE,
};

/*
 * Registers by their DWARF numbers. x86-64: 3 = rbx, 6 = rbp, 7 = rsp; aarch64: 29 = fp, 30 = lr,
 * 31 = sp.
 */
struct unwind_rule {
	__u8 cfa;   /* enum unwind_cfa: in which way the CFA is found */
	__u8 reg;   /* DWARF number of the register that the CFA is computed from */
	__u8 slots; /* flags for .ra, .fp and .bx: UNWIND_*_FROM_FP, UNWIND_RA_IN_INDEX */
	/* DWARF number of a second register, for UNWIND_INDEXED and UNWIND_RA_IN_INDEX; else 0 */
	__u8 index;
	__s32 off;
	__s16 off2;
	/*
	 * where the caller's return address, frame pointer and rbx are saved: offset from the CFA
	 * (or see UNWIND_FP_FROM_FP) in units of 8 bytes; or UNWIND_SAME, UNWIND_LOST
	 */
	__s16 ra, fp, bx;
};
/*
 * value of .ra, .fp and .bx: the register still has the caller's value (with .ra on aarch64,
 * register lr has the return address)
 */
#define UNWIND_SAME 0x7fff
#define UNWIND_LOST 0x7ffe /* value of .ra, .fp and .bx: the caller's value is lost */

/*
 * .ra, .fp and .bx are offsets from the CFA. With UNWIND_FP_FROM_FP or UNWIND_BX_FROM_FP, .fp or
 * .bx is an offset from the frame's own frame pointer instead. These flags are needed where a stack
 * is realigned, because the distance from the CFA isn't constant there (GCC's DRAP, icc's MKL).
 */
#define UNWIND_FP_FROM_FP 1
#define UNWIND_BX_FROM_FP 2

/*
 * Flag: .ra is UNWIND_SAME, and register .index holds the return address. On x86-64 glibc's vfork()
 * keeps the return address in rdi during the system call.
 */
#define UNWIND_RA_IN_INDEX 4

/*
 * A row is valid for code from the row's key on, up to the key of the next row. A key is an offset
 * of code: the code's address in the file minus the table's base.
 */
#define UNWIND_RULE_BITS 24
#define UNWIND_RULE_MASK ((1u << UNWIND_RULE_BITS) - 1)
/* bit of a row's .value, beside the number of its rule: the code is CPython's evaluation loop */
#define UNWIND_EVAL (1u << 24)

/*
 * A chunk of 4 KiB. It holds either rows or a node of the search tree above the rows. In a node
 * each .value is the number of a chunk. Unused keys are ~0.
 */
#define UNWIND_FANOUT 512
#define UNWIND_LEVELS 3
struct unwind_chunk {
	__u32 key[UNWIND_FANOUT];
	/*
	 * in a row: number of the row's rule, maybe with UNWIND_EVAL; in a node: number of a chunk
	 */
	__u32 value[UNWIND_FANOUT];
};

/*
 * Chunks in one slab (2 MiB). The number of a chunk is slab * UNWIND_SLAB_CHUNKS + index. Smaller
 * slabs would cost more time, because putting a slab into the map of maps waits for all running
 * programs (12 ms).
 */
#define UNWIND_SLAB_CHUNKS	512

#define UNWIND_MAX_TABLES	16384
#define UNWIND_MAX_KERNEL_RULES 32768 /* the most distinct rules of all files together */
#define UNWIND_MAX_SPACES	4096

/* Which native frames of a stack are unwound. */
enum native_mode {
	NATIVE_MODE_NONE,
	/*
	 * from the innermost frame to the evaluation loop of the innermost Python frame; during
	 * garbage collection all frames
	 */
	NATIVE_MODE_LEAF,
	NATIVE_MODE_FULL, /* all frames, out to the frame with which the thread starts */
};

/* Map `unwind_tables`: the rows of one file. */
struct unwind_table {
	__u32 root; /* number of the topmost chunk of the file's search tree */
	/* levels of the search tree: 1 = .root holds rows; 0 = the file has no rows (yet) */
	__u32 depth;
	__u32 used; /* the second in which a sample last used this table of rows */
	/*
	 * how many bytes of code, from offset 0 on, must be unchanged for the rows to be valid; 0 =
	 * the code can't change
	 */
	__u32 guarded;
	__u64 check; /* check_bytes() over the first .guarded bytes of code */
};

/*
 * A chunk of 4 KiB with executable mappings of a process, in the order of their addresses. In an
 * unused entry .start is SPACE_UNUSED.
 */
#define SPACE_MAPPINGS 128
#define SPACE_UNUSED   (1ull << 62)
struct space_mapping {
	__u32 pages; /* size of the mapping in pages of 4,096 bytes */
	/* index of the rows of the mapped file in map `unwind_tables`; 0: the file has no rows */
	__u32 table;
	/* offset of the mapping's first byte, counted as the keys of .table's rows are */
	__u32 key;
	__u32 reserved;
};
/* A mapping as user space keeps it; .table and .key mean the same as in struct space_mapping. */
struct unwind_mapping {
	__u64 start, end;
	__u32 table, key;
};
struct space_chunk {
	__u64 start[SPACE_MAPPINGS];
	struct space_mapping map[SPACE_MAPPINGS];
	__u8 reserved[1024];
};
#define SPACE_CHUNKS 16 /* the most chunks with mappings of one process: 2,048 mappings */

/*
 * Map `spaces`: what a process has mapped. The kernel program counts in .unmaps how often something
 * executable was unmapped. The mappings that user space read are up to date as long as .unmaps
 * equals .at_unmaps. A forked process uses its parent's slot of this map as long as the mappings in
 * it were read before the fork.
 */
struct unwind_space {
	__u64 unmaps, at_unmaps;
	/*
	 * .owner_start_ns, .owner_tgid and .owner_exec are the proc_key of the process whose
	 * mappings were read. 0: user space read the mappings before the process had a sample.
	 */
	__u64 owner_start_ns;
	__u64 read_ns; /* when user space had read the mappings, CLOCK_MONOTONIC */
	__u32 owner_tgid, owner_exec;
	/*
	 * number of this reading of the mappings, which differs if the mappings have changed; 0:
	 * not read yet
	 */
	__u32 version;
	/* set by the kernel program: it needs mappings with a higher .version than this number */
	__u32 asked;
	__u32 chunks; /* how many entries of .chunk are used */
	__u32 chunk[SPACE_CHUNKS];
	/* != 0: user space reads the mappings now, and any new mapping counts in .unmaps */
	__u32 reading;
};

_Static_assert(sizeof(struct unwind_rule) == 16, "");
_Static_assert(sizeof(struct unwind_chunk) == 4096, "");
_Static_assert(sizeof(struct unwind_table) == 24, "");
_Static_assert(sizeof(struct space_chunk) == 4096, "");
_Static_assert(sizeof(struct unwind_space) == 120, "");

#endif
