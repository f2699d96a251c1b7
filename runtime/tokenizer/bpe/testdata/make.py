# Makes the files of this folder with the reference implementation: python3 make.py TEXT [NAME ...]
# TEXT is tinyshakespeare/input.txt; NAMEs are files that are made, the others stay as they are. Needs the Python package tokenizers; these files are of version 0.23.3.
import base64, json, struct, sys, unicodedata
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA_3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
           r"\s+(?!\S)|\s+")
QWEN = LLAMA_3.replace("{1,3}", "")
OTHERS = """Größe naïve café über Łódź déjà vu. Привет, мир! Все люди рождаются свободными. Ελλάδα και Κύπρος.
你好，世界。人人生而自由。こんにちは世界。안녕하세요 세계. नमस्ते दुनिया. مرحبا بالعالم. 😀👍🏽👨‍👩‍👧 1234567890 3.14159 2,000,000
    for (int i = 0; i < n; ++i) {\n\t\tx[i] += y[i];\n    }\n""" * 20


def trained(tokenizer, text, size, specials, alphabet=()):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, initial_alphabet=list(alphabet),
                                  show_progress=False)
    tokenizer.train_from_iterator([text[:200000], OTHERS], trainer)
    return tokenizer


def begins_with(token, number):
    return processors.TemplateProcessing(single=f"{token} $A", special_tokens=[(token, number)])


def byte_level(text):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    made.decoder = decoders.ByteLevel()
    return trained(made, text, 500, ["<|endoftext|>"], pre_tokenizers.ByteLevel.alphabet())


def split_by_regex(text):
    made = Tokenizer(models.BPE(ignore_merges=True))
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA_3), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    made = trained(made, text, 600, ["<|begin_of_text|>", "<|eot_id|>", "<|eot|>"],
                   pre_tokenizers.ByteLevel.alphabet())
    made.post_processor = processors.Sequence([processors.ByteLevel(), begins_with("<|begin_of_text|>", 0)])
    return made


def sentencepiece(text):
    bytes_of_all = [f"<0x{byte:02X}>" for byte in range(256)]
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                      decoders.Strip(" ", 1, 0)])
    words = text[:20000].replace("\n", " ").split(" ")
    trainer = trainers.BpeTrainer(vocab_size=600, show_progress=False,
                                  special_tokens=["<unk>", "<s>", "</s>"] + bytes_of_all)
    made.train_from_iterator(words, trainer)
    as_read = json.loads(made.to_str())
    as_read["added_tokens"] = as_read["added_tokens"][:3]  # The tokens of bytes are no special ones.
    as_read["model"]["merges"] = [" ".join(pair) for pair in as_read["model"]["merges"]]  # As older files have them.
    made = Tokenizer.from_str(json.dumps(as_read))
    made.post_processor = begins_with("<s>", 1)
    return made, as_read["model"]["merges"]


def metaspace(text):
    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Metaspace("▁", "first", True)
    made.decoder = decoders.Metaspace("▁", "first", True)
    made = trained(made, text, 400, ["<unk>", "</s>"])
    made.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    made.add_tokens([AddedToken("<|user|>", rstrip=True, normalized=False), AddedToken("KING", normalized=True)])
    return made


def composed(text):
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(True), pre_tokenizers.Split(Regex(QWEN), "isolated"),
        pre_tokenizers.ByteLevel(False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    made = trained(made, text, 450, ["<|endoftext|>"], pre_tokenizers.ByteLevel.alphabet())
    made.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("caf\u00e9", normalized=True)])
    return made


def cut_at_strings(text):
    made = Tokenizer(models.BPE(unk_token="?"))
    made.normalizer = normalizers.Replace(Regex(r"\s+"), "_")
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split("_", "merged_with_previous"), pre_tokenizers.Split(Regex(r"\p{Lu}+"), "merged_with_next"),
        pre_tokenizers.Split(Regex(r"\d"), "contiguous"), pre_tokenizers.Split(",", "removed"),
        pre_tokenizers.Split(Regex(r"[\p{L}\p{N}_]+"), "isolated", invert=True)])
    made.decoder = decoders.Sequence([decoders.Replace("_", " "), decoders.Strip("t", 2, 0), decoders.Fuse()])
    return trained(made, text, 300, ["?"])


