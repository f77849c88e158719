# SPDX-License-Identifier: BSD-2-Clause
"""`krait record` of this very process and its children, in the background."""
import json
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time

START_S = 60  # at most, until it samples
END_S = 60  # at most, until it has written; krait itself looks for names for 5 s
MOST_WORDS = 4000


def program():
    """The krait that was installed beside this Python, else that of PATH."""
    own = sysconfig.get_path("scripts") or ""
    found = os.environ.get("KRAIT") or shutil.which("krait", path=own) or shutil.which("krait")
    if not found:
        raise OSError("the program krait isn't there; it comes with: pip install krait-profiler")
    return found


def report(path, *args):
    """`krait report --json` of a file; {} if there is none."""
    done = subprocess.run([program(), "report", "--json", *args, path], env=environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    try:
        return json.loads(done.stdout.decode("utf-8", "replace"))
    except ValueError:
        return {}


def environment():
    """Without sudo's words: what this process reads and writes is its own user's, not that of who called it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SUDO_")}


class Recording:
    """Samples come from the return of begin() on. What went wrong is in .error, and nothing is raised: whoever is recorded goes on."""

    def __init__(self, output, *options):
        self.output = output
        self.options = options
        self.process = self.said = None
        self.error = ""

    def begin(self):
        try:
            # pylint: disable=consider-using-with # it lives as long as the recording
            self.said = tempfile.TemporaryFile()
            # A session of its own: Ctrl-C in the terminal is for this process, which then ends krait. What krait says goes to a
            # file, which takes all of it though nobody reads.
            self.process = subprocess.Popen(
                [program(), "record", "-v", "--color", "never", "-p", str(os.getpid()), "-o", self.output, *self.options],
                env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.said, start_new_session=True)
        except OSError as error:
            self.error = str(error)
            return self
        end = time.monotonic() + START_S
        while "krait: sampling began" not in self.words() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        if self.process.poll() is not None:
            self.error = self.words() or "krait ended at once"
        return self

    def end(self):
        """Once it has returned, .output is there, or .error says why it isn't."""
        if not self.process or self.error:
            return
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            self.process.send_signal(number)
            try:
                self.process.wait(END_S)
                break
            except subprocess.TimeoutExpired:
                pass
        # Not the exit code: where another one reaps children, nobody knows it.
        if not os.path.exists(self.output):
            self.error = self.words() or "krait has written nothing"

    def words(self):
        """What it has said so far."""
        # pread(): the offset is krait's too.
        data = os.pread(self.said.fileno(), MOST_WORDS, 0)
        return data.decode("utf-8", "replace").strip()

    def warnings(self):
        return [line for line in self.words().splitlines() if line.startswith("krait: warning: ")]
