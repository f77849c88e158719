/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait mcp`: the Model Context Protocol (revision 2025-11-25, transport "stdio"): each line is a
 * JSON-RPC 2.0 message. A client may do all that the user who started the server may do. Still, the
 * server limits the length of messages, and checks them.
 */
#ifndef CLI_MCP_MCP_H
#define CLI_MCP_MCP_H

#include "base/text/str.h"
#include "base/util.h"

#define MCP_LINE_BYTES	 (1u << 20)  /* how many bytes a message may have */
#define MCP_ANSWER_BYTES (32u << 10) /* how many bytes of a tool's output an answer has at most */

/*
 * Answers one message, which has @n bytes and no newline. Appends the answer, as a line, to @ret.
 * Appends nothing if the message is a notification.
 */
void mcp_answer(const char *directory, const char *line, size_t n, struct str *ret);

/* Appends an error as the answer to a message that is too long. */
void mcp_too_long(struct str *ret);

/* Appends a JSON array that lists the tools. */
void mcp_list_tools(struct str *ret);

/*
 * Calls tool @name. @arguments: a JSON object as text of @n bytes. Appends the tool's output to
 * @ret. Returns 0; 1 if the tool failed, and its output says why; -EINVAL + message if there is no
 * such tool, or its arguments are wrong.
 */
_must_use_ int mcp_call(const char *directory, const char *name, const char *arguments, size_t n,
			struct str *ret);

/* Makes the signals that end the server end the running tool as well. Call it before mcp_run(). */
void mcp_take_signals(void);

/*
 * Runs krait with the arguments @argv (NULL-terminated, without the program's name), for at most
 * @seconds. Appends up to MCP_ANSWER_BYTES of its output. Returns its exit code; -ETIMEDOUT +
 * message if it doesn't end even when killed; or -errno + message.
 */
_must_use_ int mcp_run(char *const *argv, unsigned seconds, struct str *ret);

#endif
