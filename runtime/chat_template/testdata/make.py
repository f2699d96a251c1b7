"""Writes cases.json: random conversations, and what transformers makes of them by the templates here.

Needs transformers (5.24 wrote what is here). Each case: the template, the variables, the text (null where the template
fails) and the places in characters of what `{% generation %}` encloses.
"""

import datetime
import json
import pathlib
import random

from transformers.utils import chat_template_utils

FOLDER = pathlib.Path(__file__).parent
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


class Date(datetime.datetime):
    """That of the test."""

    @classmethod
    def now(cls, tz=None):
        return datetime.datetime(2024, 7, 26)


chat_template_utils.datetime = Date


def text(draw):
    parts = ["a", "Bc ", " d", "\n", "\n\n", "  ", "\t", "é", "漢", "😀", "\u00a0", "\u2028", "'", '"', "\\", "{{ x }}", "</s>",
             "<think>", "</think>", "<|im_end|>", "[INST]", "0", "12", ".", ",", "<tool_response>", "</tool_response>"]
    return "".join(draw.choice(parts) for _ in range(draw.randint(0, 9)))


def conversation(draw):
    messages = []
    if draw.random() < 0.4:
        messages.append({"role": "system", "content": text(draw)})
    for _ in range(draw.randint(1, 4)):
        messages.append({"role": "user", "content": text(draw)})
        if draw.random() < 0.9:
            answer = {"role": "assistant", "content": text(draw)}
            if draw.random() < 0.2:
                answer["reasoning_content"] = text(draw)
            if draw.random() < 0.2:
                arguments = {"a": draw.choice([1, 2.5, 1e20, True, None, "x\né", [1, {"b": []}]]), "c": {}}
                answer["tool_calls"] = [{"type": "function", "function": {"name": "f", "arguments": arguments}}]
            messages.append(answer)
            if "tool_calls" in answer:
                messages += [{"role": "tool", "content": text(draw)} for _ in range(draw.randint(1, 2))]
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"z": 1, "a": text(draw)}}}]
    return {"messages": messages, "tools": tools if draw.random() < 0.3 else None,
            "add_generation_prompt": draw.random() < 0.5}


def main():
    draw = random.Random(1)
    cases = []
    for path in sorted(FOLDER.glob("*.jinja")):
        source = path.read_text()
        compiled = chat_template_utils._compile_jinja_template(source)
        for _ in range(14):
            variables = conversation(draw)
            expected, places = None, []
            try:
                if "generation %}" in source:
                    expected, places = chat_template_utils._render_with_assistant_indices(
                        compiled, variables["messages"], variables["tools"], None, variables["add_generation_prompt"], **TOKENS)
                else:
                    expected = compiled.render(**variables, **TOKENS)
            except Exception as error:
                assert "alternate" in str(error) or "operand" in str(error) or "concatenate" in str(error), (path, error)
            cases.append([path.name, variables, expected, [list(place) for place in places]])
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    (FOLDER / "cases.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
