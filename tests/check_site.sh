#!/bin/sh
# The documentation as a site: doxygen reads the public headers without a
# warning, every link and anchor of the site leads somewhere, and a search in a
# page that is opened as a file finds a section (with Chromium).
set -eu
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
cd "${STRADS_SOURCE:-$(dirname "$0")/..}"
python=${STRADS_PYTHON:-/usr/bin/python3}

command -v doxygen >/dev/null || {
    echo "doxygen is missing (Debian: doxygen)"
    exit 1
}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

cat >"$out/links.py" <<'END'
"""Prints the dead links and anchors of a folder of pages; fails if any."""
import html.parser
import os
import sys
import urllib.parse

root = os.path.abspath(sys.argv[1])


class Reader(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        with open(path, encoding="utf-8") as page:
            self.feed(page.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name"):
                self.ids.add(value)
            elif name in ("href", "src"):
                self.links.append(value or "")


pages = {}
for folder, _, files in os.walk(root):
    for name in files:
        if name.endswith(".html"):
            path = os.path.join(folder, name)
            pages[path] = Reader(path)
wrong = links = 0
for path, page in sorted(pages.items()):
    for link in page.links:
        url = urllib.parse.urlsplit(link)
        if url.scheme or url.netloc:
            continue
        links += 1
        target = os.path.normpath(os.path.join(
            os.path.dirname(path), urllib.parse.unquote(url.path))
        ) if url.path else path
        inside = target.startswith(root + os.sep)
        anchor = urllib.parse.unquote(url.fragment)
        if not inside or not os.path.isfile(target) or (
                anchor and target in pages
                and anchor not in pages[target].ids):
            print(f"{os.path.relpath(path, root)}: {link} is dead")
            wrong += 1
if not links:
    sys.exit("there is no link to follow")
sys.exit(1 if wrong else 0)
END

# The check itself: one good page, then one dead link, then one dead anchor.
mkdir "$out/planted"
for body in '<a href="#here" id="here">' '<a href="no.html">' \
    '<a href="page.html#no">' '<img src="no.png">' '<a href="../links.py">'; do
    printf '%s' "$body" >"$out/planted/page.html"
    found=0
    "$python" "$out/links.py" "$out/planted" >/dev/null || found=1
    case $body in
    *here*) wanted=0 ;;
    *) wanted=1 ;;
    esac
    [ $found -eq $wanted ] || {
        echo "the check of links misjudges $body"
        exit 1
    }
done

STRADS_NO_INSTALL=1 ./dev docs "$out/site" >/dev/null
"$python" "$out/links.py" "$out/site"

for browser in chromium chromium-browser none; do
    command -v "$browser" >/dev/null && break
done
if [ "$browser" = none ]; then
    echo "NOT CHECKED: the search, for want of Chromium"
    exit 0
fi
# From a page in a folder, so that links of results are relative to it.
timeout 60 "$browser" --headless --no-sandbox --disable-gpu \
    --user-data-dir="$out/profile" --virtual-time-budget=5000 --dump-dom \
    "file://$out/site/docs/svm.html?q=strads_plan_new" >"$out/dom" 2>/dev/null
grep -q 'href="../include/strads/plan.h.html#strads_plan_new"' "$out/dom" || {
    echo "a search for strads_plan_new does not find it"
    exit 1
}
