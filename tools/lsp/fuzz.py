"""Sends random mutations to `cleave lsp`. To be run by hand: fuzz.py SECONDS CLEAVE MODEL ...

Each session opens a model, changes it at random (also with bytes that break frames, in every fourth session), asks random things
between, and ends. It fails where the server crashes, hangs for 30 s, or ends a session whose frames are whole without an answer to
each request.
"""

import json
import pathlib
import random
import subprocess
import sys
import time

METHODS = [
    "hover", "definition", "references", "documentHighlight", "documentSymbol", "completion", "signatureHelp", "formatting",
    "foldingRange", "semanticTokens/full", "inlayHint", "codeLens", "codeAction", "prepareRename", "rename", "noSuchThing",
]
PIECES = ["", "{", "}", "(", ")", "[", "]", "\"", "let ", "\n", "\r", "\r\n", "ö😀", "/*", "//", "0..", "fn f(", ";", ".", "#[", "..n",
          "model M {", "import \"a.model\";", "\u0000", "\ufeff", "\u202e", "9" * 40, "x" * 300, "((((((((" * 40, "1e999", "with ("]
ODD = [None, -1, 2**31, 2**63, -2**63, 1.5, "a", [], {}, True, "\ud83d"]


def frame(message):
    body = json.dumps(message, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def session(seed, text, uri):
    random.seed(seed)
    out = [frame({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {
        "general": {"positionEncodings": ["utf-8"] if seed % 2 else []}}}})]
    out.append(frame({"jsonrpc": "2.0", "method": "initialized", "params": {}}))
    out.append(frame({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {
        "textDocument": {"uri": uri, "version": 1, "languageId": "cleave", "text": text}}}))
    lines = text.count("\n") + 2
    asked = 0

    def position():
        return {"line": random.randint(-1, lines), "character": random.randint(-1, 90)}

    def odd(value):  # Sometimes something else stands where it is expected.
        return random.choice(ODD) if random.random() < 0.02 else value

    for step in range(random.randint(1, 30)):
        kind = random.random()
        if kind < 0.5:
            changes = []
            for _ in range(random.randint(1, 4)):
                piece = random.choice(PIECES) if random.random() < 0.7 else text[random.randrange(len(text) + 1):][: random.randint(0, 80)]
                begin = position()
                end = dict(begin)
                if random.random() < 0.5:
                    end["character"] += random.randint(0, 20)
                if random.random() < 0.1:
                    end = position()
                changes.append({"text": odd(piece), "range": odd({"start": odd(begin), "end": odd(end)})})
            out.append(frame({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
                "textDocument": {"uri": uri, "version": step + 2}, "contentChanges": odd(changes)}}))
        else:
            asked += 1
            out.append(frame({"jsonrpc": "2.0", "id": asked, "method": "textDocument/" + random.choice(METHODS), "params": odd({
                "textDocument": odd({"uri": odd(uri)}), "position": odd(position()), "newName": odd("renamed"),
                "range": odd({"start": odd(position()), "end": odd(position())}), "context": odd({"diagnostics": []})})}))
    is_broken = seed % 4 == 3
    data = bytearray(b"".join(out))
    if is_broken:
        for _ in range(random.randint(1, 6)):
            at = random.randrange(len(data))
            if random.random() < 0.3:
                del data[at: at + random.randint(1, 40)]
            else:
                data[at] = random.randrange(256)
    return bytes(data), asked, is_broken


def main():
    seconds, command, files = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
    first = int(time.time()) % 100000 * 1000
    end, seed, requests = time.time() + seconds, first, 0
    while time.time() < end:
        path = pathlib.Path(random.Random(seed).choice(files)).absolute()
        data, asked, is_broken = session(seed, path.read_text(), path.as_uri())
        process = subprocess.run([command, "lsp"], input=data, capture_output=True, timeout=30)
        answered = process.stdout.count(b'"jsonrpc":"2.0","id":') - process.stdout.count(b'"id":"cleave-')
        # What is no JSON, such as half of a surrogate, has an answer without a number.
        without_number = process.stdout.count(b'"jsonrpc":"2.0","id":null,"error"')
        is_answered = answered >= asked + 1 and answered - without_number <= asked + 1
        # A session that ends without `exit` has exit code 6.
        if process.returncode != 6 or process.stderr or (not is_broken and not is_answered):
            pathlib.Path("/tmp/lsp_fuzz_failure").write_bytes(data)
            sys.exit(f"seed {seed}: exit code {process.returncode}, {answered} of {asked + 1} answers, {process.stderr[-2000:]!r}")
        seed += 1
        requests += asked
    print(f"{seed - first} sessions, {requests} requests, seeds from {first}: no crash, no hang, each request answered")


main()
