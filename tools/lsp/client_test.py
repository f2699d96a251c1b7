"""Speaks to `cleave lsp` with pygls, a client that others wrote. To be run by hand: pip install pygls; client_test.py CLEAVE.

Opens a GPT of 96 layers, types into it, and prints what comes back and how long each answer takes.
"""

import asyncio
import pathlib
import statistics
import sys
import tempfile
import time

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

MODEL = """// A GPT of many layers.
fn layer_of(x: f32[batch, seq, width], heads: int) -> f32[batch, seq, width] {
    let mixed = block(x, heads);
    return mixed;
}

model Gpt(batch: int = 8, seq: int = 64, vocab: int = 256, width: int = 128, heads: int = 4, depth: int = 96) {
    input tokens: i32[batch, seq];
    input next: i32[batch, seq];
    let mut x = embedding(tokens, vocab, width) + position(seq, width);
    for i in 0..depth {
        x = layer_of(x, heads);
    }
    let normal = layer_norm(x);
    let logits = dense(normal, vocab);
    loss cross_entropy(logits, next);
}

train Gpt {
    data = synthetic();
    optimizer = adamw(lr = 1e-3);
}

parallel {
    devices = 4;
    search = sapp;
}
"""


def place(text, around, word):
    at = text.index(word, text.index(around))
    line = text.count("\n", 0, at)
    return lsp.Position(line, at - (text.rfind("\n", 0, at) + 1))


async def main(command):
    client = LanguageClient("client_test", "1")
    published = {}
    lenses = asyncio.Event()
    refreshed = []

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _(params):
        published[params.uri] = params.diagnostics

    @client.feature(lsp.WORKSPACE_CODE_LENS_REFRESH)
    def _(params):
        lenses.set()

    @client.feature(lsp.WORKSPACE_INLAY_HINT_REFRESH)
    def _(params):
        refreshed.append(time.monotonic())

    await client.start_io(*command, "lsp")
    capabilities = lsp.ClientCapabilities(
        workspace=lsp.WorkspaceClientCapabilities(
            code_lens=lsp.CodeLensWorkspaceClientCapabilities(refresh_support=True),
            inlay_hint=lsp.InlayHintWorkspaceClientCapabilities(refresh_support=True),
        )
    )
    answer = await client.initialize_async(lsp.InitializeParams(capabilities=capabilities))
    print("positions:", answer.capabilities.position_encoding)
    client.initialized(lsp.InitializedParams())

    folder = tempfile.mkdtemp()
    path = pathlib.Path(folder) / "gpt.model"
    path.write_text(MODEL)
    uri = path.as_uri()
    document = lsp.TextDocumentIdentifier(uri)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "cleave", 1, MODEL)))

    async def hover(text, around, word):
        begin = time.monotonic()
        shown = await client.text_document_hover_async(lsp.HoverParams(text_document=document, position=place(text, around, word)))
        return (time.monotonic() - begin) * 1000, shown.contents.value if shown else None

    begin = time.monotonic()
    await asyncio.wait_for(lenses.wait(), 300)
    print(f"plan of 96 layers after {1000 * (time.monotonic() - begin):.0f} ms")
    lens = await client.text_document_code_lens_async(lsp.CodeLensParams(document))
    print("above parallel:", lens[0].command.title)
    for around, word in (("let mixed", "mixed"), ("let logits", "logits"), ("dense(normal", "dense")):
        print(f"--- hover {word}:\n{(await hover(MODEL, around, word))[1]}")

    # Keystroke to hover: each change is one character, and the hover follows at once.
    text, version, times, fresh = MODEL, 1, [], 0
    for i in range(40):
        position = place(text, "let logits = dense(normal, vocab", ");\n    loss")
        version += 1
        change = lsp.TextDocumentContentChangePartial(range=lsp.Range(position, position), text=" ")
        versioned = lsp.VersionedTextDocumentIdentifier(uri=uri, version=version)
        at = text.index(");\n    loss")
        text = text[:at] + " " + text[at:]
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(versioned, [change]))
        taken, shown = await hover(text, "let logits", "logits")
        times.append(taken)
        fresh += "logits" in (shown or "")
        await asyncio.sleep(0.05 if i % 2 else 0.4)
    times.sort()
    print(
        f"didChange to hover, 40 times: median {statistics.median(times):.0f} ms, 90 % {times[35]:.0f} ms, most {times[-1]:.0f} ms;"
        f" {fresh} answers had the type"
    )

    # A mistake, its fix, and the rest.
    broken = MODEL.replace("layer_norm(x)", "layer_nrom(x)")
    version += 1
    versioned = lsp.VersionedTextDocumentIdentifier(uri=uri, version=version)
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(versioned, [lsp.TextDocumentContentChangeWholeDocument(broken)])
    )
    line = place(broken, "layer_nrom", "layer_nrom").line
    where = lsp.Range(lsp.Position(line, 0), lsp.Position(line, 80))
    for _ in range(100):
        await asyncio.sleep(0.1)
        if any(each.code == "E0201" for each in published.get(uri, [])):
            break
    for each in published[uri]:
        print("diagnostic:", each.code, each.range.start, repr(each.message))
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(text_document=document, range=where, context=lsp.CodeActionContext(diagnostics=[]))
    )
    print("fixes:", [each.title for each in actions or []])
    at = place(broken, "let normal", "normal")
    definition = await client.text_document_definition_async(lsp.DefinitionParams(text_document=document, position=place(broken, "dense(normal", "normal")))
    print("definition:", definition.range.start, "expected", at)
    references = await client.text_document_references_async(
        lsp.ReferenceParams(text_document=document, position=at, context=lsp.ReferenceContext(include_declaration=True))
    )
    print("references:", len(references))
    renamed = await client.text_document_rename_async(lsp.RenameParams(text_document=document, position=at, new_name="norm"))
    print("rename:", {len(edits) for edits in renamed.changes.values()}, "edits")
    for around, what in (("let logits = de", ""), ("    optimizer = ad", ""), ("    search = s", "")):
        end = place(broken, around, around)
        end = lsp.Position(end.line, end.character + len(around))
        items = await client.text_document_completion_async(lsp.CompletionParams(text_document=document, position=end))
        labels = [each.label for each in items.items]
        print("completion after", repr(around), len(labels), labels[:6])
    call = place(broken, "dense(normal", "normal")
    help_ = await client.text_document_signature_help_async(lsp.SignatureHelpParams(text_document=document, position=call))
    print("signature:", help_.signatures[0].label)
    symbols = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
    print("symbols:", [each.name for each in symbols])
    folds = await client.text_document_folding_range_async(lsp.FoldingRangeParams(document))
    print("folds:", len(folds))
    kinds = await client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(document))
    print("words with kinds:", len(kinds.data) // 5)
    everything = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
    hints = await client.text_document_inlay_hint_async(lsp.InlayHintParams(text_document=document, range=everything))
    print("hints:", [each.label for each in hints])
    options = lsp.FormattingOptions(tab_size=4, insert_spaces=True)
    edits = await client.text_document_formatting_async(lsp.DocumentFormattingParams(text_document=document, options=options))
    print("formatting:", len(edits), "edits")
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()


asyncio.run(main(sys.argv[1:] or ["cleave"]))
