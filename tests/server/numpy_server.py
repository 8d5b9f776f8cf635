# SPDX-License-Identifier: MIT
"""Contracts by the example server and by NumPy, and compares.

usage: numpy_server.py PROGRAM
"""

import http.client
import io
import socket
import subprocess
import sys
import threading

import numpy as np

PROGRAM = sys.argv[1]
BOUNDARY = "a-boundary-of-this-test"
TYPES = ["<f4", "<f8", "<c8", "<c16", ">f4", ">f8", ">c8", ">c16"]

# Two operands, one, and many.
EINSUMS = """
ab,bc->ac abcd,aebf->dfce zab,zbc->zac ab,ab-> aab,bcc->ac a,b->ba ab->ba
aab->b abc-> ab,bc,cd->ad ab,bc,ca-> ab,ac,ad->bcd a,ab,abc,bcd->d
""".split()

failures = []


def npy(array):
    """The bytes of its file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def form(fields):
    """A body of multipart/form-data."""
    body = b""
    for name, value in fields:
        body += (f"--{BOUNDARY}\r\nContent-Disposition: form-data; "
                 f'name="{name}"; filename="{name}"\r\n'
                 "Content-Type: application/octet-stream\r\n\r\n").encode()
        body += (value if isinstance(value, bytes) else value.encode())
        body += b"\r\n"
    return body + f"--{BOUNDARY}--\r\n".encode()


def random(rng, shape, dtype, order):
    """Numbers about 0."""
    values = rng.standard_normal(shape)
    if dtype[1] == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values).astype(dtype, order=order)


def compare(connection, rng, einsum, dtype, accumulate):
    """One request."""
    inputs = einsum.split("->")[0].split(",")
    extent = {label: int(rng.integers(1, 9)) for label in einsum}
    operands = [random(rng, [extent[label] for label in labels], dtype,
                       "CF"[int(rng.integers(2))]) for labels in inputs]
    wide = "c16" if dtype[1] == "c" else "f8"
    want = np.einsum(einsum, *[o.astype(wide) for o in operands])
    size = np.einsum(einsum, *[np.abs(o).astype("f8") for o in operands])
    fields = [("einsum", einsum)]
    if accumulate:
        c0 = random(rng, want.shape, dtype, "CF"[int(rng.integers(2))])
        fields += [("accumulate", npy(c0)), ("alpha", "-1.5"), ("beta", "2")]
        want = -1.5 * want + 2 * c0.astype(wide)
        size = 1.5 * size + 2 * np.abs(c0)
    fields += [(f"x{i}", npy(o)) for i, o in enumerate(operands)]
    connection.request("POST", "/contract", form(fields), {
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}"})
    answer = connection.getresponse()
    body = answer.read()
    what = f"{einsum} {dtype} {accumulate}"
    if answer.status != 200:
        failures.append(f"{what}: {answer.status} {body.decode()}")
        return
    got = np.load(io.BytesIO(body))
    epsilon = 32 * len(operands) * np.finfo(dtype).eps
    if got.shape != want.shape or got.dtype != np.dtype(dtype[1:]):
        failures.append(f"{what}: {got.shape} {got.dtype}")
    elif not (np.abs(got - want) <= epsilon * np.abs(size) + 1e-30).all():
        failures.append(f"{what}: off by {np.abs(got - want).max()}")


def use(port, seed):
    """One client."""
    rng = np.random.default_rng(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for einsum in EINSUMS:
        for dtype in TYPES:
            compare(connection, rng, einsum, dtype, False)
            compare(connection, rng, einsum, dtype, True)
    connection.close()


def checked_use(port, seed):
    """The same; what it throws is a failure."""
    try:
        use(port, seed)
    except Exception as error:  # pylint: disable=broad-except
        failures.append(f"client {seed}: {error!r}")


def possible():
    """Whether loopback can be used here."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), 10).close()
        return True
    except OSError:
        return False


def main():
    """Several clients at once."""
    if not possible():
        print("loopback cannot be used")
        return 77
    with subprocess.Popen([PROGRAM, "--port=0"],
                          stdout=subprocess.PIPE) as server:
        line = server.stdout.readline().decode()
        if not line:
            return server.wait()
        port = int(line.split()[-1])
        clients = [threading.Thread(target=checked_use, args=(port, seed))
                   for seed in range(4)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        server.terminate()
        status = server.wait()
    for failure in failures[:20]:
        print("FAIL:", failure)
    print(4 * 2 * len(EINSUMS) * len(TYPES), "contractions,", len(failures),
          "failed, the server ended with", status)
    return 1 if failures or status else 0


sys.exit(main())
