# SPDX-License-Identifier: BSD-2-Clause
"""%%krait and %krait in a notebook record the kernel's process while a cell, or a statement, runs.
The cell then shows where the time went, in one sentence and as a flame graph: an SVG without
script, which is still shown when the notebook is opened again."""
import asyncio
import contextlib
import json
import os
import re
import shlex
import subprocess
import tempfile

from . import recording

GIVEN = ("-o", "--output", "--format", "-f", "--folded", "-p", "--pid", "-q", "--quiet", "-h", "--help", "--open", "--")
MOST_BYTES = 300000  # by how many bytes a cell's picture may make a notebook larger
# The pairs are tried in turn until the picture is small enough: the least width of a box that stays
# (the picture is 1200 wide), and whether boxes keep their tooltips.
SHAPES = ([(width, True) for width in (0, 0.5, 1, 2)] + [(width, False) for width in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)])
# Packages whose frames call a cell; these frames are the same for all cells.
FRAMES = ("IPython", "ipykernel", "ipykernel_launcher", "traitlets", "tornado.platform.asyncio", "asyncio.base_events", "asyncio.events", "asyncio.runners",
          "runpy", os.path.abspath(__file__))
# Matches the parts of a picture that a notebook doesn't need: those for the picture's script and
# for krait itself.
REST = re.compile(r"<metadata\b.*?</metadata>|<script\b.*?</script>| ?The recording is in this file\.", re.DOTALL)
SIZE = re.compile(r'(<svg [^>]*?) width="[0-9]+" height="[0-9]+"')
BOX = re.compile(r'<g class="b [^"]*">(<title>[^<]*</title>)<rect x="[^"]*" y="[^"]*" width="([0-9.]+)"[^>]*/>.*?</g>\n?', re.DOTALL)


class Failed(Exception):
    """Raised when the reason has already been shown, by IPython after an exception in the cell or
    by krait. So it has no traceback."""

    def _render_traceback_(self):
        return []


class Picture:
    def __init__(self, svg):
        self.svg = svg

    def _repr_svg_(self):
        return self.svg

    def __repr__(self):
        return "flame graph by krait, an SVG picture"


def load(shell):
    def krait(line, cell=None):
        """%%krait [OPTIONS of krait record]: where the cell's CPU time goes. %krait STATEMENT:
        where one statement's CPU time goes."""
        if cell is None and not line.strip():
            print("Write %%krait [OPTIONS of krait record] above a cell, or %krait STATEMENT, to see where its CPU time goes")
            return
        if cell is None:
            run(shell, line, "")
        else:
            # A comment takes the place of the line %%krait, so that lines have the numbers that the
            # notebook shows. If the cell begins with another magic, that magic stays in the first
            # line.
            run(shell, cell if cell.lstrip().startswith("%%") else "# %%krait\n" + cell, line)
    shell.register_magic_function(krait, "line_cell", "krait")


@contextlib.contextmanager
def numbered(shell):
    """Until the with block ends, a cell that the current cell runs gets the current cell's number.
    IPython 9 would give it the next number."""
    compiler, number = shell.compile, shell.displayhook.prompt_count
    # own: an outer cell has already replaced cache(), and runs this cell
    cache, own = compiler.cache, "cache" in vars(compiler)
    compiler.cache = lambda code, _=0, **more: cache(code, number, **more)
    try:
        yield
    finally:
        if own:
            compiler.cache = cache
        else:
            del compiler.cache


def needs_running_loop(shell, code):
    """Tells whether the code has an await, so that it can't run: the event loop that would run it
    is busy with this magic."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return shell.should_run_async(code, transformed_cell=shell.transform_cell(code))


def options_of(line):
    """Returns the options for krait record. Options that say what is recorded, or where it is
    written, are refused, because this module sets them."""
    options = shlex.split(line)
    for option in options:
        if option.split("=")[0] in GIVEN or re.match("-[opq].", option):
            raise ValueError("%s can't be given here: the cell is what is recorded, and shows the result" % option)
    return options


def run(shell, code, line):
    """Runs the code of a cell, and records it if that is possible."""
    if needs_running_loop(shell, code):
        print("krait: a cell with await can't run below %%%%krait. Remove %%%%krait, and record this process instead: krait record -p %d" % os.getpid())
        raise Failed()
    with tempfile.TemporaryDirectory(prefix="krait-cell.") as folder:
        taken = recording.Recording(os.path.join(folder, "cell.pb.gz"))
        try:
            taken.options = options_of(line)
        except ValueError as error:
            taken.error = str(error)
        try:
            if not taken.error:
                taken.begin()
            with numbered(shell):
                result = shell.run_cell(code, store_history=False)
        finally:
            taken.end()
        show(taken)
    if not result.success:
        raise Failed()


def show(taken):
    if taken.error:
        print("krait: this cell wasn't recorded:\n" + taken.error)
        return
    for line in taken.warnings():
        print(line)
    print(recording.report(taken.output).get("summary") or "Nothing ran long enough for a sample.")
    svg = picture(taken.output)
    if svg:
        from IPython.display import display  # pylint: disable=import-outside-toplevel # IPython called us
        display(Picture(svg))


def picture(path):
    """Returns the flame graph with as many of the widest boxes as fit. Returns None if no box fits,
    or if there is nothing to show."""
    svg = os.path.join(os.path.dirname(path), "cell.svg")
    hide = [word for frame in FRAMES for word in ("--hide", frame)]
    subprocess.run([recording.program(), "report", "-o", svg, *hide, path], env=recording.environment(), stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if not os.path.exists(svg):
        return None
    with open(svg, encoding="utf-8") as f:
        # removes the picture's size, because the notebook decides the width
        text = SIZE.sub(r"\1", REST.sub("", f.read()), 1)
    for width, titled in SHAPES:
        fits, left_out = smaller(text, width, titled)
        if stored_bytes(fits) <= MOST_BYTES:
            if left_out:
                print("%d boxes narrower than %.2g %% of the picture aren't drawn." % (left_out, width / 12))
            return fits
    print("The flame graph is too large for a notebook.")
    return None


def smaller(text, width, titled):
    """Returns the picture without narrow boxes, and the number of its boxes. Callees of a narrow
    box are narrower still, so they are left out too."""
    left_out = 0

    def box(found):
        nonlocal left_out
        if float(found[2]) < width:
            left_out += 1
            return ""
        return found[0] if titled else found[0].replace(found[1], "", 1)
    return BOX.sub(box, text), left_out


def stored_bytes(text):
    """Returns how many bytes the text takes in a notebook's file, which is JSON with each line
    indented in a list."""
    return len(json.dumps(text, ensure_ascii=False).encode()) + 16 * (text.count("\n") + 1)
