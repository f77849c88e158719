# SPDX-License-Identifier: BSD-2-Clause
# packages: lxml
"""Uses lxml: parsing, XPath with functions in Python, a SAX target, XSLT."""
from lxml import etree

import busy

TEXT = b"<r>%s</r>" % b"".join(b"<i n='%d'><k>v%d</k><t/></i>" % (i, i % 9) for i in range(500))
STYLE = etree.XSLT(etree.XML("""<xsl:stylesheet version="1.0"
 xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><o>
 <xsl:for-each select="//k"><x><xsl:value-of select="."/></x></xsl:for-each></o>
 </xsl:template></xsl:stylesheet>"""))


class Counter:
    def __init__(self):
        self.n = 0

    def start(self, tag, attributes):
        self.n += len(attributes)

    def data(self, text):
        self.n += len(text)

    def close(self):
        return self.n


def odd(context, values):
    return [v for v in values if int(v.get("n")) % 2]


etree.FunctionNamespace("urn:busy")["odd"] = odd


def round_():
    tree = etree.fromstring(TEXT)
    tree.xpath("f:odd(//i)", namespaces={"f": "urn:busy"})
    etree.fromstring(TEXT, etree.XMLParser(target=Counter()))
    etree.tostring(STYLE(tree), pretty_print=True)
    [element.tag for element in tree.iter()]


busy.run(round_)
