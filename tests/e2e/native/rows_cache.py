#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait uses unwind rows from its cache only for the bytes from which they were made, not for
another file with the same build id and size. A file can claim any build id and size. Here an
attacker's program has the build id and the size of an honest program, but other call frame
information. The attacker's program is recorded first. The stacks of the honest program must
still be whole."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import kit
from kit import check, folder, krait

NOBODY = 65534
# The share of stacks that must be whole. Not all stacks are whole, because the first samples come
# before krait has the unwind rows. With the rows of the other file, no stack would be whole.
LEAST = 0.8
# Many small functions, so that the file is worth caching; then a chain of functions with frames of
# FRAME bytes and correct call frame information. The two programs differ only in FRAME.
SOURCE = """
.text
.rept 12000
.cfi_startproc
push %rbx
.cfi_adjust_cfa_offset 8
pop %rbx
.cfi_adjust_cfa_offset -8
ret
.cfi_endproc
.endr
.macro chain name, next
.globl \\name
.type \\name, @function
\\name:
.cfi_startproc
sub $FRAME, %rsp
.cfi_adjust_cfa_offset FRAME
call \\next
add $FRAME, %rsp
.cfi_adjust_cfa_offset -FRAME
ret
.cfi_endproc
.size \\name, . - \\name
.endm
chain main, outer
chain outer, inner
chain inner, burn
.globl burn
.type burn, @function
burn:
.cfi_startproc
jmp burn
.cfi_endproc
.size burn, . - burn
.section .note.GNU-stack,"",@progbits
"""


def build(d, name, frame, owner, mode):
    path = os.path.join(d, name)
    with open(path + ".s", "w") as f:
        f.write(SOURCE.replace("FRAME", str(frame)))
    subprocess.run(["gcc", "-no-pie", "-Wl,--build-id=0x00112233445566778899", "-o", path,
                    path + ".s"], check=True)
    os.chown(path, owner, owner)
    os.chmod(path, mode)
    return path


def stacks(d, cache, path, user):
    """Records a program that @user runs. Returns (number of samples in burn(), how many of these
    have the whole chain of callers)."""
    os.chmod(d, 0o755)
    out = os.path.join(d, "o.folded")
    # On a busy machine krait takes longer to make unwind rows, but the program also takes longer to
    # use a given amount of CPU time.
    with kit.Background(path, user=user, group=user) as target, \
            kit.recorder(out, "--all", "--native=full", "-F", "999", "--comm", os.path.basename(path),
                         env=dict(os.environ, XDG_CACHE_HOME=cache)) as recording:
        kit.runs(target.pid, 0.6)
        code, said = recording.finish(timeout=60)
    check(code == 0, said)
    count = [0, 0]
    with open(out) as f:
        lines = f.read().splitlines()
    for line in lines:
        stack, n = line.rsplit(" ", 1)
        if "burn" in stack:
            count[0] += int(n)
            count[1] += int(n) if re.search(r"main.*;outer.*;inner.*;burn", stack) else 0
    return count


def poisoned(honest, attacker):
    """Records the attacker's program and then the honest program, whose stacks must be whole. Both
    arguments are (owner, mode) of the program's file. The honest program's owner runs it."""
    kit.need("gcc")
    with folder() as d:
        cache = os.path.join(d, "cache")
        bad = build(d, "attacker", 104, *attacker)
        good = build(d, "honest", 24, *honest)
        check(os.path.getsize(bad) == os.path.getsize(good), "the files' sizes differ")
        total, whole = stacks(d, cache, bad, NOBODY)
        check(total > 100 and whole >= LEAST * total, "the attacker's own: %d of %d" % (whole, total))
        check(any(n.endswith(".rows") for _, _, names in os.walk(cache) for n in names),
              "krait kept no rows, so the attack can't be tried")
        for attempt in ("first", "second"):
            total, whole = stacks(d, cache, good, honest[0])
            check(total > 100, "only %d samples" % total)
            check(whole >= LEAST * total, "%s time: %d of %d stacks are broken" % (
                attempt, total - whole, total))


@kit.case
def other_users_file():
    """The honest program belongs to root, the attacker's program to the attacker."""
    poisoned((0, 0o755), (NOBODY, 0o755))


@kit.case
def same_users_file():
    """Both programs belong to one user: only their bytes tell them apart."""
    poisoned((NOBODY, 0o755), (NOBODY, 0o755))


@kit.case
def both_roots():
    """Both files belong to root, as if root in a container had written one of them. Only the files'
    times of change and their bytes differ."""
    poisoned((0, 0o755), (0, 0o755))


def forget(cache, **env):
    done = krait("doctor", "--forget", env=dict(os.environ, XDG_CACHE_HOME=cache, **env))
    return done.returncode, done.stdout + done.stderr


@kit.case
def forgotten():
    """`doctor --forget` removes krait's cache and nothing else. It follows no link, and with sudo
    it removes the caller's cache."""
    with folder() as d:
        os.chmod(d, 0o755)
        kept = os.path.join(d, "krait")
        os.mkdir(kept, 0o700)
        for name in ("1.rows", "2.files", "mine.txt"):
            open(os.path.join(kept, name), "w").close()
        os.mkdir(os.path.join(d, "linked"))
        os.symlink(kept, os.path.join(d, "linked", "krait"))
        code, said = forget(os.path.join(d, "linked"))
        check(code == 1 and len(os.listdir(kept)) == 3, "through a link: %d %s" % (code, said))
        # This cache belongs to root, not to the user who called sudo: krait leaves it.
        code, said = forget(d, SUDO_UID=str(NOBODY), SUDO_GID=str(NOBODY))
        check(len(os.listdir(kept)) == 3, "as another user: %d %s" % (code, said))
        code, said = forget(d)
        check(code == 0 and os.listdir(kept) == ["mine.txt"] and "removed 2 files" in said, "%d %s" % (code, said))
        os.unlink(os.path.join(kept, "mine.txt"))
        code, said = forget(d)
        check(code == 0 and not os.path.exists(kept), "the directory is left: " + said)
        code, said = forget(d)
        check(code == 0 and "no cache" in said, "%d %s" % (code, said))


if __name__ == "__main__":
    sys.exit(kit.main())
