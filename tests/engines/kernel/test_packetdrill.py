"""Scripts of packetdrill in guests: what a script finds there, how it ends, what is printed, which sources are taken.

Most of it is tested with a small program in place of packetdrill, because packetdrill has no package.
"""

import io
import json
import tarfile
from pathlib import Path

import pytest
from required import missing

from dumbbell.engines.kernel import packetdrill
from dumbbell.errors import BadInput, EnvironmentFault

from .conftest import compile_agent

STAND_IN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char word[64] = "";
	FILE *file = fopen(argv[argc - 1], "r");
	int i;

	if (!file || fscanf(file, "%63s", word) != 1)
		return 9;
	if (!strcmp(word, "hang"))
		for (;;)
			pause();
	if (!strcmp(word, "fail")) {
		printf("what was said before\nscript.pkt:3: error handling packet: timing error\n");
		return 1;
	}
	if (!strcmp(word, "look")) {
		for (i = 1; i < argc; i++)
			printf("%s\n", argv[i]);
		fflush(stdout);
		system("cat beside ../above; sysctl -q net.ipv4.tcp_rmem=\"4096 50000 60000\" net/ipv4/tcp_frto=2; cat /proc/sys/net/ipv4/tcp_rmem;"
			"sysctl -q net.ipv4.no_such=1; echo $?; sysctl -e -q net.ipv4.no_such=1; echo $?; python3 -c 'print(6 * 7)'; ls /dev/net");
	}
	return 0;
}
"""
GOOD = """
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S. 0:0(0) ack 1 <...>
 +.05 < . 1:1(0) ack 1 win 257
   +0 accept(3, ..., ...) = 4
   +0 write(4, ..., 1000) = 1000
   +0 > P. 1:1001(1000) ack 1
   +0 %{ assert tcpi_rtt == 50000 or abs(tcpi_rtt - 50000) < 100, tcpi_rtt }%
"""
KERNEL_FOLDER = Path("tools/testing/selftests/net/packetdrill")


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A program in place of packetdrill."""
    program = compile_agent(tmp_path / "stand-in", STAND_IN)
    monkeypatch.setattr(packetdrill, "program", lambda: program)


@pytest.fixture
def scripts(tmp_path):
    """Scripts of the stand-in, in a folder whose name has a blank."""
    folder = tmp_path / "scripts of mine" / "inner"
    folder.mkdir(parents=True)
    for name in ("pass", "fail", "look", "hang"):
        (folder / f"{name}.pkt").write_text(f"{name}\n")
    (folder / "beside").write_text("from beside\n")
    (folder.parent / "above").write_text("from above\n")
    return folder


@pytest.fixture
def real_packetdrill():
    """The compiled packetdrill."""
    try:
        return packetdrill.program()
    except EnvironmentFault as fault:
        pytest.skip(str(fault))


@pytest.mark.usefixtures("stand_in")
def test_how_scripts_end(real, scripts, monkeypatch):
    monkeypatch.setattr(packetdrill, "LIMIT_S", 7)
    found = list(packetdrill.run([scripts / f"{name}.pkt" for name in ("pass", "fail", "hang")], real, workers=2))
    assert [each.passed for each in found] == [True, False, False]
    assert found[1].reason == "script.pkt:3: error handling packet: timing error"
    assert found[2].is_late
    assert found[2].virtual_s == pytest.approx(7, abs=0.01)
    assert found[2].reason == "did not end within 7 s of virtual time"


@pytest.mark.usefixtures("stand_in")
def test_what_a_script_finds(real, scripts):
    (found,) = packetdrill.run([scripts / "look.pkt"], real, tolerance_us=200, ip_version="ipv6", defines=["A=B"])
    lines = found.output.splitlines()
    assert lines[:2] == ["--ip_version=ipv6", "--mtu=1520"]
    assert lines[lines.index("--tolerance_usecs=200") :][:4] == ["--tolerance_usecs=200", "-D", "A=B", "look.pkt"]
    assert lines[lines.index("look.pkt") + 1 :] == [
        "from beside",
        "from above",
        "4096\t50000\t60000",
        "sysctl: net.ipv4.no_such: No such file or directory",
        "1",
        "0",
        "42",
        "tun",
    ]