def word_piece(text):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False)
    made.train_from_iterator([text[:50000], OTHERS], trainer)
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def charsmap(changes):
    """The texts that become others, as SentencePiece writes them: a double array of 32-bit units, and the texts."""
    tree, texts, units, taken = {}, b"", {0: 0}, {0}
    for key, value in changes.items():
        node = tree
        for byte in key.encode(): node = node.setdefault(byte, {})
        node["value"] = len(texts)
        texts += value.encode() + b"\0"
    rest = [(tree, 0)]
    while rest:
        node, at = rest.pop()
        labels = [0 if label == "value" else label for label in node]
        base = next(b for b in range(1, 1 << 20) if b != at and not taken & {b ^ label for label in labels})
        units[at] |= (at ^ base) << 10 | ("value" in node) << 8
        taken |= {base ^ label for label in labels}
        for label, child in node.items():
            units[base if label == "value" else base ^ label] = child | 1 << 31 if label == "value" else label
            if label != "value": rest.append((child, base ^ label))
    blob = b"".join(struct.pack("<I", units.get(i, 0)) for i in range(max(units) + 256))
    return base64.b64encode(struct.pack("<I", len(blob)) + blob + texts).decode()


def unigram(text):
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    made.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=400, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False)
    made.train_from_iterator([text[:50000], OTHERS], trainer)
    as_read = json.loads(made.to_str())
    changes = {c: unicodedata.normalize("NFKC", c) for c in "\u00a0\u2003\u3000\ufb01\u2460\uff21\uff22\u00b2\u2160"}
    changes |= {"e\u0301": "é", "\u0000": "", "\t": " ", "\u200b": " "}
    as_read["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": charsmap(changes)}
    made = Tokenizer.from_str(json.dumps(as_read))
    made.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return made


TEXTS = [
    "", " ", "  ", "\n", "a", "To be, or not to be", "First Citizen:\nBefore we proceed any further, hear me speak.",
    " leading", "trailing ", "   many   spaces   ", "tabs\t\tand\r\nlines\n\n\n  x\n \n", "I'll you're HE'S he'd 'tis 'S",
    "1", "12", "123456789", "3.14159, 2,000,000 and 1e-5", "x=1;y=22;z=333", "Größe naïve café Łódź",
    "cafe\u0301 A\u030a \u1e9b\u0323 \u1100\u1161\u11a8 \u0344 e\u0323\u0301", "Привет, мир!", "你好，世界。", "こんにちは", "안녕하세요",
    "नमस्ते", "مرحبا", "😀 👍🏽👨‍👩‍👧", "\u00a0\u2003\u3000\u180e\u200b\u2028x", "\u0000\u0001\u007f", "\ufffd\ufeff",
    "<|endoftext|>", "a<|endoftext|>b<|endoftext|>", "<|eot|><|eot_id|>x<|eot_id", " <|begin_of_text|> hi", "<s>hi</s> there </s>",
    "hello <mask> world  <mask>", "<|user|>  \n go KING KINGDOM king", "<mask><mask>", "<tool> cafe\u0301 café <tool>", "<0x41><0x0A>",
    "▁a ▁▁b", "a" * 300, "ab" * 200, " " * 100, "ROMEO JulietRomeo,12ab3", "__a_b,c", "ſ'ſ 'S 'Ll K", "\u2160\u00b2\u0663\u4e00\u5341",
]

if __name__ == "__main__":
    text = open(sys.argv[1]).read()
    kinds = [byte_level, split_by_regex, sentencepiece, metaspace, composed, cut_at_strings, word_piece, unigram]
    known = {(case[0], case[1]): case for case in json.load(open("expected.json"))}
    expected = []
    for kind in kinds:
        name = kind.__name__
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            expected += [case for (of, _), case in known.items() if of == name]
            continue
        tokenizer = kind(text)
        merges = None
        if name == "sentencepiece": tokenizer, merges = tokenizer
        content = json.loads(tokenizer.to_str())
        if merges is not None: content["model"]["merges"] = merges
        with open(name + ".json", "w") as file:
            json.dump(content, file, ensure_ascii=False, separators=(",", ":"))
        for line in TEXTS:
            ids = tokenizer.encode(line).ids
            expected.append([name, line, ids, tokenizer.decode(ids)])
    with open("expected.json", "w") as file:
        file.write("[" + ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in expected) + "]\n")
