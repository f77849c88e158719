# SPDX-License-Identifier: BSD-2-Clause
"""method-names.py TOOL NAME FILE STRIPPED: checks the names that krait reads out of the method
tables and type slots of STRIPPED. They must be names of the functions of FILE, the same file with
its symbols, as nm lists them."""

import re
import subprocess
import sys

# For each symbol of CPython: the names that krait may find for it in the interpreter's method
# tables. Each is the name in at least one version.
KNOWN = {"builtin_chr": ["chr"], "builtin_len": ["len"], "list_sort": ["list.sort"],
         "list_append": ["list.append"], "dict_get": ["dict.get", "get"],
         "unicode_join": ["str.join", "unicode.join"], "string_join": ["str.join"],
         "unicode_mod": ["str.nb_remainder"], "long_add": ["int.nb_add"],
         "long_mul": ["int.nb_multiply"], "float_add": ["float.nb_add"],
         "zlib_compress": ["zlib.compress"], "math_sqrt": ["math.sqrt"],
         "dict_subscript": ["dict.mp_subscript", "dict.__getitem__"],
         "enum_next": ["enumerate.tp_iternext"], "cfunction_vectorcall_O": ["cfunction_vectorcall"],
         "method_vectorcall_NOARGS": ["method_vectorcall"], "set_vectorcall": ["set"], "list_vectorcall": ["list"],
         "float_vectorcall": ["float"]}


def functions(path):
    out = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    return [m.groups() for m in re.finditer(r"^(\w+) [tTwWi] (\S+)$", out, re.M)]


def plain(text):
    return re.sub(r"[^a-z]", "", text.lower())


def is_like(symbol, name):
    """Tells whether the symbol and the name have a word in common. long_add and nb_add have "add"
    in common, list_sort_impl and list.sort have "sort"."""
    last = re.sub(r"^(tp|nb|sq|mp|am|bf)_(inplace_)?", "", name.split(".")[-1])
    return plain(last)[:3] in plain(symbol)


def main():
    tool, label, path, stripped = sys.argv[1:]
    symbols = functions(path)
    out = subprocess.run([tool, stripped], input="".join(f"{a} {s}\n" for a, s in symbols),
                         check=True, capture_output=True, text=True).stdout.splitlines()
    total = int(out.pop().split()[1])
    rows = [line.split() for line in out]
    n = len({r[0] for r in rows})
    wrong = [] if n == total else [f"{total - n} names of no function"]
    known = [r for r in rows if r[1] in KNOWN]
    wrong += [f"{s} is {name}" for _, s, name, _, _ in known if name not in KNOWN[s]]
    # Only the functions of the garbage collector itself, and the function that runs gc.callbacks,
    # may get the collector's name.
    wrong += [f"{s} is the collector" for _, s, name, _, _ in rows if name == "gc_collect_main"
              and not re.match("collect|gc_collect|_PyGC_Collect|invoke_gc_callback", s)]
    # Several symbols may have the same address, because compilers merge functions with equal code.
    folded = {a for a, _, _, _, folded in rows if folded == "1"}
    wrong += [f"{s}, {name}: {glue} as machinery by its name" for a, s, name, glue, _ in rows
              if (glue == "1") != (a in folded) and name != "_ctypes.call_function"]
    unlike = [f"{s} {name}" for _, s, name, glue, _ in rows if glue == "0" and not is_like(s, name)]
    if len(unlike) > 0.05 * len(rows) or total < 900 or len(known) < 7:
        wrong.append(f"{len(unlike)} of {len(rows)} unlike their symbols ({unlike[:5]}), "
                     f"{len(known)} known")
    if wrong:
        print(f"FAIL method-names {label}: {len(wrong)}, first: {'; '.join(wrong[:20])}")
        return 1
    print(f"PASS method-names {label}: {total} functions named, {len(unlike)} unlike their symbols")
    return 0


sys.exit(main())
