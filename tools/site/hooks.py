# SPDX-License-Identifier: Apache-2.0
"""What mkdocs does not do by itself for our site.

- Files of the clone outside of docs/ that a page links to (CONTRIBUTING.md, an example) become part of the site, and the
  links lead there: the same Markdown works on a code host and here.
- Search works when a page is opened from disk, where a browser lets no script read another file: index and worker
  are written once more as a script (theme/main.html loads it only there).
"""
import json
import os
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^ *(`{3,}|~{3,})")
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "examples/README.md")  # outside of docs/, and in the navigation


def _root(config):
    return pathlib.Path(config["config_file_path"]).resolve().parent


def _path_in_clone(file, root):
    return pathlib.Path(file.abs_src_path).resolve().relative_to(root).as_posix()


def _prose_lines(text):
    """(line, whether it is outside of fenced blocks) for all lines."""
    fence = None
    for line in text.split("\n"):
        mark = FENCE.match(line)
        if mark and fence is None:
            fence = mark.group(1)
            yield line, False
        elif fence is not None:
            yield line, False
            if line.strip() == fence:
                fence = None
        else:
            yield line, True


def _target_in_clone(link, path):
    """What a link of a document leads to, both as paths from the clone's root; None if that is elsewhere."""
    if ":" in link or link.startswith("/"):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    return None if target.startswith("..") else target


def _outside_links(path, root):
    """Files of the clone outside of docs/ that a document links to; docs/index.md takes the place of README.md."""
    for line, prose in _prose_lines((root / path).read_text(encoding="utf-8")):
        for _, link, _ in LINK.findall(line) if prose else ():
            target = _target_in_clone(link, path)
            if target and target != "README.md" and not target.startswith("docs/") and (root / target).is_file():
                yield target


def on_files(files, config):
    root = _root(config)
    to_read = [_path_in_clone(file, root) for file in files.documentation_pages()] + list(PAGES)
    wanted = set(PAGES)
    while to_read:
        for target in _outside_links(to_read.pop(), root):
            if target not in wanted:
                wanted.add(target)
                if target.endswith(".md"):
                    to_read.append(target)
    for name in sorted(wanted):
        files.append(File(name, str(root), config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown, page, config, files):
    root = _root(config)
    path, here = _path_in_clone(page.file, root), posixpath.dirname(page.file.src_uri)

    def moved(match):
        before, link, rest = match.groups()
        target = _target_in_clone(link, path)
        if target is None or not (root / target).is_file():
            return match.group()
        place = "index.md" if target == "README.md" else target.removeprefix("docs/")
        return before + posixpath.relpath(place, here or ".") + rest

    return "\n".join(LINK.sub(moved, line) if prose else line for line, prose in _prose_lines(markdown))


def on_post_build(config):
    site = pathlib.Path(config["site_dir"])
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    (worker,) = site.glob("assets/javascripts/workers/search.*.min.js")
    code = json.dumps(worker.read_text(encoding="utf-8"))
    (site / "search/from_disk.js").write_text(
        f"var __search = {{index: Promise.resolve({json.dumps(index)}),\n"
        f"  worker: URL.createObjectURL(new Blob([{code}], {{type: 'text/javascript'}}))}};\n",
        encoding="utf-8",
    )
    for name in ("sitemap.xml", "sitemap.xml.gz"):  # without the site's address they say nothing
        if (site / name).exists():
            os.remove(site / name)
