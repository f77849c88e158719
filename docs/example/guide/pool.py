# SPDX-License-Identifier: BSD-2-Clause
import multiprocessing, hashlib
def slow(n):
    total = 0
    for i in range(n): total += i * i
    return total
def digest(n):
    return hashlib.pbkdf2_hmac("sha256", b"x", b"y", n)
def job(n):
    return slow(n) if n % 2 else digest(n)
if __name__ == "__main__":
    with multiprocessing.Pool(3) as p:
        p.map(job, [400000 + i for i in range(12)])
