"""The house around the code: one version, a lock, a wheel, light imports, and who may import whom."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import beeline
from tests.shared import ROOT

PACKAGES = ("beeline", "domains", "protocols", "studies", "tracking")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUNTIME = [Requirement(text) for text in PROJECT["dependencies"]]
CLEF = [Requirement(text) for text in PROJECT["optional-dependencies"]["clef"]]
DEVELOPMENT = [Requirement(text) for text in PROJECT["optional-dependencies"]["dev"]]

# Distributions whose package is not called like them.
IMPORTED_AS = {"hydra-core": "hydra", "python-dotenv": "dotenv", "scikit-learn": "sklearn"}
# What a module imports only when it is used, and says how to install when it is absent.
OPTIONAL = {"protocols.smollm2": {"xllamacpp"}}
# Programs that run in environments of their own (tests/world/environments.py).
FOREIGN = ROOT / "tests" / "world"


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> Iterator[str]:
    """Full names of the modules that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: import by full name"
            yield node.module or ""


# --- versions and lock -------------------------------------------------------------------------


def test_one_version_everywhere() -> None:
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert PROJECT["version"] == beeline.__version__ == cited[1]


def locked(name: str) -> dict[str, str]:
    """Version by distribution; fails on a line that is anything but a hashed pin or a comment."""
    text = (ROOT / "requirements" / name).read_text()
    text = re.sub(r"^ *#.*$", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    versions = {}
    for line in filter(str.strip, text.splitlines()):
        pin = re.fullmatch(
            r"(?P<name>[a-z0-9.-]+)==(?P<version>\S+)(?: ; [^\\]+?)?(?:\s+--hash=sha256:[0-9a-f]{64})+\s*",
            line,
        )
        assert pin is not None, f"requirements/{name} has a line that is no hashed pin: {line[:100]}"
        assert pin["name"] not in versions, f"requirements/{name} pins {pin['name']} twice"
        versions[pin["name"]] = pin["version"]
    return versions


@pytest.mark.parametrize("name", ["build.txt", "lock.txt", "dev.txt", "clef.txt"])
def test_locks_pin_with_hashes_and_hold_no_address(name: str) -> None:
    assert locked(name)
    text = (ROOT / "requirements" / name).read_text()
    assert not re.search(r"://|@ |--index|--extra-index|--find-links|--trusted-host|\bfile:", text)


def test_locks_hold_what_is_declared_and_agree() -> None:
    runtime, development, build = locked("lock.txt"), locked("dev.txt"), locked("build.txt")
    for lock, declared in ((runtime, RUNTIME), (development, RUNTIME + DEVELOPMENT)):
        for requirement in declared:
            version = lock[canonicalize_name(requirement.name)]
            assert version in requirement.specifier, f"{requirement} but {version} is locked: make lock"
    assert runtime.items() <= development.items()
    with_clef = locked("clef.txt")
    assert runtime.items() <= with_clef.items()
    for requirement in CLEF:
        assert with_clef[canonicalize_name(requirement.name)] in requirement.specifier
    assert {name: v for name, v in build.items() if name in development}.items() <= development.items()


@pytest.mark.parametrize(
    "path",
    [path for path in sources(*PACKAGES, "tests", "benchmarks") if FOREIGN not in path.parents],
    ids=module_name,
)
def test_imports_are_declared_dependencies(path: Path) -> None:
    product = path.relative_to(ROOT).parts[0] in PACKAGES
    own = {*PACKAGES} if product else {*PACKAGES, "tests", "benchmarks"}
    # packaging comes with pytest, which needs it to run at all.
    declared = RUNTIME if product else [*RUNTIME, *DEVELOPMENT, Requirement("packaging")]
    allowed = own | set(sys.stdlib_module_names)
    allowed |= OPTIONAL.get(module_name(path), set())
    if module_name(path).endswith((".clef", ".clef_release")):
        declared = [*declared, *CLEF]
    allowed |= {IMPORTED_AS.get(r.name, canonicalize_name(r.name).replace("-", "_")) for r in declared}
    undeclared = {name for name in imports(path) if name.split(".")[0] not in allowed}
    assert not undeclared, f"{path.relative_to(ROOT)} imports what pyproject.toml does not declare"


# --- what is installed -------------------------------------------------------------------------


def test_wheel_holds_all_code_and_the_config_tree_and_nothing_else(tmp_path: Path) -> None:
    build = "import sys, hatchling.build; hatchling.build.build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    code = {path.relative_to(ROOT).as_posix() for path in sources(*PACKAGES)}
    conf = {f"beeline/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "conf").rglob("*.yaml")}
    assert len(conf) > 0
    manifests = {path.relative_to(ROOT).as_posix() for path in (ROOT / "domains").rglob("manifest.json")}
    assert len(manifests) > 0
    assert code | conf | manifests <= names
    metadata = f"beeline_bench-{beeline.__version__}.dist-info/"
    assert {metadata + "licenses/LICENSE", metadata + "licenses/NOTICE"} <= names
    strange = {name for name in names if name.split("/")[0] not in PACKAGES and not name.startswith(metadata)}
    assert not strange


def test_contracts_and_domains_import_nothing_heavy() -> None:
    """Each of these costs 0.4 to 1.3 s, which would stand before every first result."""
    light = ("beeline", "domains", "protocols", "studies")
    modules = [module_name(path) for path in sources(*light) if path.name != "__main__.py"]
    heavy = ("ray", "mlflow", "pandas", "matplotlib", "sklearn", "scipy.stats")
    program = (
        "import importlib, sys\n"
        f"for name in {modules!r}:\n"
        "    importlib.import_module(name)\n"
        f"    loaded = [heavy for heavy in {heavy!r} if heavy in sys.modules]\n"
        "    if loaded: sys.exit(f'{name} imports {loaded}: import where it is used')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- architecture ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sources(*PACKAGES), ids=module_name)
def test_packages_import_the_contracts_and_nothing_of_each_other(path: Path) -> None:
    mine = path.relative_to(ROOT).parts[0]
    foreign = {
        name for name in imports(path) if name.split(".")[0] in {*PACKAGES, "tests"} - {mine, "beeline"}
    }
    assert not foreign


@pytest.mark.parametrize("path", sources(*PACKAGES), ids=module_name)
def test_all_names_what_exists(path: Path) -> None:
    """A module with public classes or functions has an ``__all__``, of names that exist, once each."""
    bound: set[str] = set()
    defined: set[str] = set()
    exported: list[str] | None = None
    pending = list(ast.parse(path.read_text(), str(path)).body)
    for node in pending:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                defined.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound |= {(alias.asname or alias.name).split(".")[0] for alias in names}
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                exported = ast.literal_eval(value)
            case ast.Assign() | ast.AnnAssign():
                bound |= {
                    n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                }
            case ast.If() | ast.Try() | ast.With():
                pending += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    public = {name for name in defined if not name.startswith("_")}
    if exported is None:
        assert not public or path.name == "__main__.py", f"give the module an __all__ with {sorted(public)}"
        return
    assert len(exported) == len(set(exported))
    assert set(exported) <= bound | defined


# --- the tree ----------------------------------------------------------------------------------


def tracked() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_tracked_files_name_no_place_on_one_machine() -> None:
    place = re.compile(rb"(?<![\w.~-])/(?:work|root|home/\w+|Users/\w+)/")
    found = {}
    for path in tracked():
        match = place.search(path.read_bytes())
        if match is not None and path != Path(__file__).resolve():
            found[path.relative_to(ROOT).as_posix()] = match[0]
    assert not found


def test_data_of_others_is_not_tracked() -> None:
    names = {path.name for path in tracked()}
    assert not names & {"sgb-words.txt", "links.tsv", "articles.tsv", "categories.tsv", "paths_finished.tsv"}


# --- commands ----------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_shows_all_targets_on_one_screen() -> None:
    shown = subprocess.run(["make"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    lines = shown.splitlines()
    assert len(lines) <= 29  # and the prompt
    assert max(map(len, lines)) <= 79
    targets = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets
    parts_of_lint = {"style", "types"}
    for target in set(" ".join(targets).split()) - parts_of_lint - {"help"}:
        assert f"make {target} " in shown, target


def test_contributing_names_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = set(re.findall(r"`([\w./-]+/[\w./-]*|\w+\.md)`", text))
    named = {path for path in paths if not re.search(r"NAME|X\.Y\.Z|\.\.", path)}
    assert {"beeline/versions.py", "benchmarks/"} <= named
    assert not {path for path in named if not (ROOT / path).exists()}
