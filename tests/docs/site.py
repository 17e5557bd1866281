"""The built documentation site, read as a browser would: its pages, links, pictures and what they load."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import PurePosixPath
from urllib.parse import unquote, urldefrag, urlsplit

_LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "video": "src",
    "audio": "src",
    "source": "src",
    "object": "data",
}
_LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "manifest", "prefetch", "preconnect"}


class Page(HTMLParser):
    """What one HTML file says: ids, links to follow, what it loads, and its pictures."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.images = set(), [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "link" and _LOADED_LINKS & set((given.get("rel") or "").split()):
            self.loads.append(given.get("href", ""))
        if tag in _LOADS and given.get(_LOADS[tag]):
            self.loads.append(given[_LOADS[tag]])
        if tag == "img":
            self.images.append(given)
        self.loads += re.findall(r"url\(([^)]+)\)", given.get("style") or "")


def read(folder):
    """Path in the site -> Page of every HTML file."""
    return {
        path.relative_to(folder).as_posix(): Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")
    }


def is_outside(address):
    """Whether an address leads to another machine; data: and the page itself do not."""
    parts = urlsplit(address.strip(" \"'"))
    return bool(parts.netloc) or parts.scheme not in ("", "data", "mailto")


def target(page, address):
    """(path in the site, id) that a link on a page leads to."""
    path, fragment = urldefrag(address)
    if not path:
        return page, unquote(fragment)
    whole = []
    for part in (PurePosixPath(page).parent / unquote(path)).parts:
        whole = whole[:-1] if part == ".." else [*whole, part]
    return "/".join(whole), unquote(fragment)


def broken(folder, pages):
    """Sentences about links that lead nowhere."""
    found = []
    for name, page in pages.items():
        for address in page.links:
            if is_outside(address) or address.startswith("mailto:"):
                continue
            path, fragment = target(name, address)
            if not (folder / path).is_file():
                found.append(f"{name}: {address} leads to no file")
            elif fragment and path in pages and fragment not in pages[path].ids:
                found.append(f"{name}: {address} leads to no place in {path}")
    return found


def reachable(pages):
    """Pages that links lead to from the first one, or that are shown in a frame of such a page."""
    observed, open_ = set(), ["index.html"]
    while open_:
        name = open_.pop()
        if name in observed or name not in pages:
            continue
        observed.add(name)
        ways = [*pages[name].links, *pages[name].loads]
        open_ += [target(name, address)[0] for address in ways if not is_outside(address)]
    return observed
