#!/usr/bin/env python3
"""Tests the script without a GPU and without its programs: shell scripts stand in their places."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import measures

_HERE = os.path.dirname(os.path.abspath(__file__))

# Trains: writes losses into the folder behind --out.
_TRAINS = """#!/bin/sh
while [ "$1" != --out ]; do shift; done
for step in 1 2 3; do echo "{\\"step\\":$step,\\"loss\\":2.$step,\\"seconds\\":0.01}"; done >"$2/metrics.jsonl"
echo '{"peak_memory_bytes": {"0": 1000}}' >"$2/run.json"
"""
# Hangs, with a child that hears no signals and holds the outputs open.
_HANGS = """#!/bin/sh
trap '' TERM INT HUP
sh -c 'trap "" TERM INT HUP; echo $$ >>hung; while :; do sleep 1; done' &
echo it begins
while :; do sleep 1; done
"""


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        for name in os.listdir(_HERE):
            if name.endswith(".py"):
                shutil.copy(os.path.join(_HERE, name), self.folder)
        self.write("Makefile", "all:\n")
        self.write("speed.tsv", "stand_in_mlp_8_f32\tmlp:8:f32::\n")
        for name in ("tests/one_test", "tests/two_test"):
            self.write(f"{name}.cu", "")
        for name in ("mnist_mlp", "mnist_cnn", "tiny_gpt", "small_gpt2"):
            self.write(f"expected/{name}.jsonl", '{"step":1,"loss":2.1}\n{"step":2,"loss":2.2}\n')
            self.program(f"{name}_1", _TRAINS)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def program(self, name, text):
        os.chmod(self.write(f"bin/{name}", text), 0o755)

    def run_script(self, *arguments):
        """Its exit code, results.json, and summary.md."""
        command = [sys.executable, "run.py", "--stand-in", "--results", "found", *arguments]
        ended = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        with open(f"{self.folder}/found/results.json", encoding="utf-8") as file:
            results = json.load(file)
        with open(f"{self.folder}/found/summary.md", encoding="utf-8") as file:
            return ended.returncode, results, file.read()

    def runs(self, pid):
        """Whether the process is there, other than as one that nobody has asked for yet."""
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                return file.read().rpartition(")")[2].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def rows(self, results):
        return {row["name"]: row for part in results["parts"] for row in part["rows"]}

    def test_what_hangs_takes_only_its_part(self):
        self.program("attention", "#!/bin/sh\n")
        self.program("tests/one_test", "#!/bin/sh\necho '[  PASSED  ] 3 tests.'\n")
        self.program("tests/two_test", _HANGS)
        start = time.monotonic()
        code, results, summary = self.run_script("--seconds", "30", "--only", "kernels losses")
        self.assertLess(time.monotonic() - start, 30)
        rows = self.rows(results)
        self.assertEqual(rows["tests/one_test"]["detail"], "3 tests.")
        self.assertEqual(rows["tests/two_test"]["result"], "left out")
        self.assertIn("no time is left: ended after", rows["tests/two_test"]["detail"])
        self.assertEqual(rows["losses of tiny_gpt"]["result"], "ok")
        self.assertEqual(code, 0)
        self.assertIn("## kernels (cut off, ", summary)
        with open(f"{self.folder}/hung", encoding="utf-8") as pids:
            self.assertEqual([pid for pid in pids if self.runs(int(pid))], [])

    def test_what_fails_is_said_and_the_rest_goes_on(self):
        self.program("mnist_mlp_1", "#!/bin/sh\necho 'error: there is no GPU' >&2\nexit 5\n")
        self.write("expected/mnist_cnn.jsonl", '{"step":1,"loss":2.2}\n')
        os.remove(f"{self.folder}/bin/tiny_gpt_1")
        code, results, summary = self.run_script("--seconds", "200", "--only", "losses")
        rows = self.rows(results)
        self.assertEqual(rows["losses of mnist_mlp"]["detail"], "exit code 5: error: there is no GPU")
        self.assertEqual(rows["losses of mnist_cnn"]["result"], "FAILED")
        self.assertIn("not there", rows["tiny_gpt_1"]["detail"])
        self.assertEqual(rows["losses of small_gpt2 in bf16"]["result"], "ok")
        self.assertEqual(code, 1)
        self.assertIn("- failures: 3", summary)


class MeasuresTest(unittest.TestCase):
    def test_kernels_are_found_by_the_names_of_their_ops(self):
        folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        lines = [
            {"phase": "forward", "kind": "products", "ops": ["x.0.up.matmul", "x.0.up.bias_add"], "runs": 2, "seconds": 3e-5, "flops": 10, "bytes": 7},
            {"phase": "update", "kind": "update", "ops": ["x.0.up.weight.new"], "runs": 2, "seconds": 1e-5, "flops": 1, "bytes": 5},
            {"phase": "update", "kind": "update", "ops": ["x.1.up.weight.new"], "runs": 1, "seconds": 2e-5, "flops": 1, "bytes": 5},
        ]
        with open(f"{folder}/kernels.jsonl", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        ops = [
            {"op": "x.#.up.bias_add", "calls": 2, "seconds": 8e-5, "flops": 40},
            {"op": "x.#.up.weight.new", "calls": 2, "seconds": 2e-5},
            {"op": "x.1.up.weight.new", "calls": 1, "seconds": 1e-5},
            {"op": "", "calls": 1, "seconds": 5e-5},
        ]
        rows, rest = measures.kernels(f"{folder}/kernels.jsonl", {"ops": ops})
        self.assertEqual([round(row["measured"], 9) for row in rows], [8e-5, 3e-5])
        self.assertEqual((rows[0]["predicted"], rows[0]["flops"], rows[0]["bytes"]), (6e-5, 40, 14))
        self.assertEqual((rows[1]["runs"], rows[1]["bytes"]), (3, 15))
        self.assertEqual(rest, {"outside of all ops": 5e-5})

    def test_launches_are_added_up_by_kernel(self):
        text = "\n".join([
            "==PROF== Connected to process 7", "epoch 0 step 1/1 | loss 1.0",
            '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"',
            '"0","7","Gelu(long, const float *)","dram__bytes_read.sum","byte","1,000"',
            '"0","7","Gelu(long, const float *)","gpu__time_duration.sum","nsecond","500"',
            '"1","7","Gelu(long, const float *)","dram__bytes_write.sum","byte","24"',
            '"2","7","gemm","gpu__time_duration.sum","ns","9000"',
        ])
        found = measures.launches(text)
        self.assertEqual([kernel["name"] for kernel in found], ["gemm", "Gelu"])
        self.assertEqual((found[1]["launches"], found[1]["bytes"]), (2, 1024))
        self.assertAlmostEqual(found[1]["seconds"], 5e-7)

    def test_losses_that_are_not_numbers_are_far_apart(self):
        self.assertEqual(measures.compare([1.0, 2.0], [1.0, 2.5])[1], 2)
        self.assertEqual(measures.compare([1.0, float("nan")], [1.0, 2.0])[0], float("inf"))
        self.assertEqual(measures.compare([], [1.0])[0], float("inf"))


if __name__ == "__main__":
    unittest.main()