@pytest.mark.usefixtures("stand_in", "real")
def test_the_command(scripts, dumbbell):
    one = dumbbell("packetdrill", scripts / "pass.pkt", scripts / "fail.pkt")
    assert one.status == 1
    assert "pass.pkt  passes" in one.out
    assert "error handling packet" in one.out
    assert "1 of 2 scripts pass" in one.err
    assert dumbbell("packetdrill", scripts / "pass.pkt").status == 0
    said = json.loads(dumbbell("packetdrill", scripts / "fail.pkt", "--tolerance", "1ms", "--json").out)
    assert said["tolerance_us"] == 1000
    assert [each["passed"] for each in said["engines"]["kernel"]] == [False]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["none.pkt"], "none.pkt: is no file"),
        (["empty"], "has no scripts"),
        (["x.pkt", "--tolerance", "3"], "--tolerance"),
        (["x.pkt", "--tolerance", "1ns"], "expected at least 1us"),
        (["x.pkt", "--ip-version", "5"], "expected one of ipv4, ipv6"),
        (["x.pkt", "--engine", "sim"], "expected kernel or kernel:NAME"),
        (["x.pkt", "--engines", "kernel"], "expected two kernels"),
        (["x.pkt", "--define", "A"], "expected SYMBOL=VALUE"),
    ],
)
@pytest.mark.usefixtures("real")
def test_what_is_refused(arguments, expected, tmp_path, monkeypatch, dumbbell):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.pkt").write_text("pass\n")
    (tmp_path / "empty").mkdir()
    done = dumbbell("packetdrill", *arguments)
    assert done.status == 2
    assert expected in done.err
    assert len(done.err.splitlines()) == 1


def test_other_sources_are_not_compiled(tmp_path, own_cache):
    def packed(name, files):
        with tarfile.open(tmp_path / name, "w:gz") as tar:
            for path, content in files.items():
                member = tarfile.TarInfo(path)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        return tmp_path / name

    other = packed("other.tar.gz", {"packetdrill-main/gtests/net/packetdrill/packetdrill.c": b"int main(void) { return 0; }"})
    with pytest.raises(BadInput, match=f"holds other sources of packetdrill.*{packetdrill.COMMIT}"):
        packetdrill.build(other, print)
    with pytest.raises(BadInput, match="has no gtests/net/packetdrill"):
        packetdrill.build(packed("else.tar.gz", {"README.md": b""}), print)
    (tmp_path / "damaged.tar.gz").write_bytes(other.read_bytes()[:60])
    with pytest.raises(BadInput, match="cannot be unpacked"):
        packetdrill.build(tmp_path / "damaged.tar.gz", print)
    with pytest.raises(BadInput, match="is no file"):
        packetdrill.build(tmp_path, print)
    with pytest.raises(EnvironmentFault, match="packetdrill is not built"):
        packetdrill.program()
    assert not own_cache.exists() or not list(own_cache.glob("packetdrill*"))


@pytest.mark.usefixtures("real_packetdrill")
def test_a_script_passes_and_a_wrong_one_names_its_line(real, tmp_path):
    wrong = GOOD.replace("1:1001(1000) ack 1", "1:1002(1001) ack 1")
    early = GOOD.replace("   +0 > P.", "+.001 > P.")
    for name, text in {"good": GOOD, "wrong": wrong, "early": early}.items():
        (tmp_path / f"{name}.pkt").write_text(text)
    found = list(packetdrill.run([tmp_path / f"{name}.pkt" for name in ("good", "wrong", "early")], real, tolerance_us=200))
    assert found[0].passed, found[0].output
    assert "wrong.pkt:10" in found[1].reason
    assert "timing error" in found[2].reason
    again = list(packetdrill.run([tmp_path / "wrong.pkt"], real, tolerance_us=200))
    assert again[0].output == found[1].output
    assert again[0].virtual_s == found[1].virtual_s


@pytest.mark.usefixtures("real_packetdrill")
def test_the_tests_of_the_kernel_pass(real, tmp_path):
    source = next(iter(sorted(Path("/usr/src").glob("linux-source-6.12.tar.*"))), None)
    if source is None:
        missing("kernel", "the sources of Linux 6.12 are not installed")
    with tarfile.open(source) as tar:
        for member in tar:
            if member.isfile() and KERNEL_FOLDER.as_posix() in member.name:
                member.name = Path(member.name).name
                tar.extract(member, tmp_path, filter="data")
            elif list(tmp_path.iterdir()):
                break
    scripts = sorted(tmp_path.glob("*.pkt"))
    assert len(scripts) >= 24
    failing = [each for each in packetdrill.run(scripts, real, workers=2) if not each.passed]
    assert not failing, [(each.script.name, each.reason) for each in failing]
