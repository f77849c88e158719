# SPDX-License-Identifier: BSD-2-Clause
from flask import Flask, render_template_string, jsonify
from shop import prices
app = Flask(__name__)
PAGE = "<ul>{% for name, price in rows %}<li>{{ name }}: {{ price }}</li>{% endfor %}</ul>"
@app.get("/")
def index():
    return render_template_string(PAGE, rows=prices.listing(40))
@app.get("/health")
def health():
    return jsonify(ok=True)
