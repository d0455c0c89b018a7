"""Write src/tacit/wire/tacit_pb2.py and .pyi from tacit.proto (needs grpcio-tools, in the dev extra).

Run from anywhere: python tools/generate_wire.py [FOLDER], which writes under FOLDER instead of src.
"""

from __future__ import annotations

import sys
from pathlib import Path

from grpc_tools import protoc

SOURCE = Path(__file__).resolve().parent.parent / "src"
PROTO = "tacit/wire/tacit.proto"


def generate(target: Path) -> int:
    """Run the protocol buffer compiler; the exit code is its own."""
    arguments = ["protoc", f"-I{SOURCE}", f"--python_out={target}", f"--pyi_out={target}", PROTO]
    return int(protoc.main(arguments))


if __name__ == "__main__":
    sys.exit(generate(Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE))
