# SPDX-License-Identifier: BSD-2-Clause
"""inside.py TARGET SECONDS OUT [FAULT]: samples TARGET from inside, by signals, and writes pprof.

Without a FAULT the profile is right: if the oracle finds an error in it, truth.py is too strict.
(krait isn't used.) FAULT names a method of Faulty, which makes a mistake that a profiler can make.
check.py must find the mistake (see faults.py). Runs on Python 2.7 and 3.x."""
import os
import signal
import sys
import threading

ORACLE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ORACLE, "truth"), os.path.join(ORACLE, "judge")]
import pprof  # noqa: E402
import truth  # noqa: E402

INTERVAL = 0.002  # seconds between two samples; ITIMER_PROF would round this up to clock ticks
PYTHON = "[python %d.%d]" % sys.version_info[:2]


def chain(frame):
    """Returns the list of frames, leaf first, up to the target's own <module>."""
    out = []
    while frame is not None:
        out.append(frame)
        if "__krait_root__" in frame.f_globals and frame.f_code.co_name == "<module>":
            break
        frame = frame.f_back
    return out


def snapshot(frame):
    return [(id(each), each.f_lasti) for each in chain(frame)]


def facts(frame):
    """Returns what a profiler shows of a frame: [name, file, first line, line, column, (end line,
    end column) or None]."""
    code = frame.f_code
    units = truth.positions(code)
    line, column, end = frame.f_lineno or 0, 0, None
    if units and frame.f_lasti >= 0:
        line, column = units[frame.f_lasti // 2]
        _, end_line, _, end_column = list(code.co_positions())[frame.f_lasti // 2]
        end = (end_line, end_column + 1) if column and end_column is not None else None
    name = getattr(code, "co_qualname", code.co_name)
    return [truth.text(name), truth.text(code.co_filename), code.co_firstlineno, line, column,
            end]


class Faulty(object):
    """Makes mistakes in stacks, one kind in each method. A method gets a stack's frames, and the
    facts of each frame (see facts()), leaf first, and changes the facts. A method that asks
    rare() makes its mistake in a tenth of the samples."""

    def __init__(self):
        self.count = 0
        self.last = []
        self.by_address = {}

    def rare(self):
        self.count += 1
        return self.count % 10 == 0

    @staticmethod
    def unit(frame, distance):
        """Returns (line, column) of the instruction @distance instructions after the frame's
        present one, as if f_lasti were wrong by that much."""
        lasti = frame.f_lasti + 2 * distance
        units = truth.positions(frame.f_code)
        if units:
            return list(units[max(0, min(lasti // 2, len(units) - 1))])
        line = frame.f_code.co_firstlineno
        for start, new in truth.dis.findlinestarts(frame.f_code):
            if start <= lasti:
                line = new
        return [line, 0]

    def instruction_later(self, frames, stack):
        for i, frame in enumerate(frames):
            if frame.f_lasti >= 0:
                distance = 1
                # inline caches have the same position as the instruction before them
                if sys.version_info >= (3, 11):
                    units = truth.positions(frame.f_code)
                    here = frame.f_lasti // 2
                    while here + distance < len(units) and units[here + distance] == units[here]:
                        distance += 1
                stack[i][3:] = self.unit(frame, distance)

    def instruction_earlier(self, frames, stack):
        for i, frame in enumerate(frames):
            if frame.f_lasti > 0:
                stack[i][3:] = self.unit(frame, -1)

    def instruction_zero(self, frames, stack):
        for i, frame in enumerate(frames):
            stack[i][3:] = self.unit(frame, -frame.f_lasti // 2)

    def instruction_halved(self, frames, stack):
        """Fault: f_lasti is taken in the wrong unit, as code units instead of bytes or the reverse.
        """
        for i, frame in enumerate(frames):
            stack[i][3:] = self.unit(frame, -frame.f_lasti // 4)

    def instruction_doubled(self, frames, stack):
        for i, frame in enumerate(frames):
            stack[i][3:] = self.unit(frame, frame.f_lasti // 2)

    def first_line(self, frames, stack):
        for each in stack:
            each[3] = each[2]

    def line_plus_one(self, frames, stack):
        if self.rare() and len(stack) > 1:
            stack[1][3] += 1

    def leaf_line_plus_one(self, frames, stack):
        stack[0][3] += 1

    def line_minus_one(self, frames, stack):
        if self.rare():
            stack[-1][3] -= 1

    def column_from_zero(self, frames, stack):
        for each in stack:
            each[4] = max(0, each[4] - 1)

    def end_from_zero(self, frames, stack):
        for each in stack:
            each[5] = each[5] and (each[5][0], each[5][1] - 1)

    def unsigned_line_steps(self, frames, stack):
        """Fault: a step backwards in the line table is read as a step forwards."""
        for i, frame in enumerate(frames):
            line = at = frame.f_code.co_firstlineno
            for start, new in truth.dis.findlinestarts(frame.f_code):
                if start > frame.f_lasti:
                    break
                if new is not None:
                    line += abs(new - at)
                    at = new
            stack[i][3] = line

    def stale_name(self, frames, stack):
        """Fault: names are cached by the address of the code object, and never checked again."""
        for i, frame in enumerate(frames):
            stack[i][:3] = self.by_address.setdefault(id(frame.f_code), stack[i][:3])

    def stale_lines(self, frames, stack):
        """Fault: line tables are cached by the address of the code object; names aren't."""
        for i, frame in enumerate(frames):
            table = self.by_address.setdefault(id(frame.f_code), {})
            stack[i][3:] = table.setdefault(frame.f_lasti, stack[i][3:])

    def name_of_caller(self, frames, stack):
        if self.rare() and len(stack) > 2:
            stack[0][0] = stack[1][0]

    def code_of_last_sample(self, frames, stack):
        """Fault: the leaf gets the code object of the previous sample's leaf, as if a record had
        come too late."""
        leaf = stack[0][:3]
        if self.rare() and self.last:
            stack[0][:3] = self.last
        self.last = leaf

    def leaf_dropped(self, frames, stack):
        if len(stack) > 1:
            del stack[0]

    def middle_dropped(self, frames, stack):
        if self.rare() and len(stack) > 3:
            del stack[len(stack) // 2]

    def root_dropped(self, frames, stack):
        if self.rare() and len(stack) > 1:
            del stack[-1]

    def frame_twice(self, frames, stack):
        if self.rare():
            stack.insert(1, list(stack[1 if len(stack) > 1 else 0]))

    def frames_swapped(self, frames, stack):
        if self.rare() and len(stack) > 2:
            stack[1], stack[2] = stack[2], stack[1]

    def leaf_swapped(self, frames, stack):
        if self.rare() and len(stack) > 2:
            stack[0], stack[1] = stack[1], stack[0]

    def every_second(self, frames, stack):
        """Fault: every second frame is missing, as if the pointer to the caller were followed
        twice."""
        stack[:] = stack[::2]

    def generators_missed(self, frames, stack):
        stack[:] = [s for f, s in zip(frames, stack) if not f.f_code.co_flags & 0x20]

    def root_of_another(self, frames, stack):
        """Fault: the stack has its own inner half and the outer half of the previous stack."""
        own = [list(each) for each in stack]
        if self.rare() and self.last:
            stack[:] = stack[:len(stack) // 2] + self.last[len(self.last) // 2:]
        self.last = own

    def cut_unmarked(self, frames, stack):
        del stack[127:]

    def cut_at_leaf(self, frames, stack):
        """Fault: a stack that is too deep loses its innermost frames, instead of the outermost
        ones."""
        del stack[:max(0, len(stack) - 12)]

    def name_cut(self, frames, stack):
        for each in stack:
            each[0] = each[0][:255]

    def wide_names_as_bytes(self, frames, stack):
        """Fault: a string with two bytes per character is read as if it had one byte per character.
        """
        for each in stack:
            if ord(max(each[0])) > 255:
                each[0] = each[0].encode("utf-16-le").decode("latin-1")[:len(each[0])]

    def class_of_self(self, frames, stack):
        """Fault: a method that a base class defines is named after the class of self."""
        for i, frame in enumerate(frames):
            if "self" in frame.f_code.co_varnames[:1] and "self" in frame.f_locals:
                stack[i][0] = "%s.%s" % (type(frame.f_locals["self"]).__name__,
                                         frame.f_code.co_name)

    def file_cut(self, frames, stack):
        for each in stack:
            each[1] = os.path.basename(each[1])


class Sampler(object):
    def __init__(self, fault):
        self.writer = pprof.Writer()
        self.main = threading.current_thread().ident
        self.counts = {}
        self.over = False
        self.fault = getattr(Faulty(), fault) if fault else None

    def stack(self, frame):
        """Returns the ids of the stack's locations in the profile, root first."""
        frames = chain(frame)
        stack = [facts(each) for each in frames]
        if self.fault and "/targets/" in stack[0][1] + stack[-1][1]:
            self.fault(frames, stack)
        return tuple(self.writer.location(PYTHON, *each) for each in reversed(stack))

    def tick(self, _signal, frame):
        if self.over:
            return
        # On a slow machine, the signal may come while the handler of the last signal runs. Then no
        # sample is taken.
        if frame.f_code not in OWN:
            self.sample(frame)
        self.arm()

    def sample(self, frame):
        if sys.version_info[0] == 2:
            interval = sys.getcheckinterval()
            sys.setcheckinterval(1 << 30)
        current = dict(sys._current_frames())
        current[self.main] = frame
        for ident, top in current.items():
            before = snapshot(top)
            stack = self.stack(top)
            # counts the sample only if the thread didn't run while its stack was read
            if ident == self.main or snapshot(top) == before:
                self.counts[stack] = self.counts.get(stack, 0) + 1
        if sys.version_info[0] == 2:
            sys.setcheckinterval(interval)

    def arm(self):
        """Sets the timer for one signal. Repeated signals would come too fast, because reading a
        deep stack takes longer than the interval."""
        signal.setitimer(signal.ITIMER_REAL, INTERVAL)

    def save(self, path):
        for stack, count in self.counts.items():
            self.writer.sample(stack, {"pid": str(os.getpid())}, count)
        self.writer.save(path)


OWN = [function.__code__ for function in (Sampler.tick, Sampler.arm)]


def main():
    target, seconds, out = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
    import rig
    rig.seconds = seconds
    sampler = Sampler(sys.argv[4] if len(sys.argv) > 4 else None)
    signal.signal(signal.SIGALRM, sampler.tick)
    signal.siginterrupt(signal.SIGALRM, False)
    code, namespace, _old = truth.load(target)
    sampler.arm()
    try:
        exec(code, namespace)
    finally:
        sampler.over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
    sampler.save(out)


if __name__ == "__main__":
    main()
