#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`krait mcp`, tested with a small client that this file contains and, in the full tier, with the
protocol's Python SDK."""
import contextlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import case, check, full_case

SDK = """
import asyncio, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main(krait, directory, pid):
    server = StdioServerParameters(command=krait, args=["mcp", "--directory", directory])
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]
        print(",".join(sorted(names)))
        said = await session.call_tool("record", {"pid": int(pid), "seconds": 1, "name": "one"})
        print("busy" in said.content[0].text)
        said = await session.call_tool("report", {"file": directory + "/one.html", "rows": 3})
        print("busy" in said.content[0].text)
asyncio.run(main(*sys.argv[1:]))
"""


class Client:
    def __init__(self, *args):
        self.process = subprocess.Popen([kit.KRAIT, "mcp", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.id = 0

    def raw(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ask(self, method, **params):
        self.id += 1
        said = self.raw(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).encode())
        check(said["id"] == self.id and said["jsonrpc"] == "2.0", said)
        return said

    def call(self, tool, **arguments):
        """Calls a tool. Returns the text of its answer, which must not be an error."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        check(not result["isError"], result)
        check(len(result["content"][0]["text"]) < 33000, "the answer is too long")
        return result["content"][0]["text"]


@contextlib.contextmanager
def client(*args):
    one = Client(*args)
    try:
        yield one
    finally:
        one.process.stdin.close()
        code = one.process.wait(timeout=30)
    check(code == 0, "exit code %d" % code)


@case
def tools():
    """Every tool that `krait mcp` lists works on a program whose busy function is known."""
    with kit.python(kit.BUSY) as running, kit.folder() as folder, client("--directory", folder) as c:
        said = c.ask("initialize", protocolVersion="2025-06-18")["result"]
        check(said["protocolVersion"] == "2025-06-18" and said["serverInfo"]["name"] == "krait", said)
        check(c.ask("initialize", protocolVersion="1999-01-01")["result"]["protocolVersion"] > "2025", "unknown revision")
        listed = c.ask("tools/list")["result"]["tools"]
        check(all(t["inputSchema"]["type"] == "object" and t["description"] for t in listed), listed)
        check({t["name"] for t in listed} == {"list", "dump", "record", "report", "diff"}, listed)
        check(str(running.pid) in c.call("list"), "list")
        check("busy (" in c.call("dump", pid=running.pid), "dump")
        check("busy" in c.call("record", pid=running.pid, seconds=1, name="one"), "record")
        check("busy" in c.call("report", file=folder + "/one.html", rows=3, focus="busy"), "report")
        check("busy" in c.call("diff", old=folder + "/one.html", new=folder + "/one.html"), "diff")
        check(os.listdir(folder) == ["one.html"], os.listdir(folder))


@case
def what_is_wrong():
    """Every request is answered, in order, also a wrong one. Files are written only into the
    directory that --directory names. Without that option, no file is written."""
    with kit.folder() as folder, client("--directory", folder) as c:
        for code, line in ((-32700, b"nonsense"), (-32700, b"[]"), (-32600, b'{"id":{},"method":"ping"}'),
                           (-32600, b'{"id":1}'), (-32601, b'{"id":1,"method":"nosuch"}'),
                           (-32700, b'{"id":1,"method":"ping","params":"' + b"x" * (1 << 20) + b'"}'),
                           (-32602, b'{"id":1,"method":"tools/call"}'),
                           (-32602, b'{"id":1,"method":"tools/call","params":{"name":"dump","arguments":{"pid":"1"}}}')):
            said = c.raw(line)
            check(said["error"]["code"] == code and said["error"]["message"], "%r: %s" % (line[:60], said))
        for name in "../x", "a/b", ".x", "-o", "":
            said = c.ask("tools/call", name="record", arguments={"name": name or " ", "seconds": 1})
            check(said["error"]["code"] == -32602, said)
        said = c.ask("tools/call", name="report", arguments={"file": "--output=x"})["result"]
        check(said["isError"] and "./--output=x" in said["content"][0]["text"], said)
        c.process.stdin.write(b'{"method":"notifications/initialized"}\n')
        check(c.ask("ping")["result"] == {}, "ping behind a notification")
        check(not os.listdir(folder), os.listdir(folder))
    with client() as c:
        check("--directory" in c.ask("tools/call", name="record", arguments={})["error"]["message"], "no directory")


@full_case
def official_sdk():
    place = os.path.join(kit.CACHE, "mcp-sdk")
    if not os.path.exists(place):
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", place, "mcp"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        if done.returncode:
            raise kit.Skip("no SDK: " + done.stdout.strip().split("\n")[-1])
    with kit.python(kit.BUSY) as running, kit.folder() as folder:
        done = subprocess.run([sys.executable, "-c", SDK, kit.KRAIT, folder, str(running.pid)], timeout=60,
                              env=dict(os.environ, PYTHONPATH=place), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", check=False)
    check(done.stdout.split() == ["diff,dump,list,record,report", "True", "True"], done.stdout + done.stderr)


if __name__ == "__main__":
    sys.exit(kit.main())
