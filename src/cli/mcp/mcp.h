/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait mcp`: the Model Context Protocol (revision 2025-11-25, its transport "stdio"): JSON-RPC 2.0
 * messages, one a line. A client may do what the user who started it may; what it sends is bounded
 * and checked all the same.
 */
#ifndef CLI_MCP_MCP_H
#define CLI_MCP_MCP_H

#include "base/str.h"
#include "base/util.h"

#define MCP_LINE_BYTES	 (1u << 20)  /* of a message */
#define MCP_ANSWER_BYTES (32u << 10) /* of what a tool answers */

/*
 * Answers one message of @n bytes, without its newline. Appends the answer's line to @ret; nothing
 * for a notification.
 */
void mcp_answer(const char *directory, const char *line, size_t n, struct str *ret);

/* The error of a message that couldn't be read, as mcp_answer() gives them. */
void mcp_too_long(struct str *ret);

/* Appends the list of tools, a JSON array. */
void mcp_list_tools(struct str *ret);

/*
 * Calls tool @name with @arguments, the text of a JSON object of @n bytes. Appends what it says to @ret. 0; 1: it
 * says why it failed; -EINVAL + message: there is no such tool, or its arguments are wrong.
 */
_must_use_ int mcp_call(const char *directory, const char *name, const char *arguments, size_t n,
			struct str *ret);

/* Signals that end the server end the tool that runs, too. Before mcp_run(). */
void mcp_take_signals(void);

/*
 * Runs krait itself with @argv (NULL-terminated, without the program's name), @seconds at most. Appends what it says,
 * MCP_ANSWER_BYTES of it. Its exit code; -ETIMEDOUT + message: it doesn't end, whatever it is sent; -errno + message.
 */
_must_use_ int mcp_run(char *const *argv, unsigned seconds, struct str *ret);

#endif
