#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what the writers write with other people's parsers: JSON against docs/result.schema.json, CSV
cell by cell against the JSON, JUnit as XML. Also that the schema refuses what it should.

usage: tests/report/check_schema.py MAKE_SAMPLE_REPORTS
"""
import copy
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMA = json.loads((ROOT / "docs/result.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FORMULA_STARTS = tuple("=+-@\t\r＝＋－＠")


def without_line_ends(text):
    """As every output but JSON shows a name; U+FFFD stands for bytes that JSON cannot hold."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda m: "".join(f"\\x{b:02x}" for b in m.group().encode()), text)


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = pathlib.Path(cls.scratch.name)
        subprocess.run([MAKE, cls.directory], check=True)
        cls.documents = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in cls.directory.glob("*.json")
                         if "code-quality" not in path.name}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_json_follows_the_schema(self):
        self.assertGreaterEqual(len(self.documents), 9)
        for name, document in self.documents.items():
            with self.subTest(name):
                VALIDATOR.validate(document)
                summary, rows = document["summary"], document["rows"]
                for verdict in ("pass", "fail", "inconclusive", "not_compared"):
                    self.assertEqual(summary[verdict], sum(row["verdict"] == verdict for row in rows))
                self.assertEqual(summary["rows"], len(rows))
                self.assertEqual([row["id"] for row in rows], list(range(len(rows))))
                for row in rows:  # null and a reason go together, in both directions
                    nulls = {k for k, v in row["metrics"].items() if v is None}
                    self.assertEqual(nulls, set(row["undefined"]))

    def test_json_has_one_row_per_line(self):
        for name, document in self.documents.items():
            lines = (self.directory / f"{name}.json").read_text(encoding="utf-8").split("\n")
            rows = [json.loads(line.rstrip(",")) for line in lines if line.startswith('    {"id"')]
            self.assertEqual(rows, document["rows"], name)

    def test_json_numbers(self):
        first = self.documents["failing"]["rows"][0]["metrics"]
        self.assertEqual(first["cosine"], 0.9999987)
        self.assertEqual(first["target_crc32"], "0000beef")
        self.assertIsNone(first["bulk_rel_euclid"])
        self.assertTrue(self.documents["failing"]["rows"][0]["undefined"]["bulk_rel_euclid"].startswith("at most 0.0123: "))
        odd = self.documents["hostile"]["rows"][0]["metrics"]
        self.assertEqual((odd["cosine"], odd["rel_euclid"], odd["max_abs"]), ("nan", "inf", "-inf"))
        self.assertIsInstance(odd["target_nan"], int)

    def test_a_worse_output_fails_the_run(self):
        worse, as_before = self.documents["worse"], self.documents["as_before"]
        self.assertEqual((worse["summary"]["fail"], worse["summary"]["verdict"]), (0, "fail"))
        self.assertEqual((worse["baseline"]["verdict"], as_before["baseline"]["verdict"]), ("fail", "pass"))
        self.assertEqual(as_before["summary"]["verdict"], "pass")
        self.assertEqual(self.documents["held_by_nothing"]["baseline"]["verdict"], "fail")
        self.assertEqual([row["id"] for row in worse["rows"] if "model_output" in row], [3])
        self.assertEqual(worse["baseline"]["tensors"][0]["after"], {"verdict": "inconclusive", "cosine": None, "rel_euclid": "inf"})
        self.assertNotIn("baseline", self.documents["passing"])

    def test_json_names_survive(self):
        names = [row["target"]["operator"] for row in self.documents["hostile"]["rows"]]
        for name in ('quo"te', "com,ma", "new\nline", "esc\x1b[2Jape", "\t=1", "卷积/层", "nul\0nul", "back\\slash", ""):
            self.assertIn(name, names)
        self.assertIn("bad\ufffd utf\ufffd", names)

    def test_schema_refuses(self):
        good = self.documents["failing"]
        changes = {
            "another schema": lambda d: d.update(schema="plumb.result/2"),
            "no findings": lambda d: d.pop("findings"),
            "unknown verdict": lambda d: d["rows"][0].update(verdict="ok"),
            "left out without a reason": lambda d: d["rows"][-1].update(reasons=[]),
            "neither side": lambda d: d["rows"][0].update(target=None, golden=None),
            "text for a number": lambda d: d["rows"][0]["metrics"].update(cosine="high"),
            "suspicious failure": lambda d: d["rows"][0].update(verdict="fail", reasons=["empty"], suspicious=True),
            "a baseline without its verdict": lambda d: d.update(baseline={"path": "old.json"}),
            "fraction of a count": lambda d: d["summary"].update(rows=1.5),
        }
        for name, change in changes.items():
            with self.subTest(name):
                document = copy.deepcopy(good)
                change(document)
                with self.assertRaises(jsonschema.ValidationError):
                    VALIDATOR.validate(document)

    def test_csv_agrees_with_json(self):
        for name, document in self.documents.items():
            text = (self.directory / f"{name}.csv").read_text(encoding="utf-8")
            self.assertEqual(text.count("\n"), 1 + len(document["rows"]), name)
            lines = list(csv.DictReader(text.splitlines(), strict=True))
            self.assertEqual(len(lines), len(document["rows"]), name)
            for line, row in zip(lines, document["rows"]):
                self.assertEqual(int(line["id"]), row["id"])
                self.assertEqual(line["verdict"], row["verdict"])
                self.assertEqual(line["reasons"].split(), row["reasons"])
                for side in ("target", "golden"):
                    known = row[side] or {"operator": "", "slot": "", "dtype": "", "shape": None}
                    operator = without_line_ends(known["operator"])
                    if "\ufffd" not in operator:
                        self.assertIn(line[f"{side}_operator"], (operator, "'" + operator))
                    self.assertEqual(line[f"{side}_dtype"], known["dtype"])
                    self.assertEqual(line[f"{side}_shape"], "" if known["shape"] is None else str(known["shape"]))
                for metric in document["run"]["metrics"]:
                    value = row["metrics"].get(metric)
                    cell = line[metric]
                    if isinstance(value, (int, float)):
                        self.assertEqual(float(cell), value)
                    else:
                        self.assertEqual(cell, value or "")

    def test_csv_holds_no_formulas(self):
        with (self.directory / "hostile.csv").open(encoding="utf-8", newline="") as file:
            cells = [cell for line in csv.reader(file) for cell in line]
        self.assertIn("'=1+1", cells)
        for cell in cells:
            if cell.startswith(FORMULA_STARTS):
                float(cell)  # or it is a number

    def test_junit_agrees_with_json(self):
        for name, document in self.documents.items():
            suite = xml.etree.ElementTree.parse(self.directory / f"{name}.junit.xml").getroot().find("testsuite")
            cases, rows, summary = suite.findall("testcase"), document["rows"], document["summary"]
            found = {kind: len(suite.findall(f"testcase/{kind}")) for kind in ("failure", "error", "skipped")}
            self.assertEqual(
                [int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")],
                [len(cases), found["failure"], found["error"], found["skipped"]], name)
            # Green exactly if the verdict is pass.
            self.assertEqual(found["failure"] + found["error"] == 0, summary["verdict"] == "pass", name)
            is_worse = document.get("baseline", {}).get("verdict") == "fail"
            self.assertEqual(found["failure"], summary["fail"] + summary["inconclusive"] + is_worse)
            self.assertEqual(found["skipped"], summary["filtered"])
            for case, row in zip(cases, rows):
                operator = (row["target"] or row["golden"])["operator"]
                dropped = re.sub(r"[\x00-\x1f\x7f-\x9f]", "", re.sub(r"[\t\n\r]", " ", operator))
                self.assertEqual(case.get("classname"), dropped)

    def test_code_quality(self):
        for name, document in self.documents.items():
            problems = json.loads((self.directory / f"{name}.code-quality-report.json").read_text(encoding="utf-8"))
            prints = [problem["fingerprint"] for problem in problems]
            self.assertEqual(len(set(prints)), len(prints), name)
            for problem in problems:
                self.assertRegex(problem["fingerprint"], "^[0-9a-f]{32}$")
                self.assertIn(problem["severity"], ("info", "minor", "major", "critical"))
                self.assertEqual(problem["location"], {"path": document["run"]["target"]["path"], "lines": {"begin": 1}})
            failed = sum(row["verdict"] == "fail" for row in document["rows"])
            found = sum(problem["severity"] in ("major", "critical") for problem in problems)
            self.assertEqual(found, failed + len(document["findings"]), name)

    def test_markdown_tables_have_even_rows(self):
        for name in self.documents:
            columns = None
            for line in (self.directory / f"{name}.md").read_text(encoding="utf-8").split("\n"):
                cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
                if cells and columns:
                    self.assertEqual(cells, columns, line)
                columns = cells


if __name__ == "__main__":
    MAKE = sys.argv.pop(1)
    unittest.main()
