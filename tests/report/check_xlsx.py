#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the workbooks with openpyxl: every cell against the CSV and the JSON of the same result, every fill
against its verdict. LibreOffice, where it is installed, must show the same. Then what becomes of one, and of the page and the
picture, when the disk is full.

usage: tests/report/check_xlsx.py MAKE_SAMPLE_REPORTS BIN
"""
import csv
import json
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings

import openpyxl

RED, YELLOW, GREEN, GREY = "FFFBD9DE", "FFFDF0C8", "FFE2F2EC", "FFEDEDED"
BROKEN = "FFF29AA6"  # a number beyond its limit


def fill_of(row):
    if row["verdict"] == "pass" and row["suspicious"]:
        return YELLOW
    return {"pass": GREEN, "fail": RED, "inconclusive": YELLOW, "not_compared": GREY}[row["verdict"]]


class Workbooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = pathlib.Path(cls.scratch.name)
        subprocess.run([MAKE, cls.directory], check=True)
        warnings.simplefilter("error")  # openpyxl warns of what it has to repair
        cls.books = {path.stem: openpyxl.load_workbook(path) for path in cls.directory.glob("*.xlsx")}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def rows(self, name):
        """Cells of the sheet, and the lines of the CSV and the JSON they must agree with."""
        sheet = list(self.books[name]["Rows"].rows)
        with (self.directory / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
        document = json.loads((self.directory / f"{name}.json").read_text(encoding="utf-8"))
        self.assertEqual(len(sheet), len(lines), name)
        self.assertEqual([cell.value for cell in sheet[0]], lines[0], name)
        return zip(sheet[1:], lines[1:], document["rows"]), lines[0], document

    def test_cells_agree_with_csv(self):
        self.assertGreaterEqual(len(self.books), 9)
        for name in self.books:
            rows, header, document = self.rows(name)
            metrics = set(document["run"]["metrics"])
            for cells, line, row in rows:
                for title, cell, text in zip(header, cells, line):
                    where = f"{name}, row {row['id']}, {title}"
                    if title in metrics and text == "":  # undefined: why
                        self.assertEqual(cell.value, row["undefined"].get(title), where)
                    elif isinstance(cell.value, (int, float)):
                        self.assertIn(title, metrics | {"id", "step", "rank"}, where)
                        self.assertEqual(cell.value, float(text), where)
                    elif len(text) > 32767:
                        self.assertLessEqual(len(cell.value), 32767, where)
                        self.assertTrue(cell.value.endswith(f"xx… [cut: {len(text)} characters]"), where)
                    else:
                        # This version of openpyxl leaves the code for an underscore as it is.
                        value = (cell.value or "").replace("_x005F_", "_")
                        self.assertIn(text, (value, "'" + value), where)

    def test_numbers_are_numbers(self):
        rows, header, _ = self.rows("failing")
        cells = dict(zip(header, next(rows)[0]))
        self.assertEqual(cells["cosine"].value, 0.9999987)
        self.assertEqual(cells["target_crc32"].value, "0000beef")
        rows, header, _ = self.rows("hostile")
        cells = dict(zip(header, next(rows)[0]))
        self.assertEqual([cells[m].value for m in ("cosine", "rel_euclid", "max_abs")], ["nan", "inf", "-inf"])

    def test_nothing_is_a_formula(self):
        texts = set()
        for book in self.books.values():
            for sheet in book:
                for cell in (cell for row in sheet.rows for cell in row):
                    texts.add(cell.value)
                    self.assertNotEqual(cell.data_type, "f")
                    self.assertIsNone(cell.hyperlink)
                    if isinstance(cell.value, str) and cell.value.startswith(tuple("=+-@＝＋－＠")):
                        self.assertTrue(cell.quotePrefix, cell.value)
        self.assertIn("=cmd|' /C calc'!A0", texts)

    def test_rows_are_coloured(self):
        for name in self.books:
            lines, header, document = self.rows(name)
            numbers = set(document["run"]["metrics"])
            for cells, _, row in lines:
                for title, cell in zip(header, cells):
                    is_broken = title in numbers and f"limit:{title}" in row["reasons"] and title not in row["undefined"]
                    self.assertEqual(cell.fill.fgColor.rgb, BROKEN if is_broken else fill_of(row), f"{name} {row['id']} {title}")
                    self.assertEqual(cell.font.bold, is_broken, f"{name} {row['id']} {title}")

    def test_titles_stay_in_sight(self):
        for name, book in self.books.items():
            document = json.loads((self.directory / f"{name}.json").read_text(encoding="utf-8"))
            self.assertEqual([s for s in book.sheetnames if s != "Course"],
                             ["Summary", "Findings", "Rows"] if document["findings"] else ["Summary", "Rows"], name)
            for sheet in (s for s in book if s.title != "Summary"):
                self.assertEqual(sheet.freeze_panes, "A2")
                self.assertEqual(sheet.auto_filter.ref, sheet.dimensions)

    def test_chart_of_the_error(self):
        sheet = self.books["drawn"]["Course"]
        document = json.loads((self.directory / "drawn.json").read_text(encoding="utf-8"))
        rows = [row for row in document["rows"] if row["target"]]
        self.assertEqual([cell.value for cell in sheet["B"][1:]], [row["target"]["operator"] for row in rows])
        self.assertEqual([cell.value for cell in sheet["C"][1:]], [row["metrics"]["rel_euclid"] for row in rows])
        self.assertEqual([cell.fill.fgColor.rgb for cell in sheet["A"][1:]], [fill_of(row) for row in rows])
        (chart,) = sheet._charts
        self.assertEqual([str(series.yVal.numRef.f) for series in chart.series], [f"'Course'!$C$2:$C${len(rows) + 1}"])
        self.assertEqual(chart.y_axis.scaling.logBase, 10)
        self.assertNotIn("Course", self.books["one_sided"].sheetnames)

    def test_findings(self):
        titles, finding = self.books["drawn"]["Findings"].iter_rows(values_only=True)
        said = dict(zip(titles, finding))
        self.assertEqual(said["operator"], "net/<left>")
        self.assertEqual(said["evidence"], "its inputs agree, its output does not")
        self.assertEqual(said["confidence"], 0.9)

    def test_summary_adds_up(self):
        for name, book in self.books.items():
            document = json.loads((self.directory / f"{name}.json").read_text(encoding="utf-8"))
            summary, rows = document["summary"], document["rows"]
            said = {}
            for key, value in book["Summary"].iter_rows(values_only=True):
                said.setdefault(key, value)
            verdict = "nothing compared" if summary["verdict"] == "not_compared" else summary["verdict"]
            self.assertTrue(said["verdict"].startswith(verdict + ": "), name)
            for key in ("rows", "pass", "fail", "inconclusive", "not_compared"):
                self.assertEqual(said[key.replace("_", " ")], summary[key], f"{name} {key}")
            self.assertEqual(said["profile"], document["run"]["profile"])
            for reason in {reason for row in rows for reason in row["reasons"]}:
                self.assertEqual(said[reason], sum(reason in row["reasons"] for row in rows), f"{name} {reason}")

    @unittest.skipUnless(shutil.which("soffice"), "LibreOffice is not installed (apt-get install libreoffice-calc)")
    def test_libreoffice_shows_the_same(self):
        """Read and written anew by LibreOffice: values, colours and the chart are still there, and it prints."""
        work = self.directory / "office"
        work.mkdir()
        office = ["soffice", f"-env:UserInstallation=file://{work}/profile", "--headless", "--convert-to"]
        name = "drawn"
        for kind in ("xlsx:Calc MS Excel 2007 XML", "pdf"):
            subprocess.run([*office, kind, "--outdir", work, self.directory / f"{name}.xlsx"], check=True, capture_output=True)
        self.assertTrue((work / f"{name}.pdf").read_bytes().startswith(b"%PDF-"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what LibreOffice writes
            again = openpyxl.load_workbook(work / f"{name}.xlsx")
        self.assertEqual(again.sheetnames, self.books[name].sheetnames)
        self.assertEqual(len(again["Course"]._charts), 1)
        for sheet in self.books[name]:
            for cells in sheet.rows:
                for cell in cells:
                    other = again[sheet.title][cell.coordinate]
                    where = f"{sheet.title} {cell.coordinate}"
                    if isinstance(cell.value, float):
                        self.assertAlmostEqual(other.value, cell.value, delta=1e-14 * abs(cell.value), msg=where)
                    else:
                        self.assertEqual(other.value, cell.value, where)
                    self.assertEqual(other.fill.fgColor.rgb, cell.fill.fgColor.rgb, where)
        self.nothing_is_cut(work / f"{name}.pdf", name)

    def nothing_is_cut(self, pdf, name):
        """Every text of the workbook stands whole in what LibreOffice prints."""
        if shutil.which("pdftotext") is None:
            print("skipped: whether the printed workbook is whole; pdftotext is not installed (apt-get install poppler-utils)")
            return
        printed = "".join(subprocess.run(["pdftotext", "-layout", pdf, "-"], check=True, capture_output=True, text=True).stdout.split())
        for sheet in self.books[name]:
            for cell in (cell for cells in sheet.rows for cell in cells):
                if isinstance(cell.value, str):
                    for word in cell.value.split():  # lines are broken between words, and in long ones
                        self.assertIn(word[:24], printed, f"{sheet.title} {cell.coordinate}")

    def test_pages(self):
        """On paper: landscape, titles on every page; wide tables keep the operator's name beside each part."""
        for name, book in self.books.items():
            for sheet in book:
                self.assertEqual(sheet.page_setup.orientation, "landscape", f"{name} {sheet.title}")
                self.assertEqual(bool(sheet.sheet_properties.pageSetUpPr.fitToPage), sheet.title != "Rows")
                if sheet.title != "Summary":
                    self.assertEqual(sheet.print_title_rows, "$1:$1", f"{name} {sheet.title}")
            titles = [cell.value for cell in book["Rows"][1]]
            last = openpyxl.utils.get_column_letter(titles.index("target_operator") + 1)
            self.assertEqual(book["Rows"].print_title_cols, f"$A:${last}", name)

    def test_full_disk(self):
        """Every size that a file may grow to, short of what it needs, is an error without traces."""
        work = self.directory / "work"
        work.mkdir()
        subprocess.run([BIN / "make_example_dump", "demo"], cwd=work, check=True, capture_output=True)
        compare = [BIN / "plumb", "compare", "demo/npu", "demo/golden"]
        subprocess.run([*compare, "--json", "saved.json"], cwd=work, check=False, capture_output=True)
        for name in ("result.xlsx", "result.html", "result.svg", "result.md"):
            with self.subTest(name):
                self.full_disk(work, [*compare, "-o", name], name)
                self.full_disk(work, [BIN / "plumb", "report", "saved.json", "-o", name], name)

    def full_disk(self, work, command, name):
        (work / name).unlink(missing_ok=True)

        def limited(size):
            def limit():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            return subprocess.run(command, cwd=work, capture_output=True, text=True, preexec_fn=limit)

        first = subprocess.run(command, cwd=work, capture_output=True, text=True)
        whole = (work / name).read_bytes()
        self.assertLess(first.returncode, 2, first.stderr)
        there = {path.name for path in work.iterdir()}
        slack = 200 if name.endswith(".html") else 0  # the time that it took is in it
        for size in (0, 1, 200, len(whole) // 2, len(whole) - 23 - slack, len(whole) - 1 - slack):
            done = limited(size)
            self.assertEqual(done.returncode, 2, size)
            self.assertRegex(done.stderr, rf"error: cannot write the file\n  where: {re.escape(name)}: ")
            self.assertEqual((work / name).read_bytes(), whole)
            self.assertEqual(sorted(path.name for path in work.iterdir()), sorted(there))
        self.assertEqual(limited(len(whole) + slack).returncode, first.returncode)
        (work / name).unlink()
        self.assertEqual(limited(len(whole) // 2).returncode, 2)
        self.assertEqual(sorted(path.name for path in work.iterdir()), sorted(there - {name}))


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv.pop(2)).resolve()
    MAKE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
