# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several faults in one C or C++ file, each of them off until it is asked for.

The body of a function with faults in it becomes a choice of whole bodies: for
each fault the one with its new text, else the one that stands there. So a fault
that is on does what its replacement alone does, and two may change one line.
What is no function's body, such as a table, has no switch.

Which fault is on is the soft limit of bytes in message queues
(RLIMIT_MSGQUEUE): processes inherit it whatever becomes of their environment,
which some tests empty, and nothing here uses such queues.
"""
import re
import zlib

SWITCH = """#include <sys/resource.h>
static inline int polynest_planted_is(unsigned long number) {
  static unsigned long planted;
  if (planted == 0) {
    struct rlimit limit;
    planted = getrlimit(RLIMIT_MSGQUEUE, &limit) == 0 ? limit.rlim_cur + 1 : 1;
  }
  return planted == number + 1;
}
"""

# Comments, literals and directives: braces in them are none.
OPAQUE = re.compile(
    r'R"(?P<end>[^()\s]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*.*?\*/"
    r"|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
CONTAINER = re.compile(r"\b(?:namespace|struct|class|union|extern)\b")


def number_of(name):
    """A number under the limit's default, 819200, that does not change with
    other faults: what is built stays so."""
    return zlib.crc32(name.encode()) % 800000 + 1


def switched(number, command):
    """The command with the fault of this number on; 0 for none."""
    return ["prlimit", f"--msgqueue={number}:", *command] if number else command


def masked(text):
    """The text with blanks in the place of what is not code."""
    return OPAQUE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def change_of(fault, text):
    """Begin, end and new text of what the fault changes at least."""
    begin = text.index(fault.old)
    old, new = fault.old, fault.new
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    old, new, begin = old[same:], new[same:], begin + same
    same = 0
    while same < min(len(old), len(new)) and old[-1 - same] == new[-1 - same]:
        same += 1
    return begin, begin + len(old) - same, new[:len(new) - same]


def body_around(code, begin, end):
    """The outermost function's body around a part of the code, or None."""
    opened = []
    for match in re.finditer(r"[{}]", code[:begin]):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            opened.pop()
    for brace in opened:
        head = re.split(r"[;{}]", code[:brace])[-1]
        if ")" in head and not head.rstrip().endswith("="):
            # Constant expressions ask nobody.
            return None if "constexpr" in head else closed(code, brace, end)
        if not CONTAINER.search(head):
            return None
    return None


def closed(code, brace, end):
    depth = 0
    for match in re.finditer(r"[{}]", code[brace:]):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            stop = brace + match.end()
            return (brace, stop) if end < stop else None
    return None


def with_own_labels(body, number):
    """The body with labels that no other body has."""
    code = masked(body)
    for label in set(re.findall(r"\bgoto\s+(\w+)", code)):
        body = re.sub(rf"\b{label}\b", f"{label}_{number}", body)
    return body


def behind_includes(text, code):
    """Where a C file may include more: what it defines for its includes stands
    before these, which are above all braces. (In C++ some are below.)"""
    head = text[:code.index("{")]
    end = [m.end() for m in re.finditer(r"(?m)^[ \t]*#[ \t]*include .*\n",
                                        head)][-1]
    depth = 0
    for match in re.finditer(r"(?m)^[ \t]*#[ \t]*(if|endif).*\n", head):
        if match.start() >= end and depth == 0:
            break
        depth += 1 if match[1] == "if" else -1
        end = max(end, match.end())
    return end


def with_switches(text, is_c, faults):
    """The text with all faults that can have a switch, and those in a list.

    `faults` are pairs of a number and a fault of this file."""
    code = masked(text)
    bodies, placed = {}, []
    for number, fault in faults:
        begin, end, new = change_of(fault, text)
        body = body_around(code, begin, end)
        if body is None:
            continue
        faulty = text[body[0]:begin] + new + text[end:body[1]]
        bodies.setdefault(body, []).append(
            f"if (polynest_planted_is({number}))\n"
            f"{with_own_labels(faulty, number)} else ")
        placed.append((number, fault))
    if not placed:
        return text, placed
    for (begin, end), choices in sorted(bodies.items(), reverse=True):
        text = (text[:begin] + "{ " + "".join(choices) + text[begin:end] + " }"
                + text[end:])
    begin = behind_includes(text, code) if is_c else 0
    return text[:begin] + SWITCH + text[begin:], placed
