#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait_faults.py [VERSION]: does the oracle find mistakes in krait itself?

fault_preload.c puts a wrong offset into the table that krait's kernel programs read. The oracle
must find wrong lines or names, impossible stacks, or too many incomplete samples."""
import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import oracle  # noqa: E402
from drivers import krait  # noqa: E402

# fault: (program that shows it, first version, last version)
FAULTS = {
    "tstate_frame+8": ("chains", None, None),
    "tstate_thread_id+8": ("chains", None, (3, 11)),
    "cframe_current_frame+8": ("chains", (3, 11), (3, 12)),
    "frame_code+8": ("chains", None, None),
    "frame_back+8": ("chains", None, None),
    "frame_lasti+8": ("chains", None, None),
    "frame_lasti-8": ("chains", None, None),
    "frame_owner+1": ("callbacks", (3, 12), None),
    "frame_is_entry+1": ("callbacks", (3, 11), (3, 11)),
    "code_firstlineno+4": ("chains", None, None),
    "code_filename=code_name": ("chains", None, None),
    "code_name=code_filename": ("chains", None, (3, 10)),
    "code_qualname=code_name": ("decorated", (3, 11), None),
    "code_linetable+8": ("chains", None, None),
    "code_linetable-8": ("chains", None, None),
    # makes krait show the line of the instruction before the right one
    "code_adaptive+2": ("multiline", (3, 11), None),
    # makes krait show the line of the instruction after the right one
    "code_adaptive-2": ("multiline", (3, 11), None),
    "code_adaptive+8": ("multiline", (3, 11), None),
    # makes krait compare a number that many code objects have in common, instead of a code object's
    # own version
    "code_version=code_firstlineno": ("churn", (3, 12), None),
    # makes the count of code objects look constant
    "codes_made=interp_head": ("churn", (3, 12), None),
    "str_length+8": ("chains", None, None),
    "str_ascii+8": ("chains", (3, 6), None),
    "str_ascii-8": ("chains", (3, 6), None),
    "str_compact+8": ("text", (3, 6), None),
    "str_compact-8": ("text", (3, 6), None),
    "str_kind_shift+1": ("text", (3, 6), None),
    "bytes_data+1": ("chains", None, None),
    "bytes_data-8": ("chains", None, None),
    "walk-1": ("chains", (3, 11), None),
}
EMBEDDED = ("-sid-shared", "-sid-dlopen")  # names of interpreters that a program embeds
SECONDS = 1.0


def build(folder):
    library = os.path.join(folder, "fault_preload.so")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-I" + oracle.ROOT + "/abi",
                    "-o", library, os.path.join(oracle.HERE, "faults", "fault_preload.c"), "-ldl"], check=True)
    return library


class Spoilt(oracle.Oracle):
    """Runs the oracle on a krait with a fault."""

    def __init__(self, options, library):
        super().__init__(options)
        self.library, self.fault = library, None

    def record(self, name, pids, seconds, times):
        out = os.path.join(self.work, "o.pb.gz")
        command = krait.command(self.options.krait, pids, SECONDS, oracle.HZ, out)
        environment = dict(os.environ, LD_PRELOAD=self.library)
        if self.fault:
            environment["KRAIT_FAULT"] = self.fault
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        said = done.stderr.decode(errors="replace")
        if self.fault and "fault_preload: " + self.fault not in said:
            raise RuntimeError("the fault wasn't made: " + said[-300:])
        if done.returncode:
            raise RuntimeError("exit code %d: %s" % (done.returncode, said[-300:]))
        return out

    def test(self, interpreter, program, fault):
        self.fault = fault
        what = "krait-fault %s %s (%s)" % (interpreter.name, fault or "none", program.name)
        try:
            report = self.batch(interpreter, [program], 1000)[program]
        except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
            self.failed = True
            print("FAIL %s: %s" % (what, error), flush=True)
            return
        odd = oracle.odd_leaves(program, report)
        bad = self.incomplete(program, report)
        many = bad > max(oracle.FEW, oracle.INCOMPLETE * report.samples)
        found = bool(report.wrong() or odd or many)
        good = found == bool(fault) and report.samples > 100
        self.failed |= not good
        print("%s %s: %d samples, %d impossible, %d wrong lines, %d wrong names, %d incomplete%s" % (
            "PASS" if good else "FAIL", what, report.samples, report.impossible, report.wrong_lines,
            report.wrong_names, bad, "".join(", " + each for each in odd)), flush=True)


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else None
    options = argparse.Namespace(keep=None, hz=oracle.HZ, krait=os.environ.get(
        "KRAIT", os.path.join(oracle.ROOT, "build", "release", "krait")))
    rows = oracle.interpreters(False, only)
    if not only and not os.environ.get("KRAIT_TEST_FULL"):
        wanted = {(2, 7), (3, 9), (3, 11), (3, 12), max(r.version[:2] for r in rows)}
        rows = [r for r in rows if r.version[:2] in wanted]
    by_name = {p.name: p for p in oracle.programs("*")}
    with tempfile.TemporaryDirectory() as folder:
        options.keep = folder
        spoilt = Spoilt(options, build(folder))
        for interpreter in rows:
            os.makedirs(interpreter.scratch, exist_ok=True)
            minor = interpreter.version[:2]
            spoilt.test(interpreter, by_name["chains"], None)
            for fault, (name, first, last) in FAULTS.items():
                if fault.startswith("codes_made") and interpreter.name.endswith(EMBEDDED):
                    continue  # krait doesn't use these interpreters' count of code objects
                if not ((first and minor < first) or (last and minor > last)):
                    spoilt.test(interpreter, by_name[name], fault)
    return 1 if spoilt.failed else 0


if __name__ == "__main__":
    sys.exit(main())
