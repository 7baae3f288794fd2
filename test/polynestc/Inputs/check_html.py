# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a page is well-formed, whole in itself, and led into safely.

Prints its text without markup, one line a piece, and the attributes data-*.
"""

import html.parser
import sys

VOID = {"meta", "br", "link", "img", "hr", "input"}
# Elements of SVG that the page closes themselves.
ALONE = {"rect", "line", "circle", "path"}


class Checker(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.stack, self.ids, self.targets, self.lines = [], set(), set(), []
        self.seen = set()

    def fail(self, message):
        sys.exit(f"line {self.getpos()[0]}: {message}")

    def look_at(self, tag, attributes):
        self.seen.add(tag)
        names = [name for name, _ in attributes]
        if len(names) != len(set(names)):
            self.fail(f"an attribute of <{tag}> stands twice")
        if tag in ("script", "link", "img", "iframe", "object", "b1"):
            self.fail(f"<{tag}> on the page")
        for name, value in attributes:
            if name.startswith("on") or name == "src":
                self.fail(f"attribute {name}")
            if name == "href":
                if not value.startswith("#"):
                    self.fail(f"a link leads to {value}")
                self.targets.add(value[1:])
            if name == "id":
                if value in self.ids:
                    self.fail(f"id {value} stands twice")
                self.ids.add(value)
            if value and "nan" in value.split() or value and "inf" in value.split():
                self.fail(f"{name} is {value}")
        data = [f"{n}={v}" for n, v in attributes if n.startswith("data-")]
        if data:
            self.lines.append(" ".join([f"<{tag}>"] + data))

    def handle_starttag(self, tag, attributes):
        self.look_at(tag, attributes)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.look_at(tag, attributes)
        if tag not in ALONE | VOID:
            self.fail(f"<{tag}/>")

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.fail(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if "style" in self.stack:
            if "@import" in data or "url(" in data:
                self.fail("the style loads something")
            return
        if data.strip():
            self.lines.append(" ".join(data.split()))

    def finish(self):
        if self.stack:
            self.fail(f"<{self.stack[-1]}> is never closed")
        for target in self.targets - self.ids:
            self.fail(f"nothing has the id {target}")
        if not {"html", "head", "title", "style", "body", "svg"} <= self.seen:
            self.fail(f"the page has only {sorted(self.seen)}")


checker = Checker()
with open(sys.argv[1], encoding="utf-8") as file:
    checker.feed(file.read())
checker.close()
checker.finish()
print("\n".join(checker.lines))
