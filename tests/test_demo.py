"""`make demo` as a person runs it, and what it is made of: programs that start, talk and end."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import orjson
import pytest

from demo import chat
from demo.child import ChildError, child, first_line, leashed
from demo.models import smollm2
from demo.proxied import free_port, recording
from demo.server import Setup, serving
from demo.tiny import tiny_model
from proxy import ranks
from tests.support.source import ROOT

pytest_plugins = ("tests.support.real_server",)

RUN = [sys.executable, "-m", "demo", "--folder"]
GONE_S = 15.0
ADDRESS = re.compile(r"127\.0\.0\.1:(\d+)")


def started(folder):
    """A demo in the middle of its chat, waiting for a long prefill, and its two ports."""
    demo = subprocess.Popen(
        [*RUN, folder], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    for line in demo.stderr:
        if line.startswith("  turnscope-proxy "):
            ports = [int(port) for port in ADDRESS.findall(line)]
        if line.startswith("  a question"):
            break
    assert len(ports) == 2
    assert all(listening(port) for port in ports)
    return demo, ports


def listening(port):
    """Whether somebody accepts on this port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def all_gone(ports):
    """Whether nobody listens any more, after a while at the most."""
    deadline = time.monotonic() + GONE_S
    while any(listening(port) for port in ports):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.real
@pytest.mark.timeout(400)
def test_the_demo_shows_what_a_tool_list_costs(tmp_path):
    """From start to report: three answers, the tools at the top of the bill, and no process left."""
    run = [*RUN, tmp_path / "demo"]
    demo = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=390, check=False)
    assert demo.returncode == 0, demo.stderr
    first_token_s = [float(s) for s in re.findall(r"first token +([\d.]+) s", demo.stderr)]
    ports = {int(port) for port in ADDRESS.findall(demo.stderr)} - {8484}

    bare, cold, cached = first_token_s
    assert cold > 5 * max(bare, cached)
    assert re.search(r"^tools \(9\)  .* 98 %", demo.stdout, re.MULTILINE)
    assert "9 never called" in demo.stdout
    assert "make analyze" in demo.stderr
    assert len(ports) == 2
    assert not any(listening(port) for port in ports)


@pytest.mark.real
def test_ctrl_c_ends_all_that_the_demo_started(tmp_path):
    """An interrupt stops proxy and server in order, says so, and exits as interrupted."""
    demo, ports = started(tmp_path / "demo")

    demo.send_signal(signal.SIGINT)
    _, rest = demo.communicate(timeout=30)

    assert demo.returncode == 130
    assert "demo: stopped; nothing is left running\n" in rest
    assert all_gone(ports)


@pytest.mark.real
def test_a_killed_demo_leaves_nothing_behind(tmp_path):
    """Even `kill -9`, which no code can handle, leaves no server, no proxy and no recorder."""
    demo, ports = started(tmp_path / "demo")

    demo.kill()
    demo.communicate(timeout=30)

    assert all_gone(ports)


def test_the_demo_empties_no_folder_but_its_own(tmp_path):
    """A folder that holds a journal already is refused and left as it is."""
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "mine.jsonl").touch()
    run = [*RUN, tmp_path]

    demo = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert demo.returncode == 1
    assert demo.stderr == f"demo: {tmp_path}/journal is there already: name an empty folder\n"
    assert (tmp_path / "journal" / "mine.jsonl").exists()


def test_a_program_that_fails_is_quoted(tmp_path):
    """What it said last is in the message, and how it ended."""
    log = tmp_path / "log"
    program = [sys.executable, "-c", "import sys; print('no port', file=sys.stderr); sys.exit(3)"]
    with pytest.raises(ChildError) as caught, child(program, log) as process:
        first_line(process, log, 20)

    assert str(caught.value) == "it ended with exit code 3\n  | no port"


def test_a_program_that_says_nothing_is_not_waited_for(tmp_path):
    """The time to come up is bounded, and the program is ended."""
    log = tmp_path / "log"
    program = [sys.executable, "-c", "input()"]
    with (
        pytest.raises(ChildError, match=r"it said nothing for 0 s"),
        child(program, log) as process,
    ):
        first_line(process, log, 0.1)

    assert process.returncode is not None


def test_a_program_killed_for_memory_is_explained(tmp_path):
    """A SIGKILL that we did not send means that memory was short: the message says so."""
    log = tmp_path / "log"
    program = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    with pytest.raises(ChildError, match=r"out of memory"), child(program, log) as process:
        first_line(process, log, 20)


def test_a_leash_ends_its_command_with_a_signal_and_passes_its_exit_code_on(tmp_path):
    """When the pipe closes, the command gets SIGTERM; what it makes of it is seen."""
    program = [sys.executable, "-c", "import time; time.sleep(60)"]

    with (
        pytest.raises(
            ChildError, match=r"the log did not stop in order: it ended with exit code 241"
        ),
        child(leashed(program), tmp_path / "log"),
    ):
        pass


def test_a_file_that_is_no_model_is_said_with_the_servers_own_words(tmp_path):
    """llama.cpp's reason is in the message."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no model")

    with (
        pytest.raises(
            ChildError, match=r"(?s)did not start: it ended with exit code 1.*broken\.gguf"
        ),
        serving(Setup(broken, "broken"), tmp_path / "log"),
    ):
        pass


def test_a_proxy_that_cannot_start_says_why(tmp_path):
    """A journal that cannot be written is the proxy's own sentence, passed on."""
    (tmp_path / "file").touch()

    with (
        pytest.raises(ChildError, match=r"(?s)turnscope-proxy did not start.*cannot be written"),
        recording(f"http://127.0.0.1:{free_port()}", tmp_path / "file" / "in", tmp_path / "log"),
    ):
        pass


@pytest.mark.real
def test_the_template_renders_tools_one_a_line(tiny_server):
    """The prompt with tools is the prompt without them and one JSON object a tool."""

    def prompt(**more):
        messages = [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Hi"},
            {"role": "user", "content": "Bye"},
        ]
        body = orjson.dumps({"messages": messages, **more})
        headers = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{tiny_server.url}/apply-template", body, headers)
        with urllib.request.urlopen(asked, timeout=20) as reply:
            return orjson.loads(reply.read())["prompt"]

    tools = chat.tools()[:2]
    before, between, after = prompt(tools=tools).partition("\n\nThese tools can be called:\n")
    lines, end, rest = after.partition("<|im_end|>")

    assert (
        before + end + rest
        == prompt()
        == (
            "<|im_start|>system\nBe kind.<|im_end|>\n"
            "<|im_start|>user\nHello<|im_end|>\n"
            "<|im_start|>assistant\nHi<|im_end|>\n"
            "<|im_start|>user\nBye<|im_end|>\n"
            "<|im_start|>assistant\n"
        )
    )
    assert between
    assert [orjson.loads(line) for line in lines.splitlines()] == tools


def test_the_tool_list_is_as_long_as_the_docs_say(tmp_path, monkeypatch):
    """978 tokens, as the docstring has it, counted by o200k_base."""
    monkeypatch.setenv(ranks.VARIABLE, str(ranks.unpack(tmp_path).folder))
    encoder = ranks.load("o200k_base")
    texts = [orjson.dumps(tool).decode() for tool in chat.tools()]

    assert sum(len(encoder.encode_ordinary(text)) for text in texts) == 978


@pytest.mark.real
def test_the_tiny_model_is_made_once():
    """A second call finds the file of the first."""
    made = tiny_model(smollm2())
    stamp = made.stat().st_mtime_ns

    assert tiny_model(smollm2()) == made
    assert made.stat().st_mtime_ns == stamp
