"""The package: its version, its files, and the examples of its README."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import tofrom
from service import Demo
from tofrom import hooks
from tofrom._generated import operations
from tofrom.query import Operation

PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent.parent
SAMPLES = PACKAGE / "tests/samples"


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_version_is_that_of_the_server() -> None:
    found = re.search(
        r'^\[workspace\.package\].*?^version = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.DOTALL | re.MULTILINE
    )
    assert found and tofrom.__version__ == re.sub(r"-([a-z]+)\.", r"\1", found[1])


def test_the_license_is_that_of_the_repository() -> None:
    assert (PACKAGE / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_every_operation_has_a_method() -> None:
    source = (PACKAGE / "src/tofrom/_async/client.py").read_text()
    modules = {"operations": operations, "hooks": hooks}
    used = {getattr(modules[module], name) for module, name in re.findall(r"\b(operations|hooks)\.([A-Z_]+)", source)}
    # A collection makes its addresses of its name.
    collections = re.compile(r"/200909/activity/\{user\}/(to|from|tofrom)(/unread|/seen)?")
    documented = {value for value in vars(operations).values() if isinstance(value, Operation)}
    missing = documented - used
    assert not [operation for operation in missing if not collections.fullmatch(operation.path)], missing


def test_the_types_are_strict(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)], cwd=PACKAGE, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout


def test_wheel_and_source_are_complete(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(PACKAGE)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,), (source,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"tofrom/py.typed", "tofrom/_generated/models.py", "tofrom/_sync/client.py"} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names) and not any("test" in name for name in names)
    with tarfile.open(source) as archive:
        assert any(name.endswith("/LICENSE") for name in archive.getnames())
    # Without the folder of the source.
    check = "import tofrom, sys; assert '.whl' in tofrom.__file__; print(tofrom.__version__)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "PYTHONPATH": str(wheel)
    }
    run = subprocess.run([sys.executable, "-c", check], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.stdout.strip() == tofrom.__version__, run.stderr


@pytest.mark.parametrize("page", ["clients/python/README.md", "docs/clients.md", "docs/recipes.md"])
def test_the_examples_work(demo: Demo, tmp_path: Path, page: str) -> None:
    """Runs the blocks of a page as one program, after a type check. A line `# prints: TEXT` is part of its output."""
    found = blocks((ROOT / page).read_text())
    assert found, f"{page} has no block in Python"
    program = tmp_path / "example.py"
    program.write_text("\n".join(found))
    (tmp_path / "line.json").write_text(json.dumps(demo.ready))
    for sample in SAMPLES.iterdir():
        shutil.copy(sample, tmp_path)
    environment = os.environ | {"PYTHONPATH": str(PACKAGE / "src"), "MYPYPATH": str(PACKAGE / "src")}
    check = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", program.name]
    run = subprocess.run(check, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    run = subprocess.run(
        [sys.executable, program.name], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    lines = [line for block in found for line in block.splitlines()]
    for expected in [line.partition("# prints: ")[2] for line in lines if "# prints: " in line]:
        assert expected in run.stdout, f"{expected!r} is not in {run.stdout}"
