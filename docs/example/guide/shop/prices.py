# SPDX-License-Identifier: BSD-2-Clause
import datetime, re
RULES = [(re.compile(r"^item-(\d+)$"), 1.0), (re.compile(r"^sale-(\d+)$"), 0.8)]
def parse(name):
    for rule, factor in RULES:
        found = rule.match(name)
        if found:
            return int(found.group(1)) * factor
def discount(price, day):
    best = price
    for n in range(200):
        best = min(best, price * (1 - (n % 7 == day) * n / 1000))
    return best
def listing(n):
    day = datetime.date.today().weekday()
    return [("item-%d" % i, round(discount(parse("item-%d" % i), day), 2)) for i in range(n)]
