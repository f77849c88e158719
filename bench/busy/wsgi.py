# SPDX-License-Identifier: BSD-2-Clause
# packages: gunicorn
# command: -m gunicorn -w 2 -b 127.0.0.1:0 wsgi:application
"""A WSGI application under load."""
import json


def application(environ, start_response):
    body = json.dumps({"items": sorted(range(200), key=str), "path": environ["PATH_INFO"]}).encode()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
