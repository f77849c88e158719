/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait mcp`: the Model Context Protocol (revision 2025-11-25, transport "stdio"): JSON-RPC 2.0
 * messages, one in a line. A client may do all that the user who started the server may. Still,
 * what the client sends is bounded and checked.
 */
#ifndef CLI_MCP_MCP_H
#define CLI_MCP_MCP_H

#include "base/text/str.h"
#include "base/util.h"

#define MCP_LINE_BYTES	 (1u << 20)  /* the most bytes of a message */
#define MCP_ANSWER_BYTES (32u << 10) /* the most bytes of a tool's answer */

/*
 * Answers one message of @n bytes, without its newline. Appends the answer as a line to @ret;
 * appends nothing for a notification.
 */
void mcp_answer(const char *directory, const char *line, size_t n, struct str *ret);

/* Appends the error that answers a message which was too long. */
void mcp_too_long(struct str *ret);

/* Appends the list of tools that are offered, as a JSON array. */
void mcp_list_tools(struct str *ret);

/*
 * Calls tool @name. @arguments: the text of a JSON object, @n bytes. Appends the tool's output to
 * @ret. 0; 1: the tool failed, and its output says why; -EINVAL + message: there is no such tool,
 * or its arguments are wrong.
 */
_must_use_ int mcp_call(const char *directory, const char *name, const char *arguments, size_t n,
			struct str *ret);

/* Makes signals that end the server also end the running tool. To be called before mcp_run(). */
void mcp_take_signals(void);

/*
 * Runs krait itself with @argv (NULL-terminated, without the program's name), for at most @seconds.
 * Appends up to MCP_ANSWER_BYTES of its output. Returns its exit code; -ETIMEDOUT + message: it
 * doesn't end, not even when killed; -errno + message.
 */
_must_use_ int mcp_run(char *const *argv, unsigned seconds, struct str *ret);

#endif
