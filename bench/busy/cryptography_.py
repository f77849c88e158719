# SPDX-License-Identifier: BSD-2-Clause
# packages: cryptography
"""Calls OpenSSL from Rust: keys, signatures, AES, hashes in hand-written assembly."""
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

import busy

DATA = b"x" * 65536
RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def round_():
    RSA.sign(b"text", padding.PKCS1v15(), hashes.SHA256())
    for _ in range(10):
        signature = EC.sign(b"text", ec.ECDSA(hashes.SHA256()))
        EC.public_key().verify(signature, b"text", ec.ECDSA(hashes.SHA256()))
        ED.sign(b"text")
    for cipher in AESGCM(b"k" * 32), ChaCha20Poly1305(b"k" * 32):
        for _ in range(20):
            cipher.decrypt(b"n" * 12, cipher.encrypt(b"n" * 12, DATA, None), None)
    for kind in hashes.SHA256, hashes.SHA512, hashes.SHA3_256, hashes.BLAKE2b:
        digest = hashes.Hash(kind(64) if kind is hashes.BLAKE2b else kind())
        digest.update(DATA * 4)
        digest.finalize()
    PBKDF2HMAC(hashes.SHA256(), 32, b"salt", 2000).derive(b"password")


busy.run(round_)
