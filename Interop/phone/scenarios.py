"""What a real iroh peer must be able to do with our daemon and our client. Each function is one scenario; its first line
says what it shows."""

import asyncio
import json
import os
from pathlib import Path

import iroh
from iroh_stream import STOCK, endpoint

from .daemon import Daemon, Invitation, scratch
from .phone import PATIENCE, Closed, Phone, words
from .stock_daemon import StockDaemon


async def patiently(blocking):
    """Runs something that blocks beside the event loop, with a deadline."""
    return await asyncio.wait_for(asyncio.to_thread(blocking), PATIENCE)


async def new_phone(invitation: Invitation, token: str | None = None) -> Phone:
    """A phone with a key of its own."""
    return Phone(await endpoint(), invitation.node_hex, invitation.where, token or invitation.token)


async def paired_phone(daemon: Daemon) -> Phone:
    """A phone that has just used its invitation."""
    invitation, window = daemon.pair()
    phone = await new_phone(invitation)
    await phone.connect()
    ready = await phone.expect("remote_ready")
    assert ready == {"type": "remote_ready", "scope": "control"}, ready
    events = [json.loads(line) for line in await patiently(window.stdout.readlines)]
    assert window.wait(PATIENCE) == 0, events
    assert any(event["event"] == "paired" for event in events), events
    return phone


async def run_command(phone: Phone, command: str, decision: str) -> dict:
    """Sends a prompt, answers its permission request, and returns the last state of the tool call."""
    await phone.send({"type": "prompt", "text": command, "attachments": []})
    await phone.expect("user_message", text=command)
    request = await phone.expect("permission_request", tool_name="bash", input={"command": command})
    await phone.send({"type": "permission_response", "request_id": request["request_id"], "decision": decision})
    await phone.expect("request_resolved", request_id=request["request_id"])
    while True:
        part = (await phone.expect("part_updated"))["part"]
        if part["state"]["status"] in ("completed", "error"):
            return part["state"]


async def prompt() -> None:
    """Pairing, ping, list, new session, prompt, permission, reconnect with the spent token, the open request, history."""
    with scratch() as directory, Daemon(os.environ["MEW"], Path(directory)) as daemon:
        phone = await paired_phone(daemon)

        pong = await phone.ask({"type": "ping"}, "pong")
        assert pong["version"], pong
        await phone.ask({"type": "list_sessions"}, "session_list", sessions=[])
        await phone.expect("group_list", groups=[])

        await phone.send({"type": "new_session", "cwd": str(daemon.work), "client_kind": "mobile"})
        session = await phone.expect("session_ready")
        assert session["cwd"] == str(daemon.work) and session["session_id"].startswith("sess_"), session
        await phone.expect("thinking_variant_changed")

        (daemon.work / "greeting").write_text("good morning\n")
        state = await run_command(phone, "cat greeting", "allow_once")
        assert (state["status"], state["output"]) == ("completed", "good morning\n"), state
        await phone.expect("session_activity_changed", activity="idle")

        # The app is suspended while a request is open. It dials again with the token it has spent.
        await phone.send({"type": "prompt", "text": "echo second > made", "attachments": []})
        asked = await phone.expect("permission_request")
        phone.drop()
        await phone.connect()
        await phone.expect("remote_ready", scope="control")
        await phone.send(
            {"type": "attach_session", "session_id": session["session_id"], "client_kind": "mobile"})
        assert (await phone.expect("session_ready"))["session_id"] == session["session_id"]
        history = await phone.expect("session_history")
        texts = [part.get("text") for message in history["messages"] for part in message["parts"]]
        assert "cat greeting" in texts and "echo second > made" in texts, texts
        again = await phone.expect("permission_request")
        assert again == asked, (asked, again)
        assert not (daemon.work / "made").exists(), "it ran before it was allowed"

        # Attaching to the session that is attached already has no answer (mew-wire §3.1.1).
        await phone.send(
            {"type": "attach_session", "session_id": session["session_id"], "client_kind": "mobile"})
        assert "session_ready" not in {message["type"] for message in await phone.quiet()}

        await phone.send(
            {"type": "permission_response", "request_id": asked["request_id"], "decision": "allow_once"})
        await phone.expect("session_activity_changed", activity="idle")
        assert (daemon.work / "made").read_text() == "second\n"
        sessions = (await phone.ask({"type": "list_sessions"}, "session_list"))["sessions"]
        assert [entry["session_id"] for entry in sessions] == [session["session_id"]], sessions


