# SPDX-License-Identifier: BSD-2-Clause
import os

import scrapy
from measured import is_over, measured
from scrapy.exceptions import CloseSpider

import helpers


class Shops(scrapy.Spider):
    name = "shops"
    start_urls = ["http://127.0.0.1:%s/" % os.environ["SITE_PORT"]]
    custom_settings = {"LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": False}

    def parse(self, response):
        if is_over():
            raise CloseSpider("enough")
        with measured:
            helpers.step()
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)
