# SPDX-License-Identifier: BSD-2-Clause
SECRET_KEY = "x"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["shop"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates"}]
