"""Commands that cannot take longer than they may.

    clock = Clock(480)                             # Seconds for all.
    commands = Commands(clock, "log.txt")
    with clock.part(60):                           # What runs in here ends in a minute, or when all must end.
        outcome = commands.run(["bin/program"], 20)

A command that is too slow is killed with all that it has started, as long as that has not left its process group. What cannot be killed, because
it waits in a driver, is left behind. Nothing is read through a pipe that such a process could hold open.
"""
import contextlib
import dataclasses
import os
import select
import signal
import subprocess
import tempfile
import time


class Clock:
    def __init__(self, seconds):
        self.start = time.monotonic()
        self._ends = [self.start + seconds]

    def elapsed(self):
        return time.monotonic() - self.start

    def left(self):
        return min(self._ends) - time.monotonic()

    @contextlib.contextmanager
    def part(self, seconds):
        self._ends.append(time.monotonic() + seconds)
        try:
            yield
        finally:
            self._ends.pop()


@dataclasses.dataclass
class Outcome:
    code: int  # None: it was not started, or did not end in time.
    text: str  # Of both outputs.
    seconds: float
    state: str  # "ended", "too slow …" by its own limit, "no time …" by that of its part or of all, or why it did not start.

    @property
    def ok(self):
        return self.code == 0

    @property
    def verdict(self):
        """Of what is not ok, for a report."""
        return "left out" if self.state.startswith("no time") else "FAILED"

    def why(self):
        """A line that explains a failure."""
        if self.state != "ended":
            return self.state
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        telling = [line for line in lines if "error" in line.lower() or "FAILED" in line or "***" in line]
        line = (telling or lines[-1:] or ["it said nothing"])[0]
        return f"exit code {self.code}: {line[:200]}"


_SHORTEST = 1.0  # Seconds that are worth a start.
_KEPT = 20_000  # Characters of an output in the log.
_READ = 64 << 20  # Bytes of an output that are looked at.


def _end(process):
    """Kills a process and its group; waits for a moment only."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        return False
    return True


class Commands:
    """`patience`: by how much longer each command may take than is said."""

    def __init__(self, clock, log, patience=1):
        self.clock, self._patience = clock, patience
        self.environment = dict(os.environ)
        self._log = log
        self._talks = []

    def log(self, title, text):
        if len(text) > _KEPT:
            text = f"{text[: _KEPT // 2]}\n… {len(text) - _KEPT} characters …\n{text[-_KEPT // 2:]}"
        with open(self._log, "a", encoding="utf-8") as log:
            log.write(f"=== {self.clock.elapsed():.1f} s: {title}\n{text.rstrip()}\n")

    def run(self, command, seconds, environment=None, title=None):
        """Runs `command` for at most `seconds`, less where less is left."""
        seconds, left = seconds * self._patience, self.clock.left()
        limit = min(seconds, left)
        name = title or " ".join(str(word) for word in command)[:200]
        if limit < _SHORTEST:
            self.log(name, "not started: no time is left")
            return Outcome(None, "", 0, "no time is left")
        start = time.monotonic()
        with tempfile.TemporaryFile() as output:
            try:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                    env={**self.environment, **(environment or {})},
                )
            except OSError as error:
                self.log(name, str(error))
                return Outcome(None, "", 0, f"{command[0]}: {error.strerror}")
            code, state = None, "ended"
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                state = f"{'too slow' if seconds <= left else 'no time is left'}: ended after {limit:.0f} s"
                if not _end(process):
                    state += ", and cannot be killed"
            except BaseException:
                _end(process)
                raise
            output.seek(0)
            text = output.read(_READ).decode(errors="replace")
        taken = time.monotonic() - start
        self.log(f"{name} -> {code if code is not None else state}, {taken:.1f} s", text)
        return Outcome(code, text, taken, state)

    def talk(self, command, title):
        """Starts a process that answers lines by lines; None where it cannot be started."""
        try:
            talk = Talk(self, command, title)
        except OSError as error:
            self.log(title, str(error))
            return None
        self._talks.append(talk)
        return talk

    def close(self):
        for talk in self._talks:
            talk.close()


class Talk:
    """A process at the other end of two pipes."""

    def __init__(self, commands, command, title):
        self._commands, self._title = commands, title
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True,
            env=commands.environment,
        )
        self._unread = b""

    def has_ended(self):
        return self._process is None or self._process.poll() is not None

    def say(self, line):
        with contextlib.suppress(OSError):
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def hear(self, seconds):
        """The next line that it says, within `seconds`; None where there is none."""
        end = time.monotonic() + min(seconds, self._commands.clock.left())
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            wait = end - time.monotonic()
            if wait <= 0 or not select.select([pipe], [], [], wait)[0]:
                return None
            more = os.read(pipe, 65536)
            if not more:
                return None
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode(errors="replace")

    def close(self):
        if self._process is None:
            return
        _end(self._process)
        self._errors.seek(0)
        self._commands.log(f"{self._title}: its standard error", self._errors.read(_READ).decode(errors="replace"))
        self._process = None
