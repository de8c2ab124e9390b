"""Converts an Ed25519 key into the NKey of a NATS user. Writes the seed into a file and prints the public key.

    nkey.py PRIVATE-KEY.pem SEED-FILE
"""

import base64
import binascii
import pathlib
import subprocess
import sys

USER, SEED = 20 << 3, 18 << 3


def encoded(prefix, key):
    data = bytes(prefix) + key
    data += binascii.crc_hqx(data, 0).to_bytes(2, "little")
    return base64.b32encode(data).decode().rstrip("=")


def raw(private_key, *options):
    """The key itself: the last 32 bytes of its DER form."""
    command = ["openssl", "pkey", "-in", private_key, "-outform", "DER", *options]
    return subprocess.run(command, check=True, capture_output=True).stdout[-32:]


def main():
    private_key, seed_file = sys.argv[1:]
    # The prefix of a seed has two parts of five bits, filled up with zeros.
    seed = encoded([SEED | USER >> 5, (USER & 31) << 3], raw(private_key))
    pathlib.Path(seed_file).write_text(seed + "\n")
    print(encoded([USER], raw(private_key, "-pubout")))


if __name__ == "__main__":
    main()
