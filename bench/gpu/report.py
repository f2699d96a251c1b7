"""What was found, as results.json and summary.md: both are whole after each row, whatever happens then."""
import json
import os
import time


class Report:
    def __init__(self, folder):
        self.folder = folder
        self.data = {"started": time.strftime("%Y-%m-%d %H:%M:%S"), "machine": {}, "parts": []}

    def describe(self, **facts):
        self.data["machine"].update({name: fact for name, fact in facts.items() if fact is not None})
        self._write()

    def begin(self, name, question):
        self.data["parts"].append({"name": name, "question": question, "state": "begun", "rows": [], "tables": []})
        print(f"--- {name}: {question}", flush=True)
        self._write()

    def end(self, state, seconds):
        self._part()["state"], self._part()["seconds"] = state, round(seconds, 1)
        self._write()

    def row(self, name, result, detail="", **numbers):
        """`result` is "ok", "FAILED", "measured" or "left out"."""
        self._part()["rows"].append({"name": name, "result": result, "detail": detail, **numbers})
        print(f"{name:<34} {result:<8} {detail}", flush=True)
        self._write()

    def table(self, title, columns, rows, shown=40):
        """`rows` are lists of what stands in `columns`; summary.md has the first `shown`."""
        self._part()["tables"].append({"title": title, "columns": columns, "rows": rows, "shown": shown})
        self._write()

    def failures(self):
        rows = [row for part in self.data["parts"] for row in part["rows"]]
        broken = [part for part in self.data["parts"] if part["state"] == "broken"]
        return sum(row["result"] == "FAILED" for row in rows) + len(broken)

    def _part(self):
        return self.data["parts"][-1]

    def _write(self):
        self._replace("results.json", json.dumps(self.data, indent=1) + "\n")
        self._replace("summary.md", "\n".join(self._summary()) + "\n")

    def _replace(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".part", path)

    def _summary(self):
        yield f"# bench/gpu, {self.data['started']}"
        yield ""
        for name, fact in self.data["machine"].items():
            yield f"- {name}: {_cell(fact)}"
        yield f"- failures: {self.failures()}"
        for part in self.data["parts"]:
            seconds = f", {part['seconds']} s" if "seconds" in part else ""
            yield f"\n## {part['name']} ({part['state']}{seconds})\n\n{part['question']}\n"
            if part["rows"]:
                yield from _table(["what", "result", ""], [[row[key] for key in ("name", "result", "detail")] for row in part["rows"]])
            for table in part["tables"]:
                yield f"\n{table['title']}\n"
                yield from _table(table["columns"], table["rows"][: table["shown"]])
                if len(table["rows"]) > table["shown"]:
                    yield f"\n{len(table['rows']) - table['shown']} more are in results.json."


def _cell(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).replace("|", "/").replace("\n", " ")


def _table(columns, rows):
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield "| " + " | ".join(_cell(cell) for cell in row) + " |"
