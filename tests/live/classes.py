# SPDX-License-Identifier: BSD-2-Clause
# -*- coding: utf-8 -*-
# Calls methods of all kinds (Python 2.7-3.10). For each it prints "CODE SELF TYPE NAME": the
# addresses of the code object, of the call's first argument and of its type, and the name that
# krait must show. Then it prints "ready" and waits for the end of its input. On 3.x the right names
# are Python's own __qualname__. Where krait can't prove a class, it must show only the name.
from __future__ import print_function
import contextlib
import functools
import sys

PY2 = sys.version_info[0] == 2
kept = []  # addresses stay valid


def case(function, self, name, py2=None, at=None):
    """Prints the line of a call of @function with the first argument @self. @name: the name that
    krait must show; @py2: that name on 2.7, if it differs. @at: the address of an object that
    doesn't exist any more, in place of @self."""
    want = (py2 or name) if PY2 else name
    kept.append((function, self))
    code = function.__code__
    if not PY2 and "." in name and not hasattr(function, "__wrapped__"):
        assert function.__qualname__ == name, (function.__qualname__, name)
    line = "%x %x %x %s\n" % (id(code), at or id(self), id(type(self)), want)
    sys.stdout.write(line) if PY2 else sys.stdout.buffer.write(line.encode("utf-8"))


def decorated(f):
    @functools.wraps(f)
    def wrapper(self):
        return f(self)
    return wrapper


def same_name(f):
    @functools.wraps(f)
    def twin(self):
        return f(self)
    return twin


def module_function(x):
    return x


Meta = type("Meta", (type,), {})


class Meta2(type):
    def of_class(cls):
        pass


class Base(object):
    def plain(self):
        pass

    def overridden(self):
        pass

    @classmethod
    def of_class(cls):
        pass

    @staticmethod
    def static(x):
        pass

    @property
    def read(self):
        pass

    @read.setter
    def read(self, value):
        pass

    def __init__(self):
        pass

    def __call__(self):
        pass

    def __private(self):
        pass

    def generator(self):
        yield self

    def borrowed(self):
        pass

    def wrapped(self):
        pass
    raw_wrapped, wrapped = wrapped, decorated(wrapped)

    def twin(self):
        pass
    raw_twin, twin = twin, same_name(twin)

    @contextlib.contextmanager
    def context(self):
        yield

    anonymous = lambda self: 0
    alias = plain
    function = module_function

    class Inner(object):
        def deep(self):
            pass

    def make_local(self):
        class Local(object):
            def method(self):
                pass
        return Local


class Derived(Base):
    def overridden(self):
        pass

    def own(self):
        pass


class Foreign(object):
    borrowed = Base.__dict__["borrowed"]


class Dict(dict):
    def method(self):
        pass


class Tuple(tuple):
    def method(self):
        pass


class Slots(object):
    __slots__ = ("a",)

    def method(self):
        pass


WithMeta = Meta2("WithMeta", (object,), {})
Dynamic = type("Dynamic", (object,), {"module_function": module_function})
Many = type("Many", (object,), dict(("a%d" % i, i) for i in range(300)))
exec(compile("class Big(Many):\n" + "".join("    def m%d(self): pass\n" % i for i in range(300)),
             __file__, "exec"))
# Code without a file: a method of another class may later have its address and its check, by which
# krait identifies code, so krait can't prove the class.
exec("class Fileless(object):\n    def bare(self): pass\n")


class Old:  # an old-style class in 2.7
    def method(self):
        pass

    def __private(self):
        pass


class OldDerived(Old):
    def other(self):
        pass


class Mixed(Base, Old):
    pass


def of(cls, name):
    return cls.__dict__[name]


def cases():
    b, d, old = Base(), Derived(), OldDerived()
    case(of(Base, "plain"), b, "Base.plain")
    case(of(Base, "plain"), d, "Base.plain")
    case(of(Base, "plain"), d, "Base.plain", at=8)
    case(of(Base, "overridden"), d, "Base.overridden")
    case(of(Derived, "overridden"), d, "Derived.overridden")
    case(of(Derived, "own"), d, "Derived.own")
    case(of(Base, "of_class").__func__, Base, "Base.of_class")
    case(of(Base, "of_class").__func__, Derived, "Base.of_class")
    case(of(Base, "static").__func__ if not PY2 else Base.static, b, "Base.static")
    case(of(Base, "static").__func__ if not PY2 else Base.static, 5, "static")
    case(of(Base, "read").fget, b, "Base.read")
    case(of(Base, "read").fset, b, "Base.read")
    case(of(Base, "__init__"), d, "Base.__init__")
    case(of(Base, "__call__"), b, "Base.__call__")
    case(of(Base, "_Base__private"), d, "Base.__private")
    case(of(Base, "generator"), b, "Base.generator")
    case(of(Base, "borrowed"), b, "Base.borrowed")
    case(of(Base, "borrowed"), Foreign(), "borrowed", "Foreign.borrowed")
    case(of(Base, "wrapped"), b, "wrapper")
    case(of(Base, "twin"), b, "twin")
    case(of(Base, "raw_wrapped"), b, "Base.wrapped", "wrapped")
    case(of(Base, "anonymous"), b, "Base.<lambda>", "<lambda>")
    case(of(Base.Inner, "deep"), Base.Inner(), "Base.Inner.deep", "Inner.deep")
    case(of(Base, "context"), b, "helper")
    local = b.make_local()
    case(of(local, "method"), local(), "Base.make_local.<locals>.Local.method", "method")
    case(module_function, b, "module_function")
    case(module_function, Dynamic(), "module_function")
    case(of(Dict, "method"), Dict(a=1), "Dict.method")
    case(of(Tuple, "method"), Tuple((1, 2)), "Tuple.method")
    case(of(Slots, "method"), Slots(), "Slots.method")
    case(of(Meta2, "of_class"), WithMeta, "Meta2.of_class")
    case(of(Big, "m0"), Big(), "Big.m0")
    case(of(Big, "m299"), Big(), "Big.m299")
    case(of(Fileless, "bare"), Fileless(), "bare")
    case(of(Old, "method"), old, "Old.method")
    case(of(Old, "_Old__private"), old, "Old.__private")
    case(of(OldDerived, "other"), old, "OldDerived.other")
    case(of(Old, "method"), Mixed(), "Old.method")
    case(of(Old, "method"), b, "method")
    for other in (None, 1, "text", [], {}, Base, object, type, case, sys):
        case(module_function, other, "module_function")
    if not PY2:
        case(of(Base, "context").__wrapped__, b, "Base.context")
        namespace = {}
        exec(compile("class Кодек:\n    def Имя(self): pass", __file__, "exec"), namespace)
        codec = namespace["Кодек"]
        case(of(codec, "Имя"), codec(), "Кодек.Имя")
        cached = type("Cached", (), {})

        class Cached:
            @functools.lru_cache(None)
            def lru(self):
                pass

            if sys.version_info >= (3, 8):
                @functools.cached_property
                def lazy(self):
                    pass
        case(of(Cached, "lru").__wrapped__, Cached(), "cases.<locals>.Cached.lru")
        if sys.version_info >= (3, 8):
            case(of(Cached, "lazy").func, Cached(), "cases.<locals>.Cached.lazy")


cases()
print("ready")
sys.stdout.flush()
sys.stdin.read()
