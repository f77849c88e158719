# SPDX-License-Identifier: BSD-2-Clause
"""Runs `krait record` in the background, which records this very process and its children."""
import json
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time

START_S = 60  # how long krait may take until it samples
# how long krait may take to end after a signal; krait waits for names of functions for 30 s at most
END_S = 60
MOST_WORDS = 4000


def program():
    """Returns the path of the krait that is installed beside this Python, else of the krait on
    PATH."""
    own = sysconfig.get_path("scripts") or ""
    found = os.environ.get("KRAIT") or shutil.which("krait", path=own) or shutil.which("krait")
    if not found:
        raise OSError("the program krait isn't there; it comes with: pip install krait-profiler")
    return found


def report(path, *args):
    """Returns what `krait report --json` says of the file @path; {} if there is no report."""
    done = subprocess.run([program(), "report", "--json", *args, path], env=environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    try:
        return json.loads(done.stdout.decode("utf-8", "replace"))
    except ValueError:
        return {}


def environment():
    """Returns the environment without sudo's variables, so that krait reads and writes files as
    this process's own user, not as the caller of sudo."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SUDO_")}


class Recording:
    """Runs a krait that samples from the moment in which begin() returns. No method raises an
    exception: .error says what went wrong, and the recorded program goes on."""

    def __init__(self, output, *options):
        self.output = output
        self.options = options
        self.process = self.said = None
        self.error = ""

    def begin(self):
        try:
            self.start()
        except Exception as error:  # pylint: disable=broad-except # krait must not end the program
            self.error = str(error) or repr(error)
        return self

    def start(self):
        try:
            # pylint: disable=consider-using-with # it lives as long as the recording
            self.said = tempfile.TemporaryFile()
            # krait has a session of its own: Ctrl-C in the terminal reaches only this process,
            # which then ends krait. krait's messages go to a file, because a pipe that nobody reads
            # would fill up.
            self.process = subprocess.Popen(
                [program(), "record", "-v", "--color", "never", "-p", str(os.getpid()), "-o", self.output, *self.options],
                env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.said, start_new_session=True)
        except OSError as error:
            self.error = str(error)
            return
        end = time.monotonic() + START_S
        while "krait: sampling began" not in self.said_all() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        if self.process.poll() is not None:
            self.error = self.words() or "krait ended at once"

    def end(self):
        """Stops the recording. After that, .output is the path of the written file, or .error says
        why there is no file."""
        if not self.process or self.error:
            return
        try:
            self.stop()
        except Exception as error:  # pylint: disable=broad-except
            self.error = str(error) or repr(error)

    def stop(self):
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            self.process.send_signal(number)
            try:
                self.process.wait(END_S)
                break
            except subprocess.TimeoutExpired:
                pass
        # The exit code isn't looked at, because other code that reaps children may have taken it.
        if not os.path.exists(self.output):
            self.error = self.words() or "krait has written nothing"

    def said_all(self):
        """Returns krait's messages so far."""
        # krait shares this file's offset, so pread() is used, which doesn't move the offset.
        data = os.pread(self.said.fileno(), os.fstat(self.said.fileno()).st_size, 0)
        return data.decode("utf-8", "replace").strip()

    def words(self):
        """Returns krait's messages that are to be shown. If there are too many, these are only the
        warnings and the end, where an error stands."""
        said = self.said_all()
        if len(said) <= MOST_WORDS:
            return said
        last = said[-MOST_WORDS // 2:].split("\n", 1)[-1]
        return "\n".join(self.warnings())[:MOST_WORDS // 2] + "\n" + last

    def warnings(self):
        return [line for line in self.said_all().splitlines() if line.startswith("krait: warning: ")]
