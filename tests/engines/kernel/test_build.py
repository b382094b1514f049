"""From sources to a kernel in the cache, with small sources that stand for Linux: what is built, what is an error, what is left behind."""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest
from required import missing
from waiting import wait_until

from dumbbell.engines.kernel import binary, build, headers, requirements, source
from dumbbell.engines.kernel import series as all_series
from dumbbell.engines.kernel.capabilities import capabilities
from dumbbell.engines.kernel.series import series
from dumbbell.engines.linux import programs
from dumbbell.errors import BadInput, EnvironmentFault

from .conftest import processes_in

MAKEFILE = """\
VERSION = {major}
PATCHLEVEL = {minor}
SUBLEVEL = {sublevel}
ifdef O
HERE = $(O)/
endif
allnoconfig:
\tcp $(KCONFIG_ALLCONFIG) $(HERE).config
\techo "CONFIG_ARCH=\\"$(ARCH)\\"" >> $(HERE).config
modules_prepare:
\techo "prepared" > $(HERE)Module.symvers
linux:
\t@echo "  CC      main.o"
\t{before}
\t@printf 'char made[] = "%s"; int main(void) {{ return !*made; }}' "$$KBUILD_BUILD_USER [$$CFLAGS] $(shell cat patched)" >$(HERE)main.c
\t$(CC) -o $(HERE)linux $(HERE)main.c
"""
PATCH = """\
--- a/patched
+++ b/patched
@@ -1 +1 @@
-as it comes
+as it should be
"""


@pytest.fixture
def tarball(tmp_path):
    """A function that packs small sources."""

    def pack(name="linux-6.12.9", sublevel=9, before="", files=(), version=(6, 12)):
        tree = tmp_path / "tree" / name
        tree.mkdir(parents=True, exist_ok=True)
        (tree / "Makefile").write_text(MAKEFILE.format(major=version[0], minor=version[1], sublevel=sublevel, before=before))
        (tree / "patched").write_text("as it comes\n")
        for file in files:
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            (tree / file).write_text("")
        path = tmp_path / f"{name}.tar.gz"
        with tarfile.open(path, "w:gz") as tar:
            tar.add(tree, arcname=name)
        return path

    return pack


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The programs of guests, which are compiled once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        try:
            return [programs.agent().path, programs.launcher().path]
        except EnvironmentFault as fault:
            missing("kernel", fault)


