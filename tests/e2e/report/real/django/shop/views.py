# SPDX-License-Identifier: BSD-2-Clause
from django.http import HttpResponse
from django.template import engines

PAGE = "{% load shop_tags %}<ul>{% for i in rows %}<li>{{ i }}</li>{% endfor %}</ul>{% offers %}"


def page(request):
    return HttpResponse(engines["django"].from_string(PAGE).render({"rows": range(20)}))
