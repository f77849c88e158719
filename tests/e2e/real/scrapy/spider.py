# SPDX-License-Identifier: BSD-2-Clause
import os

import scrapy
from measured import measured

import helpers


class Shops(scrapy.Spider):
    name = "shops"
    start_urls = ["http://127.0.0.1:%s/" % os.environ["SITE_PORT"]]
    custom_settings = {"CLOSESPIDER_TIMEOUT": float(os.environ["SECONDS"]), "LOG_ENABLED": False,
                       "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": False}

    def parse(self, response):
        with measured:
            helpers.step()
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)
