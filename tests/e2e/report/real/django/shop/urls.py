# SPDX-License-Identifier: BSD-2-Clause
from django.urls import path

from shop import views

urlpatterns = [path("", views.page)]
