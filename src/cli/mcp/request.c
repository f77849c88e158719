/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses JSON-RPC messages, and writes the answers. */
#include <errno.h>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/json_in.h"
#include "cli/advice.h"
#include "cli/mcp/mcp.h"

/* The error codes of JSON-RPC 2.0, section 5.1. */
enum rpc_error {
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603
};

#define NO_ID "null"

/* A piece of a message's text. */
struct part {
	const char *at;
	size_t n;
};

struct request {
	/*
	 * values of the members "id" and "params" of the message, as JSON; .n is 0 if the message
	 * lacks the member
	 */
	struct part id, params;
	struct str method;
};

/* Reads a JSON value of any kind. *ret: its text, as it is in the message. */
static int take_part(struct json_in *in, struct part *ret)
{
	int r = json_in_skip(in);

	/* Removes the blanks before the value. */
	while (!r && ret->at < in->at && strchr(" \t\r\n", *ret->at))
		ret->at++;
	ret->n = r ? 0 : (size_t)(in->at - ret->at);
	return r;
}

static int read_request(struct request *q, const char *line, size_t n)
{
	_cleanup_str_ struct str key = {};
	struct json_in in;
	int r;

	json_in_init(&in, line, n);
	r = json_in_enter(&in, '{');
	while (!r && (r = json_in_key(&in, &key)) > 0) {
		struct part value = {.at = in.at};

		if (streq(str_cstr(&key), "method")) {
			r = json_in_string(&in, &q->method);
			continue;
		}
		r = take_part(&in, &value);
		if (streq(str_cstr(&key), "id"))
			q->id = value;
		else if (streq(str_cstr(&key), "params"))
			q->params = value;
	}
	return r ? r : json_in_end(&in);
}

/*
 * Reads an id, which must be a string or an integer, and appends it as JSON. A message with an id
 * of another kind can't be answered.
 */
static int read_id(const struct part *id, struct str *ret)
{
	_cleanup_str_ struct str text = {};
	struct json_in in;
	int64_t number;
	int r;

	json_in_init(&in, id->at, id->n);
	if (*id->at == '"') {
		r = json_in_string(&in, &text);
		json_string(ret, str_cstr(&text));
	} else {
		r = json_in_integer(&in, &number);
		if (!r)
			str_addf(ret, "%lld", (long long)number);
	}
	return r ? r : json_in_end(&in);
}

static void begin(struct str *ret, const char *id)
{
	str_addf(ret, "{\"jsonrpc\":\"2.0\",\"id\":%s", id);
}

static void add_error(struct str *ret, const char *id, enum rpc_error code, const char *why)
{
	begin(ret, id);
	str_addf(ret, ",\"error\":{\"code\":%d,\"message\":", code);
	json_string(ret, why);
	str_add(ret, "}}\n");
}

void mcp_too_long(struct str *ret)
{
	_cleanup_str_ struct str why = {};

	str_addf(&why, "a message may have %u bytes", MCP_LINE_BYTES);
	add_error(ret, NO_ID, RPC_PARSE, str_cstr(&why));
}

/*
 * Returns the value of member @name of the object @params; its .n is 0 if there is no such member.
 */
static struct part member(const struct part *params, const char *name)
{
	_cleanup_str_ struct str key = {};
	struct part found = {};
	struct json_in in;
	int r;

	json_in_init(&in, params->at, params->n);
	r = params->n ? json_in_enter(&in, '{') : -EINVAL;
	while (!r && (r = json_in_key(&in, &key)) > 0) {
		struct part value = {.at = in.at};

		r = take_part(&in, &value);
		if (streq(str_cstr(&key), name))
			found = value;
	}
	return r ? (struct part){} : found;
}

/* Reads the text of member @name of the object @params; "" if it is missing or isn't a string. */
static void member_text(const struct part *params, const char *name, struct str *ret)
{
	struct part value = member(params, name);
	struct json_in in;

	json_in_init(&in, value.at, value.n);
	if (!value.n || json_in_string(&in, ret))
		str_clear(ret);
}

static const char *const revisions[] = {"2025-11-25", "2025-06-18", "2024-11-05"};

/*
 * Answers the message `initialize`: with the protocol revision that the client asked for or, if
 * krait doesn't know it, with the newest that krait knows.
 */
static void initialize(const struct request *q, struct str *ret)
{
	_cleanup_str_ struct str asked = {};
	const char *revision = revisions[0];

	member_text(&q->params, "protocolVersion", &asked);
	for (size_t i = 0; i < ARRAY_SIZE(revisions); i++)
		if (streq(str_cstr(&asked), revisions[i]))
			revision = revisions[i];
	str_addf(ret,
		 "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},"
		 "\"serverInfo\":{\"name\":\"krait\",\"version\":\"%s\"}}",
		 revision, KRAIT_VERSION);
}

/*
 * Does what the message asks for, and appends the result. Returns 0, or an error + message.
 */
static enum rpc_error call(const char *directory, const struct request *q, struct str *ret)
{
	_cleanup_str_ struct str name = {}, text = {};
	struct part arguments = member(&q->params, "arguments");
	int r;

	member_text(&q->params, "name", &name);
	if (!arguments.n)
		arguments = (struct part){"{}", 2};
	r = mcp_call(directory, str_cstr(&name), arguments.at, arguments.n, &text);
	if (r == -EINVAL)
		return RPC_PARAMS;
	if (r < 0)
		return RPC_INTERNAL;
	str_add(ret, "{\"content\":[{\"type\":\"text\",\"text\":");
	json_string(ret, str_cstr(&text));
	str_addf(ret, "}],\"isError\":%s}", r ? "true" : "false");
	return 0;
}

static enum rpc_error do_request(const char *directory, const struct request *q, struct str *ret)
{
	const char *method = str_cstr(&q->method);

	if (streq(method, "initialize")) {
		initialize(q, ret);
	} else if (streq(method, "ping")) {
		str_add(ret, "{}");
	} else if (streq(method, "tools/list")) {
		str_add(ret, "{\"tools\":");
		mcp_list_tools(ret);
		str_add(ret, "}");
	} else if (streq(method, "tools/call")) {
		return call(directory, q, ret);
	} else {
		err_set(-EINVAL, "there is no method '%s'", method);
		return RPC_METHOD;
	}
	return 0;
}

static void answer(const char *directory, const struct request *q, const char *id, struct str *ret)
{
	_cleanup_str_ struct str result = {};
	enum rpc_error error = do_request(directory, q, &result);

	if (error) {
		add_error(ret, id, error, error_words());
		return;
	}
	begin(ret, id);
	str_addf(ret, ",\"result\":%s}\n", str_cstr(&result));
	ret->failed |= result.failed;
}

void mcp_answer(const char *directory, const char *line, size_t n, struct str *ret)
{
	_cleanup_str_ struct str id = {};
	struct request q = {};
	int r = read_request(&q, line, n);

	if (r)
		add_error(ret, NO_ID, RPC_PARSE, error_words());
	else if (!q.id.n)
		; /* a notification gets no answer */
	else if (read_id(&q.id, &id))
		add_error(ret, NO_ID, RPC_REQUEST, "id must be a string or an integer");
	else if (!q.method.n)
		add_error(ret, str_cstr(&id), RPC_REQUEST, "there is no method");
	else
		answer(directory, &q, str_cstr(&id), ret);
	str_fini(&q.method);
}
