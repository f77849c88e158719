# SPDX-License-Identifier: BSD-2-Clause
import flask
from flask.views import MethodView
from measured import measured

from shop import helpers

app = flask.Flask(__name__)


class Stock(MethodView):
    def get(self):
        with measured:
            helpers.step()
        return flask.jsonify({"rows": [{"id": i, "name": "n%d" % i} for i in range(50)]})


app.add_url_rule("/", view_func=Stock.as_view("stock"))
