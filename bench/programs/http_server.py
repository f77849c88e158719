# SPDX-License-Identifier: BSD-2-Clause
"""http_server.py asyncio|threads: a small web server that prints its port. It runs some Python code
for each answer."""

import asyncio
import http.server
import json
import socketserver
import sys


def page(path):
    rows = [{"id": i, "name": "row %d" % i, "of": path} for i in range(40)]
    return json.dumps({"rows": rows, "sum": sum(r["id"] for r in rows)}, indent=1).encode()


async def answer(reader, writer):
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        body = page(head.split(b" ")[1].decode())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()


async def quiet_answer(reader, writer):
    try:
        await answer(reader, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve():
    server = await asyncio.start_server(quiet_answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self):
        body = page(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


if sys.argv[1] == "asyncio":
    asyncio.run(serve())
else:
    threaded = Server(("127.0.0.1", 0), Handler)
    print(threaded.server_address[1], flush=True)
    threaded.serve_forever()
