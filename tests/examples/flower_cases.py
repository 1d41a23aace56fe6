"""What test_secure_sums.py asserts on: run by the Python that has Flower.

``python tests/examples/flower_cases.py FOLDER`` prints a line of JSON for each case. The folder is
for the budgets of sites.
"""

from __future__ import annotations

import json
import traceback

import flower_site_cases as sites
import flower_sum_cases as sums
import numpy as np
from private_curves import masks

from dpcore.errors import DpcoreError


def of_masks():
    make, seed = masks.full_seed_masks, bytes(range(32))
    first = make(seed, 2**32, [(4096,)])[0]
    changed = []
    for at in range(32):
        other = bytearray(seed)
        other[at] ^= 1
        changed.append(float(np.mean(make(bytes(other), 2**32, [(4096,)])[0] == first)))
    shapes = [(), (3,), (2, 5), (0,), (2, 3, 4)]
    parts = make(seed, 2**20, shapes)
    together = np.concatenate([part.ravel() for part in parts])
    tables = {}
    for bits in (1, 8, 20, 32):
        drawn = make(b"uniform", 2**bits, [(2**18,)])[0]
        low = np.bincount(drawn & 255, minlength=256)[: min(256, 2**bits)]
        high = np.bincount(drawn >> max(0, bits - 8), minlength=256)[: min(256, 2**bits)]
        expected = 2**18 / len(low)
        tables[bits] = {
            "least": int(drawn.min()),
            "largest": int(drawn.max()),
            "freedom": len(low) - 1,
            "low": float(np.sum((low - expected) ** 2) / expected),
            "high": float(np.sum((high - expected) ** 2) / expected),
        }
    refused = {}
    for modulus in (0, 3, 2**32 - 1, 2**33, -4):
        try:
            make(seed, modulus, [(4,)])
        except DpcoreError as error:
            refused[modulus] = f"{type(error).__name__}: {error}"
        else:
            refused[modulus] = None
    return {
        "deterministic": bool((make(seed, 2**32, [(4096,)])[0] == first).all()),
        "type": str(first.dtype),
        "equal after a change": changed,
        "shapes": [list(part.shape) for part in parts] == [list(shape) for shape in shapes],
        "a stream": bool((together == make(seed, 2**20, [(len(together),)])[0]).all()),
        "tables": tables,
        "refused": refused,
    }


def main():
    """Print all cases. A case that crashes is told, and the others go on."""
    for name, function in {**sums.CASES, **sites.CASES, "masks": of_masks}.items():
        try:
            found = {"case": name, "found": function()}
        except Exception:
            found = {"case": name, "crash": traceback.format_exc()}
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
