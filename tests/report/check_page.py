#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the report page with other people's parsers: its blocks unpack, its columns say cell by cell what
the JSON of the same run says, and no name becomes a tag.

usage: tests/report/check_page.py MAKE_SAMPLE_REPORTS
"""
import base64
import gzip
import html.parser
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

VERDICTS = ["pass", "fail", "inconclusive", "not_compared"]
TYPES = {"f64": "d", "f32": "f", "i32": "i", "u8": "B", "text": "I"}


class Page(html.parser.HTMLParser):
    """The blocks of data by their id, and every tag."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.blocks, self.attributes, self.id = [], {}, {}, None
        self.feed(path.read_text(encoding="utf-8"))
        self.head = json.loads(self.blocks["plumb-head"])
        self.texts = json.loads(self.blocks["plumb-texts"])
        self.columns = {c["name"]: self.column(c) for c in self.head["columns"]}

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        name = dict(attrs).get("id", "")
        self.id = name if name.startswith("plumb-") and tag == "script" else None
        if self.id:
            self.attributes[self.id] = dict(attrs)

    def handle_endtag(self, tag):
        self.id = None

    def handle_data(self, data):
        if self.id:
            self.blocks[self.id] = gzip.decompress(base64.b64decode(data, validate=True))

    def column(self, description):
        offset, count = description["offset"], description["count"]
        assert offset % 8 == 0
        values = struct.unpack_from(f"<{count}{TYPES[description['type']]}", self.blocks["plumb-columns"], offset)
        return [self.texts[v] for v in values] if description["type"] == "text" else list(values)