@pytest.fixture
def machine(tmp_path, own_cache, compiled, monkeypatch):
    """A machine that has all it needs, compiled programs, and small patches and a small configuration; the cache's folder."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("bc", "bison", "flex", "ip", "tc"):
        (tools / tool).write_text("#!/bin/sh\necho 1.0\n")
        (tools / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=os.pathsep)
    small = tmp_path / "series"
    for version in ("6.12", "7.3"):
        (small / version / "patch").mkdir(parents=True)
        shutil.copy(all_series.PLACE / version / "series.toml", small / version)
        (small / version / "patch" / "01-small.patch").write_text(PATCH)
        (small / version / "fragment").write_text("CONFIG_NET=y\n# CONFIG_USB is not set\n")
    monkeypatch.setattr(all_series, "PLACE", small)
    own_cache.mkdir(parents=True)
    for program in compiled:
        os.link(program, own_cache / program.name)
    try:
        requirements.check(own_cache, series())
    except EnvironmentFault as fault:
        missing("kernel", fault)
    return own_cache


def make(path=None, tell=lambda _: None, progress=lambda _done, _total: None, **more):
    return build.build(build.Request(tarball=path, **more), 2, tell, progress)


def kernels(cache):
    """Everything that could be taken for a kernel."""
    return [path.parent for path in cache.rglob("linux") if path.is_file()]


# --- a build ---------------------------------------------------------------------------------------------------------


def test_a_kernel_is_built_once(machine, tarball, monkeypatch):
    told, counted, path = [], [], tarball()
    monkeypatch.setenv("MAKEFLAGS", "--dry-run")
    monkeypatch.setenv("CFLAGS", "-O0")
    assert make(path, told.append, lambda done, total: counted.append((done, total)))
    found = binary.find()
    assert found.version == "6.12.9"
    assert found.linux.parent.name == found.key
    assert b"dumbbell [] as it should be" in found.linux.read_bytes()
    assert counted == [(1, series().objects)]
    assert any("6.12.9" in line for line in told)
    assert os.access(found.linux, os.X_OK)
    assert os.access(found.agent, os.X_OK)
    described = json.loads((found.linux.parent / "build.json").read_text())
    assert described["config_hash"] == found.config_hash
    assert described["source"]["name"] == "linux-6.12.9.tar.gz"
    assert set(described["tools"]) == {"ld", "make", "bison", "flex"}
    assert [path for path in machine.iterdir() if path.name.startswith(".building")] == []

    def unexpected(*_):
        raise AssertionError("nothing is to be done")

    monkeypatch.setattr(source, "unpack", unexpected)
    assert not make(path)
    assert not make()


@pytest.mark.usefixtures("machine")
def test_the_key_follows_from_all_that_goes_in_and_nothing_else(tarball, tmp_path, monkeypatch):
    path = tarball()
    make(path)
    first = binary.find()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    make(path)
    assert binary.find().key == first.key
    assert binary.find().config_hash == first.config_hash
    assert binary.find().linux.read_bytes() == first.linux.read_bytes()
    keys = {first.key}
    for change in (
        lambda: (series().folder / "patch" / "01-small.patch").write_text(PATCH.replace("should", "might")),
        lambda: series().fragment.write_text("CONFIG_NET=y\n"),
        lambda: tarball(sublevel=10),
    ):
        change()
        all_series._read.cache_clear()
        make(path)
        keys.add(binary.find().key)
    assert len(keys) == 4


@pytest.mark.usefixtures("machine")
def test_a_kernel_of_other_patches_is_not_found(tarball):
    make(tarball())
    (series().folder / "patch" / "01-small.patch").write_text(PATCH.replace("should", "might"))
    all_series._read.cache_clear()
    with pytest.raises(EnvironmentFault, match=r"dumbbell kernel build.*make kernel"):
        binary.find()


@pytest.mark.usefixtures("machine")
def test_the_newest_version_is_found(tarball):
    for sublevel in (9, 10, 2):
        make(tarball(f"linux-6.12.{sublevel}", sublevel))
    assert binary.find().version == "6.12.10"


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("missing", ["linux", "build.json"])
def test_half_a_kernel_is_none(tarball, missing):
    path = tarball()
    make(path)
    (binary.find().linux.parent / missing).unlink()
    with pytest.raises(EnvironmentFault):
        binary.find()
    assert make(path)
    assert binary.find().version == "6.12.9"


def test_a_build_that_fails_shows_the_end_of_its_log(machine, tarball):
    with pytest.raises(EnvironmentFault) as error:
        make(tarball(before="@echo 'main.c: error: no such thing'; false"))
    log = machine / build.LOG
    assert str(log) in str(error.value)
    assert "main.c: error: no such thing" in str(error.value)
    assert "main.c: error: no such thing" in log.read_text()
    assert kernels(machine) == []
    assert make(tarball())
    assert not log.exists()


@pytest.mark.usefixtures("machine")
def test_a_symbol_that_does_not_take_effect_is_named(tarball):
    series().fragment.write_text("CONFIG_NET=y\n# CONFIG_ARCH is not set\n")
    with pytest.raises(EnvironmentFault, match=r"^Linux 6\.12\.9 cannot be configured as expected: CONFIG_ARCH off did not take effect$"):
        make(tarball())
    with pytest.raises(EnvironmentFault, match="CONFIG_B=m, CONFIG_C=y did not take effect"):
        build.check_configuration("CONFIG_A=y\nCONFIG_B=y\n", "CONFIG_A=y\nCONFIG_B=m\nCONFIG_C=y\n# CONFIG_D is not set\n", "6.12.9")


def test_a_patch_that_does_not_apply_is_named(machine, tarball):
    (series().folder / "patch" / "02-other.patch").write_text(PATCH)
    with pytest.raises(EnvironmentFault, match=r"^02-other\.patch does not apply to Linux 6\.12\.9: patched: has the change already$"):
        make(tarball())
    assert kernels(machine) == []


BUILD = """
import sys
from pathlib import Path
from dumbbell import cli
from dumbbell.engines.kernel import series
series.PLACE = Path(sys.argv[1])
sys.argv = ["dumbbell", "kernel", "build", "--source", sys.argv[2]]
cli.main()
"""


def building(path):
    return subprocess.Popen([sys.executable, "-c", BUILD, all_series.PLACE, path])


def test_a_killed_build_leaves_nothing_that_looks_like_a_kernel(machine, tarball):
    # A compiler prints as it goes, and has what looks like a kernel before it is done.
    process = building(tarball(before="@cp /bin/true linux; while echo '  CC more.o'; do sleep 0.05; done"))
    wait_until(lambda: kernels(machine))
    (tree,) = kernels(machine)
    process.kill()
    process.wait()
    wait_until(lambda: processes_in(tree) == [])
    assert binary.built() == []
    assert make(tarball())
    assert kernels(machine) == [binary.find().linux.parent]


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_ends_and_removes_what_it_started(machine, tarball, how):
    process = building(tarball(before="@cp /bin/true linux; sleep 100"))
    wait_until(lambda: kernels(machine))
    (tree,) = kernels(machine)
    process.send_signal(how)
    assert process.wait() == 130
    assert list(machine.glob(".building*")) == []
    wait_until(lambda: processes_in(tree) == [])
    assert kernels(machine) == []


@pytest.mark.usefixtures("machine")
def test_two_builds_at_once_are_one(tarball, tmp_path):
    told, made, go = [], [], tmp_path / "go"
    path = tarball(before=f"@while [ ! -e {go} ]; do sleep 0.01; done")
    threads = [threading.Thread(target=lambda: made.append(make(path, told.append))) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: any("another build is under way" in line for line in told))
    go.touch()
    for thread in threads:
        thread.join()
    assert sorted(made) == [False, True]
    assert sum("another build is under way" in line for line in told) == 1


# --- series, trees, names --------------------------------------------------------------------------------------------


def test_series_are_data_and_stand_beside_each_other(machine, tarball):
    assert all_series.versions() == ["6.12", "7.3"]
    assert make(tarball())
    with pytest.raises(EnvironmentFault, match=r"has no kernel of the series 7\.3 in .*`dumbbell kernel build --series 7\.3` builds it$"):
        binary.find("7.3")
    newer = tarball("linux-7.3.4", 4, version=(7, 3))
    with pytest.raises(BadInput, match=r"holds Linux 7\.3\.4; expected 6\.12\.x, or --series 7\.3$"):
        make(newer)
    assert make(newer, series="7.3")
    assert (binary.find().version, binary.find("6.12").version, binary.find("7.3").version) == ("6.12.9", "6.12.9", "7.3.4")
    newest = binary.named("7.3")
    assert newest is not None
    assert newest.series == "7.3"
    assert not make(series="7.3")
    assert len(kernels(machine)) == 2
    with pytest.raises(BadInput, match=r"^--series 7\.4: unknown; expected one of 6\.12, 7\.3$"):
        make(series="7.4")


@pytest.mark.parametrize(("version", "nearest"), [("6.6.1", "6.12"), ("6.14.0", "6.12"), ("6.18.3", "7.3"), ("7.9.0-rc1", "7.3")])
def test_the_nearest_series(version, nearest):
    assert all_series.nearest(version).version == nearest


def test_a_tree_of_ones_own(machine, tarball, tmp_path):
    tarball("mine", 5, version=(7, 2), files=["kernel/left.c", "drivers/gpu/out.c"])
    tree = tmp_path / "tree" / "mine"
    (tree / "left.o").write_text("made by a build")
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    with pytest.raises(BadInput, match=r"make a kernel of your own; expected --name NAME for it$"):
        make(tree=tree)
    assert make(tree=tree, name="mine")
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before
    found, described = binary.find("mine"), binary.named("mine")
    assert described is not None
    assert (found.version, described.series) == ("7.2.5", "7.3")
    assert b"as it should be" in found.linux.read_bytes()
    kept = machine / binary.KEPT / "7.3" / "linux"
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()) == ["Makefile", "kernel/left.c", "patched"]
    # An unchanged tree is not built again; a changed one is another kernel of the same name.
    assert not make(tree=tree, name="mine")
    (tree / "kernel" / "left.c").unlink()
    (tree / "kernel" / "more.c").write_text("int more;")
    old = (kept / "Makefile").stat().st_mtime_ns
    assert make(tree=tree, name="mine")
    assert binary.find("mine").key != found.key
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()) == ["Makefile", "kernel/more.c", "patched"]
    assert (kept / "Makefile").stat().st_mtime_ns == old
    with pytest.raises(EnvironmentFault, match="has no kernel of the series 7"):
        binary.find("7.3")


def test_a_checkout_is_what_git_knows_of_it(tarball, tmp_path):
    tarball("mine", 5)
    tree = tmp_path / "tree" / "mine"
    (tree / ".gitignore").write_text("ignored\n")
    (tree / "ignored").write_text("")
    subprocess.run(["git", "init", "-q", tree], check=True)
    assert [str(path) for path in source.files_of_tree(tree, series())] == [".gitignore", "Makefile", "patched"]
    (tree / "new.c").write_text("")
    assert [str(path) for path in source.files_of_tree(tree, series())] == [".gitignore", "Makefile", "new.c", "patched"]


@pytest.mark.usefixtures("machine")
def test_own_patches_and_lines_of_the_configuration(tarball, tmp_path):
    path, patch = tarball(), tmp_path / "own.patch"
    patch.write_text(PATCH.replace("as it should be", "as I like it").replace("as it comes", "as it should be"))
    assert make(path)
    plain = binary.find()
    assert make(path, patches=(patch,), config=("NET=n", "TCP_CONG_BBR=y"), name="own")
    own = binary.find("own")
    assert b"as I like it" in own.linux.read_bytes()
    described = json.loads((own.linux.parent / "build.json").read_text())
    assert described["own"] == {"patches": ["own.patch"], "config": ["# CONFIG_NET is not set", "CONFIG_TCP_CONG_BBR=y"]}
    assert binary.find() == plain
    with pytest.raises(EnvironmentFault, match=r"^own\.patch does not apply to Linux 6\.12\.9: patched: has the change already$"):
        make(path, patches=(patch, patch), name="twice")
    patch.write_text(PATCH.replace("as it comes", "as nobody has it").replace("as it should be", "as nobody wants it"))
    with pytest.raises(EnvironmentFault, match=r"^own\.patch does not apply to Linux 6\.12\.9: patched:1: hunk 1 does not fit$"):
        make(path, patches=(patch,), name="another")
    for wrong in ({"config": ("NET",)}, {"patches": (tmp_path / "none",)}, {"tree": tmp_path}):
        with pytest.raises(BadInput):
            make(path, name="wrong", **wrong)
    for name in ("6.99", "a b", "-a"):
        with pytest.raises(BadInput, match="--name"):
            make(path, name=name)


@pytest.mark.usefixtures("machine")
def test_a_set_of_changes_may_be_a_configuration_alone(tarball):
    path = tarball()
    (all_series.PLACE / "6.12" / "fragment-spare").write_text("# What it is for.\nCONFIG_SPARE=y\n")
    assert series("6.12").sets == ("spare",)
    make(path)
    plain = binary.find().key
    assert make(path, sets=("spare",), name="spared")
    built = binary.named("spared")
    assert built is not None
    assert built.key != plain
    assert built.description["own"]["config"] == ["CONFIG_SPARE=y"]
    assert binary.find().key == plain, "a set leaves the recipe of the series as it is"
    with pytest.raises(BadInput, match=r"--with none: the series 6\.12 has no such changes; expected one of spare, headers"):
        make(path, sets=("none",), name="other")


@pytest.mark.usefixtures("machine")
def test_headers_are_kept_beside_the_same_kernel(tarball):
    path = tarball(files=["include/linux/tcp.h", "scripts/mod/modpost", "arch/um/um.h", "arch/um/um.c", "drivers/Makefile", "net/tcp.c"])
    assert make(path)
    plain = binary.find().key
    assert not make(path)
    assert make(path, sets=("headers",)), "the kernel has no headers yet"
    assert binary.find().key == plain
    kept = binary.find().linux.parent / headers.NAME
    files = {str(file.relative_to(kept)) for file in kept.rglob("*") if file.is_file()}
    assert files == {"Makefile", "Module.symvers", ".config", "include/linux/tcp.h", "scripts/mod/modpost", "arch/um/um.h"}
    assert not make(path, sets=("headers",))
    assert not make(None, sets=("headers",))


@pytest.mark.usefixtures("machine")
def test_a_set_names_what_only_it_needs(tarball, monkeypatch):
    path = tarball()
    (all_series.PLACE / "6.12" / "fragment-bpf").write_text("CONFIG_SPARE=y\n")
    asked = requirements.shutil.which
    monkeypatch.setattr(requirements.shutil, "which", lambda tool, path=None: None if tool == "pahole" else asked(tool, path=path))
    monkeypatch.setattr(requirements, "_compiles", lambda program, *_: "libelf" not in program)
    expected = r"not found: pahole, libelf\.h \(on Debian or Ubuntu: apt-get install pahole libelf-dev\)$"
    with pytest.raises(EnvironmentFault, match=expected):
        make(path, sets=("bpf",))
    assert make(path), "a plain kernel needs neither"


def test_kernels_are_listed_and_removed(machine, tarball, tmp_path, dumbbell):
    path, patch = tarball(), tmp_path / "own.patch"
    patch.write_text(PATCH.replace("as it should be", "as I like it").replace("as it comes", "as it should be"))
    make(path)
    make(path, patches=(patch,), name="own")
    make(path, patches=(patch,), name="same")
    make(name="base")
    listed = json.loads(dumbbell("kernel", "list", "--json").out)
    assert [each["engines"] for each in sorted(listed["kernels"], key=lambda each: each["made_of"])] == [
        ["kernel", "kernel:base"],
        ["kernel:own", "kernel:same"],
    ]
    assert listed["objects_bytes"] > 0
    assert "kernel:own, kernel:same" in dumbbell("kernel", "list").out
    assert re.search(r"^ok +kernel:own +Linux 6\.12\.9", dumbbell("doctor").out, re.MULTILINE)
    answer = dumbbell("kernel", "remove", "owm")
    assert (answer.status, len(answer.err.splitlines())) == (2, 1)
    assert dumbbell("kernel", "remove", "own", "--objects").status == 0
    assert binary.names() == {"base": binary.find().key}
    assert kernels(machine) == [binary.find().linux.parent]
    assert binary.kept_bytes() == 0
    assert dumbbell("kernel", "remove", "6.12").status == 0
    assert (kernels(machine), binary.names()) == ([], {})
    assert dumbbell("kernel", "remove").status == 2


def test_a_tree_may_lack_disciplines_and_controls_and_nothing_else():
    fragment = "CONFIG_NET=y\nCONFIG_NET_SCH_PIE=y\nCONFIG_TCP_CONG_BBR=y\n"
    may_lack = ("CONFIG_NET_SCH_", "CONFIG_TCP_CONG_")
    assert build.check_configuration("CONFIG_NET=y\nCONFIG_NET_SCH_PIE=y\n", fragment, "7.2.5", may_lack) == ["CONFIG_TCP_CONG_BBR=y"]
    with pytest.raises(EnvironmentFault, match=r"CONFIG_NET=y did not take effect$"):
        build.check_configuration("CONFIG_NET_SCH_PIE=y\n", fragment, "7.2.5", may_lack)


def test_what_a_kernel_lacks_is_refused_by_name():
    table = capabilities("kernel:mine", "7.3", ("CONFIG_TCP_CONG_BBR=y", "CONFIG_NET_SCH_PIE=y"))
    assert {"bbr", "cubic"} & set(table.cc) == {"cubic"}
    assert {"pie", "codel"} & set(table.qdisc) == {"codel"}
    assert set(table.stack) == {"linux-7.3"}
    assert table.stack["linux-7.3"].options["output_limit_bytes"] == 4 << 20
    assert capabilities().stack["linux-6.12"].options["output_limit_bytes"] == 1 << 20


# --- what a build needs ----------------------------------------------------------------------------------------------


def test_all_that_is_missing_is_said_at_once(own_cache, tmp_path, monkeypatch):
    own_cache.mkdir(parents=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(requirements, "_SYSTEM_FOLDERS", ())
    monkeypatch.setattr(requirements, "LEAST_DISK", 10**18)
    with pytest.raises(EnvironmentFault) as error:
        requirements.check(own_cache, series(), has_sources=False)
    text = str(error.value)
    assert "\n" not in text
    for expected in ("bison, flex, gcc, ip, make", "linux-source-6.12.tar.xz", "iproute2", "xz-utils", "GB free, expected 1000000000.0 GB"):
        assert expected in text
    assert text.count("iproute2") == 1


def test_a_c_library_that_cannot_be_linked_statically(own_cache, monkeypatch):
    own_cache.mkdir(parents=True)
    monkeypatch.setattr(requirements, "_links_statically", lambda: False)
    with pytest.raises(EnvironmentFault, match=r"not found: a static C library \(on Debian or Ubuntu: apt-get install libc6-dev\)$"):
        requirements.check(own_cache, dataclasses.replace(series(), tools={}))


def test_another_machine(own_cache, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(EnvironmentFault, match="x86-64 machine; this is aarch64"):
        requirements.check(own_cache, series(), has_sources=False)


def test_a_folder_that_make_cannot_work_in(tmp_path):
    folder = tmp_path / "my kernels"
    folder.mkdir()
    with pytest.raises(EnvironmentFault, match="below a path with a blank or colon"):
        requirements.check(folder, dataclasses.replace(series(), tools={}))


def test_a_folder_that_programs_cannot_be_run_in(small_disk, monkeypatch):
    monkeypatch.setattr(requirements, "LEAST_DISK", 0)
    subprocess.run(["mount", "-o", "remount,noexec", small_disk], check=True)
    with pytest.raises(EnvironmentFault, match="mounted noexec; XDG_CACHE_HOME chooses another folder"):
        requirements.check(small_disk, dataclasses.replace(series(), tools={}))


@pytest.mark.parametrize("home", ["", "relative"])
def test_no_home(monkeypatch, home):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    with pytest.raises(EnvironmentFault, match="HOME or XDG_CACHE_HOME"):
        binary.find()


def test_a_cache_that_cannot_be_made(tmp_path, monkeypatch, tarball):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(EnvironmentFault, match=r"/file/dumbbell/kernel: cannot be made: Not a directory"):
        make(tarball())


# --- sources ---------------------------------------------------------------------------------------------------------


def test_sources_that_are_not_there(tmp_path):
    for path, what in ((tmp_path / "none.tar.xz", "is not there"), (tmp_path, "is a folder")):
        with pytest.raises(BadInput, match=re.escape(f"{path}: {what}; expected the sources of Linux 6.12 as a tarball")):
            source.named(path, series())


def test_sources_that_are_damaged_or_others(tarball, tmp_path):
    whole = tarball("linux-6.12.7", files=[f"kernel/{i}.c" for i in range(300)])
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(whole.read_bytes()[:-400])
    text = tmp_path / "text.tar.xz"
    text.write_text("no tarball")
    empty = tmp_path / "empty.tar"
    with tarfile.open(empty, "w") as tar:
        tar.add(text, arcname="linux/readme")
    other = tmp_path / "other.tar.gz"
    with tarfile.open(other, "w:gz") as tar:
        makefile = tmp_path / "Makefile"
        makefile.write_text("VERSION = 6\nPATCHLEVEL = 13\nSUBLEVEL = 1\n")
        tar.add(makefile, arcname="linux-6.13.1/Makefile")
    for path, what in (
        (cut, "cannot be unpacked"),
        (text, "cannot be unpacked"),
        (empty, "holds no kernel"),
        (other, "holds Linux 6.13.1; expected 6.12.x"),
    ):
        folder = tmp_path / f"from-{path.name}"
        folder.mkdir()
        with pytest.raises(BadInput, match=rf"{path.name}: {what}"):
            source.unpack(path, folder, series())


def test_what_the_build_reads_is_unpacked(tarball, tmp_path):
    read = [
        "arch/um/a.c",
        "arch/x86/um/a.S",
        "arch/arm/crypto/Kconfig",
        "drivers/net/veth.c",
        "drivers/gpu/Kconfig",
        "Documentation/Kconfig",
    ]
    others = ["arch/arm/a.c", "arch/xtensa/a.S", "drivers/gpu/drm/a.c", "Documentation/networking/a.rst", "tools/testing/a.sh"]
    folder = tmp_path / "unpacked"
    folder.mkdir()
    assert source.unpack(tarball(files=[*read, *others]), folder, series()) == "6.12.9"
    assert [name for name in (*read, *others) if (folder / name).is_file()] == read


@pytest.mark.usefixtures("own_cache")
def test_the_newest_package_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "PLACE", tmp_path)
    assert source.installed(series()) is None
    (tmp_path / "linux-source-6.12.9").mkdir()
    for name in ("linux-source-6.8.tar.xz", "linux-source-6.12.7.tar.xz", "linux-source-6.12.9/linux-source-6.12.10.tar.bz2"):
        (tmp_path / name).write_text("")
    assert source.installed(series()) == tmp_path / "linux-source-6.12.9/linux-source-6.12.10.tar.bz2"


# --- programs --------------------------------------------------------------------------------------------------------


def test_a_changed_agent_is_compiled_anew(own_cache, tmp_path, monkeypatch):
    (tmp_path / "agent").mkdir()
    main = tmp_path / "agent" / "main.c"
    monkeypatch.setattr(programs, "_HERE", tmp_path)
    answers = []
    for answer in (3, 4, 3):
        main.write_text(f"int main(void) {{ return {answer}; }}")
        agent = programs.agent()
        answers.append((agent.key, subprocess.run([agent.path], check=False).returncode))
    assert [status for _, status in answers] == [3, 4, 3]
    assert answers[0] == answers[2] != answers[1]
    assert sorted(path.name for path in own_cache.iterdir()) == sorted({f"agent-{key}" for key, _ in answers})


def test_an_agent_that_cannot_be_compiled(own_cache, tmp_path, monkeypatch):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "main.c").write_text("int main(void) { return nothing; }")
    monkeypatch.setattr(programs, "_HERE", tmp_path)
    with pytest.raises(EnvironmentFault, match=r"gcc cannot compile agent-\w+: .*main\.c:1.*nothing"):
        programs.agent()
    assert list(own_cache.iterdir()) == []


# --- the command -----------------------------------------------------------------------------------------------------


def test_status_without_a_kernel(own_cache, dumbbell):
    answer = dumbbell("kernel", "status", "--json")
    assert (answer.status, answer.out) == (3, "")
    assert answer.err == f"the engine kernel has no kernel in {own_cache}; `dumbbell kernel build` (or `make kernel`) builds it\n"


def test_doctor_without_a_kernel(own_cache, dumbbell):
    answer = dumbbell("doctor")
    assert answer.status == 0
    assert re.search(rf"^no +kernel +the engine kernel has no kernel in {own_cache}; `dumbbell kernel build`", answer.out, re.MULTILINE)


@pytest.mark.usefixtures("machine")
def test_a_built_kernel_is_booted_and_shown(tarball, dumbbell):
    answer = dumbbell("kernel", "build", "--source", tarball(), "--json")
    assert answer.status == 0
    shown = json.loads(answer.out)
    assert shown["built"] is True
    assert shown["version"] == "6.12.9"
    assert Path(shown["path"]).is_file()
    assert dumbbell("kernel", "build", "--json").status == 0
    status = json.loads(dumbbell("kernel", "status", "--json").out)
    assert status["key"] == shown["key"]
    assert re.search(r"^ok +kernel +Linux 6\.12\.9, boots in \d\.\d\d s$", dumbbell("doctor").out, re.MULTILINE)


@pytest.mark.usefixtures("own_cache")
def test_a_wrong_source(dumbbell, tmp_path):
    answer = dumbbell("kernel", "build", "--source", tmp_path / "none.tar.xz")
    assert (answer.status, answer.out) == (2, "")
    assert len(answer.err.splitlines()) == 1


def test_the_real_kernel_is_found(real):
    assert re.fullmatch(r"6\.12\.\d+", real.version)
    assert subprocess.run([real.linux, "--version"], capture_output=True, text=True, check=True).stdout.strip() == real.version
