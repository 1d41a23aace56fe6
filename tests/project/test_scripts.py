"""The logic of scripts/, without a network: nothing is installed here."""

from __future__ import annotations

import ast
import importlib.util
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, for a clone with nothing but a pyproject.toml."""
    module = load("_environment")
    (tmp_path / "pyproject.toml").write_text("[project]")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    return module


class Runner:
    """Takes the place of running venv and pip, and notes what was run."""

    def __init__(self, environment: ModuleType) -> None:
        self.environment = environment
        self.made = 0
        self.installed: list[str] = []
        self.pip_fails = False

    def __call__(self, command: list[str], name: str, hint: str) -> None:
        if name == "venv":
            self.made += 1
            python = self.environment.python()
            python.parent.mkdir()
            python.touch()
            (self.environment.VENV / "pyvenv.cfg").touch()
            return
        if self.pip_fails:
            raise KeyboardInterrupt
        self.installed.append(command[-1])

    def install(self, *extras: str) -> None:
        self.environment.VENV.mkdir(exist_ok=True)
        self.environment._install(extras)


@pytest.fixture
def runner(environment: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Runner:
    made = Runner(environment)
    monkeypatch.setattr(environment, "run_quietly", made)
    return made


def test_second_start_finds_it_ready(environment: ModuleType, runner: Runner) -> None:
    assert not environment.is_ready(["test"])
    runner.install("test")
    assert environment.is_ready(["test"])
    assert environment.is_ready([])
    assert (runner.made, runner.installed) == (1, [".[test]"])


def test_adds_extras_to_what_is_there(environment: ModuleType, runner: Runner) -> None:
    runner.install("test")
    assert not environment.is_ready(["studies"])
    runner.install("studies")
    assert environment.is_ready(["studies", "test"])
    assert (runner.made, runner.installed) == (1, [".[test]", ".[studies,test]"])


def test_installs_again_when_pyproject_changes(environment: ModuleType, runner: Runner) -> None:
    runner.install("studies", "test")
    (environment.ROOT / "pyproject.toml").write_text("[project]\n")
    assert not environment.is_ready(["test"])
    runner.install("test")
    assert environment.is_ready(["studies"])
    assert runner.made == 1


def test_interrupted_install_is_not_ready(environment: ModuleType, runner: Runner) -> None:
    runner.install("test")
    runner.pip_fails = True
    with pytest.raises(KeyboardInterrupt):
        runner.install("studies")
    assert not environment.is_ready(["test"])
    runner.pip_fails = False
    runner.install("test")
    assert environment.is_ready(["studies", "test"])
    assert runner.made == 1


@pytest.mark.parametrize("change", [{"root": "elsewhere"}, {"python": [3, 1]}, None])
def test_makes_anew_what_is_not_of_this_place_and_python(
    environment: ModuleType, runner: Runner, change: dict[str, object] | None
) -> None:
    runner.install("test")
    leftover = environment.VENV / "leftover"
    leftover.touch()
    stamp = {} if change is None else {**environment.read_stamp(), **change}
    environment._write_stamp(stamp)
    assert not environment.is_ready(["test"])
    runner.install("studies")
    assert environment.is_ready(["studies"])
    assert not environment.is_ready(["test"])
    assert runner.made == 2
    assert not leftover.exists()


def test_leaves_an_environment_of_others_alone(environment: ModuleType, runner: Runner) -> None:
    environment.VENV.mkdir()
    (environment.VENV / "pyvenv.cfg").touch()
    with pytest.raises(environment.SetupError, match="did not make it"):
        runner.install("test")
    assert (runner.made, runner.installed) == (0, [])


@pytest.mark.parametrize("text", ["", "{", "[]", "null", json.dumps({"extras": ["test"]})])
def test_torn_stamp_is_not_ready(environment: ModuleType, text: str) -> None:
    environment.VENV.mkdir()
    (environment.VENV / environment._STAMP).write_text(text)
    assert not environment.is_ready([])


def test_installs_into_the_environment_alone(environment: ModuleType) -> None:
    command = environment.pip_command({"test", "plot"})
    assert command[0] == str(environment.python())
    assert command[1:4] == ["-m", "pip", "install"]
    assert command[-2:] == ["--editable", ".[plot,test]"]
    assert environment.pip_command([])[-1] == "."


PYPROJECT = """
[project]
dependencies = ["numpy>=2.0", "scikit-learn>=1.5.1"]
[project.optional-dependencies]
io = ["pyarrow>=19"]
cli = ["dpcore[io]", "tqdm>=4.66"]
test = ["dpcore[cli,io]", "pytest>=8"]
other = ["numpy>=3"]
"""


def test_lowest_versions_are_the_lower_bounds(environment: ModuleType, runner: Runner) -> None:
    (environment.ROOT / "pyproject.toml").write_text(PYPROJECT)
    environment.use("lowest")
    assert environment.VENV == environment.ROOT / ".venv-lowest"
    runner.install("test")
    (file,) = environment.VENV.glob("*.txt")
    assert environment.pip_command({"test"})[-4:-2] == ["--constraint", str(file)]
    expected = "numpy==2.0 pyarrow==19 pytest==8 scikit-learn==1.5.1 tqdm==4.66"
    assert file.read_text().split() == expected.split()
    assert environment.lowest_versions([]) == ["numpy==2.0", "scikit-learn==1.5.1"]


def test_lower_bounds_may_be_for_some_pythons_only(environment: ModuleType) -> None:
    by_python = "\"numpy>=2.0; python_version < '3.13'\", \"numpy>=2.1; python_version >= '3.13'\""
    text = PYPROJECT.replace('"numpy>=2.0"', by_python)
    (environment.ROOT / "pyproject.toml").write_text(text)
    assert environment.lowest_versions([])[:2] == [
        "numpy==2.0; python_version < '3.13'",
        "numpy==2.1; python_version >= '3.13'",
    ]


@pytest.mark.parametrize("bound", ["numpy", "numpy<3", "numpy>=2,<3", "numpy==2.0"])
def test_every_dependency_has_a_lower_bound(environment: ModuleType, bound: str) -> None:
    load("_environment").lowest_versions(["test"])  # of the project
    (environment.ROOT / "pyproject.toml").write_text(PYPROJECT.replace("numpy>=2.0", bound))
    with pytest.raises(environment.SetupError, match=f"no lower bound in '{bound}'"):
        environment.lowest_versions(["test"])


def test_newest_versions_are_looked_for_every_day(
    environment: ModuleType, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.use("newest")
    assert environment.VENV == environment.ROOT / ".venv-newest"
    assert "--upgrade" in environment.pip_command(["test"])
    runner.install("test")
    assert environment.is_ready(["test"])
    monkeypatch.setattr(environment, "_today", lambda: "2100-01-01")
    assert not environment.is_ready(["test"])
    runner.install("test")
    assert environment.is_ready(["test"])
    assert runner.made == 1


def test_what_is_compiled_is_kept_whatever_the_variables_say(
    environment: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    environment.keep_machine_code()
    assert os.environ["NUMBA_CACHE_DIR"] == str(environment.VENV / "numba")
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ


def test_failure_shows_the_end_of_the_output(environment: ModuleType) -> None:
    code = "import sys; print(*range(100), sep='\\n'); sys.exit('no network')"
    with pytest.raises(environment.SetupError, match=r"exit code 1(.|\n)*no network") as raised:
        environment.run_quietly([sys.executable, "-c", code], "pip", "")
    assert "  99\n" in str(raised.value)
    assert "  50\n" not in str(raised.value)


def test_a_closed_output_is_no_error(
    environment: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "execv", lambda _, command: sys.exit(command))
    monkeypatch.setattr(subprocess, "call", sys.exit)  # on Windows
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as ended:
        environment.become(["python"])
    assert ended.value.code == ["python"]


def test_paths_are_printed_in_any_encoding(
    environment: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(environment, "is_ready", lambda _: True)
    monkeypatch.setattr(environment, "inside", lambda: True)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    environment.ensure()
    print("\xfc", "\udcff", flush=True)
    assert written.getvalue().split() == [b"\\xfc", b"\\udcff"]


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_says_what_to_install(
    environment: ModuleType, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(environment.SetupError, match=rf"{module}.*apt install python3\.\d+-venv"):
        environment._create()


def test_one_at_a_time(environment: ModuleType) -> None:
    order = []

    def wait() -> None:
        with environment._lock():
            order.append("second")

    with environment._lock():
        other = threading.Thread(target=wait)
        other.start()
        other.join(0.2)
        order.append("first")
    other.join()
    assert order == ["first", "second"]


def test_old_pythons_can_read_all_scripts() -> None:
    """Or else they would show a syntax error where the message has to be."""
    for path in SCRIPTS.rglob("*.py"):
        if path.parent.name != "site":  # which MkDocs reads
            tree = ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 7))
            imported = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
            assert all(node.module != "__future__" for node in imported), path
