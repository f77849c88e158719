# SPDX-License-Identifier: BSD-2-Clause
# packages: uvicorn
# command: -m uvicorn asgi:application --port 0 --log-level info --no-access-log
"""An ASGI application under load."""
import json


async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    await receive()
    body = json.dumps({"items": sorted(range(200), key=str), "path": scope["path"]}).encode()
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})
