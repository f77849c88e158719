# SPDX-License-Identifier: BSD-2-Clause
"""truth.py TARGET OUT: which stacks TARGET can have, as its own interpreter says.

Runs the target under sys.setprofile. Each call is a node of a tree: (the caller's node, the
caller's line and column at the call, the callee's code object). A sampled stack that isn't a path
in this tree can't happen. Lines and columns come from f_lasti through co_positions(), co_lines()
or dis, and with them what a leaf frame may show. Runs on Python 2.7 and 3.x.
"""
import dis
import json
import os
import sys
import threading
import types

ORACLE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGETS = os.path.join(ORACLE, "targets")
sys.path.insert(0, TARGETS)
CO_OPTIMIZED = 1
CO_GENERATORS = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE and CO_ASYNC_GENERATOR


def positions(code):
    """Returns (line, column) of each code unit, or None before 3.11. Columns count from 1; 0 means
    none."""
    if not hasattr(code, "co_positions"):
        return None
    return [(p[0] or 0, 0 if p[2] is None else p[2] + 1) for p in code.co_positions()]


def ends(code):
    """Returns (line, column, end line, end column) of each code unit that has all of them, or None
    before 3.11."""
    if not hasattr(code, "co_positions"):
        return None
    return sorted(set((p[0], p[2] + 1, p[1], p[3] + 1) for p in code.co_positions()
                      if None not in p))


def prologue(code, units):
    """Returns the positions of the instructions that a generator function executes before it has
    made its generator (from 3.11). Until then its frame is that of an ordinary call."""
    if units is None or not code.co_flags & CO_GENERATORS:
        return []
    out = []
    for instruction in dis.get_instructions(code):
        out.append(units[instruction.offset // 2])
        if instruction.opname == "RETURN_GENERATOR":
            break
    return out


def lines_of(code):
    """Returns all lines of this code's instructions, and the line that is shown before the first
    instruction."""
    if hasattr(code, "co_lines"):
        lines = set(entry[2] or 0 for entry in code.co_lines())
    else:
        lines = set(line for _, line in dis.findlinestarts(code))
    return lines | set([code.co_firstlineno])


def text(value):
    """Returns names and files as text; those of 2.7 are bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def names_below(code, prefix, out):
    """Finds qualified names of the code objects inside code: what co_qualname is before 3.11."""
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            name = prefix + text(const.co_name)
            out[const] = name
            names_below(const, name + (u".<locals>." if const.co_flags & CO_OPTIMIZED else u"."),
                        out)


class Tracer(object):
    """The callback for sys.setprofile() that builds the tree."""

    def __init__(self, target):
        self.target = target
        self.own = [TARGETS + os.sep]
        self.codes, self.code_ids = [], {}
        self.nodes, self.node_ids = [(None, 0, 0, None)], {}
        self.frames = {}
        self.async_codes = set()
        self.qualnames, self.sources = {}, set()
        self.lock = threading.RLock()

    def anywhere(self, function):
        self.async_codes.add(getattr(function, "__func__", function).__code__)

    def imported(self, module):
        """Adds the body of a module that was imported before tracing began, because a sample may
        show it at the import."""
        file = os.path.splitext(module.__file__)[0] + ".py"
        with open(file, "rb") as f:
            code = compile(f.read(), file, "exec", 0, True)
        self.async_codes.add(code)
        self.nodes.append((0, 0, 0, self.code_id(code)))

    def names(self, code):
        """Returns every name that is right for this code; the first is the best one."""
        if hasattr(code, "co_qualname"):
            return [code.co_qualname]
        if code.co_name == "<module>":
            names_below(code, u"", self.qualnames)
        elif code not in self.qualnames and code.co_filename not in self.sources:
            self.source(code.co_filename)
        plain = text(code.co_name)
        full = self.qualnames.get(code, plain)
        parts = full.split(u".")
        found = [full, plain]
        # The class that a method belongs to, when krait can prove it (tp_name has no outer names).
        if len(parts) > 1 and parts[-2] != u"<locals>":
            found.append(u".".join(parts[-2:]))
        return sorted(set(found), key=found.index)

    def source(self, file):
        """Finds qualified names of a module that was imported before tracing began (equal code)."""
        self.sources.add(file)
        try:
            with open(file, "rb") as f:
                names_below(compile(f.read(), file, "exec", 0, True), u"", self.qualnames)
        except (IOError, SyntaxError, ValueError):
            pass  # the code was exec'd, or is frozen

    def code_id(self, code):
        known = self.code_ids.get(id(code))
        if known is None:
            units = positions(code)
            known = len(self.codes)
            self.codes.append({
                "file": text(code.co_filename), "names": self.names(code),
                "first": code.co_firstlineno, "lines": sorted(lines_of(code)),
                "positions": sorted(set(units)) if units else None,
                "ends": ends(code),
                "makes": prologue(code, units),
                "object": (code, units)})  # this reference keeps id(code) unique
            self.code_ids[id(code)] = known
        return known

    def where(self, frame):
        """Returns line and column of what frame executes."""
        units = self.codes[self.code_id(frame.f_code)]["object"][1]
        if units and frame.f_lasti >= 0:
            return units[frame.f_lasti // 2]
        return frame.f_lineno or 0, 0

    def node(self, frame):
        """Returns the tree's node for a frame that is running now."""
        if frame is None:
            return 0
        known = self.frames.get(frame)
        if known is not None:
            return known
        code = frame.f_code
        caller = frame.f_back
        if (code in self.async_codes or caller is None or "__krait_root__" in frame.f_globals
                and code.co_name == "<module>"):
            key = (0, 0, 0, self.code_id(code))
        else:
            parent = self.node(caller)
            line, column = self.where(caller)
            key = (parent, line, column, self.code_id(code))
        known = self.node_ids.get(key)
        if known is None:
            known = self.node_ids[key] = len(self.nodes)
            self.nodes.append(key)
        return known

    def event(self, frame, event, _):
        if event == "call":
            with self.lock:
                self.frames.pop(frame, None)
                self.frames[frame] = self.node(frame)
        elif event == "return":
            self.frames.pop(frame, None)

    def save(self, path):
        anywhere = [self.code_id(code) for code in self.async_codes]
        for code in self.codes:
            del code["object"]
        with open(path + ".new", "w") as f:
            # not json.dump(), which is ten times slower
            f.write(json.dumps({"version": list(sys.version_info[:3]), "own": self.own,
                                "codes": self.codes, "nodes": self.nodes, "anywhere": anywhere}))
        os.rename(path + ".new", path)


def load(target):
    """Returns the target's code, and a new __main__ to run it in."""
    with open(target, "rb") as f:
        code = compile(f.read(), target, "exec", 0, True)
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=target, __krait_root__=True, __builtins__=__builtins__)
    old = sys.modules["__main__"]
    sys.modules["__main__"] = module
    return code, module.__dict__, old


def main():
    target, out = os.path.abspath(sys.argv[1]), sys.argv[2]
    sys.path.insert(0, os.path.dirname(target))
    import rig
    tracer = rig.tracing = Tracer(target)
    code, namespace, _old = load(target)
    tracer.names(code)
    tracer.imported(rig)
    threading.setprofile(tracer.event)
    sys.setprofile(tracer.event)
    try:
        exec(code, namespace)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    tracer.save(out)


if __name__ == "__main__":
    main()