async def deny() -> None:
    """A denied command does not run, says so, and the session goes on."""
    with scratch() as directory, Daemon(os.environ["MEW"], Path(directory)) as daemon:
        phone = await paired_phone(daemon)
        await phone.ask({"type": "new_session", "cwd": str(daemon.work), "client_kind": "mobile"}, "session_ready")
        state = await run_command(phone, "touch made", "deny")
        assert (state["status"], state["error"]) == ("error", "permission denied: user denied"), state
        await phone.expect("tool_end", success=False)
        await phone.expect("session_activity_changed", activity="idle")
        assert not (daemon.work / "made").exists()
        state = await run_command(phone, "echo still here", "allow_once")
        assert state["output"] == "still here\n", state


async def cancel() -> None:
    """A running command is ended by `cancel`, with everything it has started."""
    with scratch() as directory, Daemon(os.environ["MEW"], Path(directory)) as daemon:
        phone = await paired_phone(daemon)
        await phone.ask({"type": "new_session", "cwd": str(daemon.work), "client_kind": "mobile"}, "session_ready")
        command = "echo started; sleep 1000 & sleep 1000"
        await phone.send({"type": "prompt", "text": command, "attachments": []})
        request = await phone.expect("permission_request")
        await phone.send(
            {"type": "permission_response", "request_id": request["request_id"], "decision": "allow_once"})
        await phone.expect("tool_progress", chunk="started\n")
        await phone.send({"type": "cancel"})
        await phone.expect("session_activity_changed", activity="idle")
        left = [path for path in Path("/proc").glob("[0-9]*") if working_directory(path) == str(daemon.work)]
        assert not left, [(path / "cmdline").read_bytes() for path in left]


def working_directory(process: Path) -> str | None:
    try:
        return os.readlink(process / "cwd")
    except OSError:
        return None


async def stranger() -> None:
    """While no window is open an unpaired node is closed with code 1 `unauthorized`, before any stream."""
    with scratch() as directory, Daemon(os.environ["MEW"], Path(directory)) as daemon:
        phone = await paired_phone(daemon)
        other = Phone(await endpoint(), phone.node_hex, phone.where, None)
        try:
            connection = await other.dial()
        except iroh.IrohError as error:
            closure = Closed(words(error))
        else:
            other.connection = connection
            closure = await other.closed()
        assert "unauthorized" in str(closure) and closure.code == 1, closure
        # The paired one beside it is not touched.
        await phone.ask({"type": "ping"}, "pong")


async def wrong_token() -> None:
    """While a window is open a wrong token is answered with an error and the end, and the window stays open."""
    with scratch() as directory, Daemon(os.environ["MEW"], Path(directory)) as daemon:
        invitation, window = daemon.pair()
        phone = await new_phone(invitation, "mew_" + "0" * 26)
        await phone.connect()
        refusal = await phone.expect("error")
        assert "rejected" in refusal["message"], refusal
        closure = await phone.closed()
        assert closure.code == 1, closure
        guest = await new_phone(invitation)
        await guest.connect()
        await guest.expect("remote_ready", scope="control")
        assert await patiently(window.wait) == 0


async def dial() -> None:
    """Our client dials a real iroh endpoint that speaks the stock protocol: pairs, pings, lists."""
    with scratch() as directory:
        peer = await endpoint([STOCK])
        stock = StockDaemon(peer)
        serving = asyncio.create_task(stock.serve())
        port = peer.bound_sockets()[0].rpartition(":")[2]
        client = Client(os.environ["MEW"], Path(directory))
        token = "mew_01K4SJKHR00000000000T0KEN1"
        payload = json.dumps({"node_id": str(peer.id()), "token": token, "addrs": [f"127.0.0.1:{port}"]})
        added = await client.run("add", f"mew001:{payload}", "--name", "stock")
        assert added[-1]["daemon"] == "stock", added
        assert stock.seen[0]["type"] == "remote_hello" and stock.seen[0]["token"] == token, stock.seen
        pings = await client.run("ping", "stock", "-c", "3")
        assert [ping["n"] for ping in pings if "n" in ping] == [1, 2, 3], pings
        assert await client.run("sessions", "stock") == []
        identity = await client.run("id")
        assert set(stock.peers) == {identity[0]["hex"]}, (stock.peers, identity)
        serving.cancel()


class Client:
    """Our command line with a state directory of its own."""

    def __init__(self, binary: str, directory: Path):
        self.binary = binary
        self.home = directory / "client"

    async def run(self, *arguments: str) -> list[dict]:
        process = await asyncio.create_subprocess_exec(
            self.binary, *arguments, "--home", self.home, "--json",
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE)
        output, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
        assert process.returncode == 0, (arguments, process.returncode, output)
        return [json.loads(line) for line in output.splitlines()]


ALL = {scenario.__name__: scenario for scenario in (prompt, deny, cancel, stranger, wrong_token, dial)}