def number(value):
    """A number of the JSON; NaN for what has none."""
    return float(value) if value not in (None, "nan") else math.nan


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        directory = pathlib.Path(cls.scratch.name)
        subprocess.run([MAKE, directory], check=True)
        cls.pages = {path.stem: Page(path) for path in directory.glob("*.html")}
        cls.documents = {name: json.loads((directory / f"{name}.json").read_text(encoding="utf-8")) for name in cls.pages}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def same(self, column, expected):
        """Equal, NaN included."""
        self.assertEqual(len(column), len(expected))
        for got, want in zip(column, expected):
            if isinstance(want, float) and math.isnan(want):
                self.assertTrue(math.isnan(got))
            else:
                self.assertEqual(got, want)

    def test_head_is_that_of_the_result(self):
        for name, page in self.pages.items():
            document = self.documents[name]
            self.assertEqual(page.head["schema"], "plumb.page/1")
            for member in ("tool", "run", "summary", "samples", "accuracy", "findings", "baseline"):
                self.assertEqual(page.head.get(member), document.get(member), (name, member))
            self.assertEqual(page.head["rows"], len(document["rows"]))
            self.assertEqual([m["name"] for m in page.head["metrics"]], document["run"]["metrics"])
            self.assertEqual(page.head["profile"]["limits"], document["run"].get("limits", []))

    def test_rows_say_what_the_result_says(self):
        for name, page in self.pages.items():
            rows, columns = self.documents[name]["rows"], page.columns
            with self.subTest(name):
                self.assertEqual(columns["row.id"], [row["id"] for row in rows])
                self.assertEqual(columns["row.index"], [row["index"] for row in rows])
                for member in ("step", "rank"):
                    self.assertEqual(columns[f"row.{member}"], [-1 if row[member] is None else row[member] for row in rows])
                self.assertEqual([VERDICTS[v] for v in columns["row.verdict"]], [row["verdict"] for row in rows])
                self.assertEqual(columns["row.suspicious"], [row["suspicious"] for row in rows])
                self.assertEqual(columns["row.output"], [row.get("model_output", False) for row in rows])
                for got, row in zip(columns["row.node"], rows):
                    if row["target"] is not None:  # others are stumps beside the network
                        self.assertEqual(got, row.get("node", -1))
                self.assertEqual(columns["row.reasons"], [", ".join(row["reasons"]) for row in rows])
                for member in ("message", "hint"):
                    self.assertEqual(columns[f"row.{member}"], [row[member] for row in rows])
                for side in ("target", "golden"):
                    self.assertEqual(columns[f"row.has_{side}"], [row[side] is not None for row in rows])
                    for member in ("operator", "type", "slot", "dtype", "layout", "file"):
                        self.assertEqual(columns[f"row.{side}.{member}"], [(row[side] or {member: ""})[member] for row in rows])
                    shapes = [(row[side] or {"shape": None})["shape"] for row in rows]
                    self.assertEqual(columns[f"row.{side}.shape"], ["" if s is None else "×".join(map(str, s)) for s in shapes])
                own = [row.get("own_error", {"value": None, "inherited": None}) for row in rows]
                self.same(columns["row.own"], [number(o["value"]) for o in own])
                self.same(columns["row.inherited"], [number(o["inherited"]) for o in own])
                for metric in self.documents[name]["run"]["metrics"]:
                    values = [row["metrics"].get(metric) for row in rows]
                    as_hex = metric.endswith("crc32")
                    expected = [float(int(v, 16)) if as_hex and isinstance(v, str) else number(v) for v in values]
                    self.same(columns[f"metric.{metric}"], expected)
                    reasons = [row["undefined"].get(metric, "") for row in rows]
                    self.assertEqual(columns.get(f"undefined.{metric}", [""] * len(rows)), reasons)

    def test_baseline_and_roles(self):
        worse = self.pages["worse"].columns
        self.assertEqual(worse["row.baseline"], [1, 2, 3, 1])  # conv3's change is of another graph
        drawn = self.pages["drawn"].columns
        self.assertEqual(drawn["row.role"], [0, 0, 1, 0, 2, 2, 0])

    def test_limit_is_that_of_most_rows(self):
        metrics = {m["name"]: m for m in self.pages["drawn"].head["metrics"]}
        self.assertEqual(metrics["cosine"], {"name": "cosine", "better": "higher", "limit": 0.9995})
        self.assertIsNone(metrics["max_abs"]["limit"])
        self.assertEqual(metrics["target_nan"]["better"], "none")

    def test_details_are_those_of_the_result(self):
        for name, page in self.pages.items():
            expected = {row["id"]: row["details"] for row in self.documents[name]["rows"] if "details" in row}
            found = {}
            for chunk in range(page.head["details"]["chunks"]):
                block = json.loads(page.blocks[f"plumb-details-{chunk}"])
                limits = page.attributes[f"plumb-details-{chunk}"]
                self.assertEqual([int(limits["data-first"]), int(limits["data-last"])], [block["rows"][0], block["rows"][-1]])
                found.update(zip(block["rows"], block["details"]))
            self.assertEqual(found, expected, name)
            self.assertEqual(page.head["details"]["rows"], len(expected))
        self.assertIn("were not collected", self.pages["passing"].head["details"]["note"])
        self.assertEqual(self.pages["one_sided"].head["details"]["note"], "")
        # What most rows lost altogether is said, too.
        compared = sum(row["verdict"] != "not_compared" for row in self.documents["drawn"]["rows"])
        self.assertEqual(
            self.pages["drawn"].head["details"]["note"],
            f"Of {compared} compared tensors, 2 keep histograms and worst elements, 1 also heat maps and errors by channel: "
            "those that fail, are near a limit or have the largest errors.",
        )

    def test_names_are_no_tags(self):
        data = [t for t in self.pages["empty"].tags]
        for name, page in self.pages.items():
            chunks = page.head["details"]["chunks"]
            self.assertEqual(sorted(page.tags), sorted(data + ["script"] * chunks), name)


class Pictures(unittest.TestCase):
    def test_pictures_are_xml_without_anything_active(self):
        with tempfile.TemporaryDirectory() as scratch:
            directory = pathlib.Path(scratch)
            subprocess.run([MAKE, directory], check=True)
            for path in directory.glob("*.svg"):
                root = xml.etree.ElementTree.parse(path).getroot()
                tags = {element.tag.rpartition("}")[2] for element in root.iter()}
                self.assertLessEqual(tags, {"svg", "style", "rect", "text", "title", "path", "circle", "g"}, path.name)
                for element in root.iter():
                    self.assertFalse([name for name in element.attrib if name.startswith("on") or "href" in name], path.name)
            names = [e.text for e in xml.etree.ElementTree.parse(directory / "drawn.svg").iter() if e.tag.endswith("title")]
            self.assertIn("net/<left>", names)
            self.assertEqual(len(names), 7)
            elements = list(xml.etree.ElementTree.parse(directory / "drawn.svg").iter())
            of_class = lambda name: [e for e in elements if name in e.get("class", "").split()]  # noqa: E731
            self.assertTrue(of_class("title")[0].text.startswith("fail: net/<left>: "))  # who and why come first
            self.assertIn("net/<left>", of_class("culprit")[0].text)
            self.assertEqual(len(of_class("spot")), 1)


if __name__ == "__main__":
    MAKE = sys.argv.pop(1)
    unittest.main()
