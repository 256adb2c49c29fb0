#!/usr/bin/env python3
"""Builds the documentation as a site of static files: site.py SOURCE OUTPUT XML.

Pages are the Markdown files of `NAV` and every file that they link to. The API
reference shows include/strads; XML is doxygen's output for it, which lists the
symbols. Links and search work from file:// and from any web server."""

import html
import json
import os
import posixpath
import re
import shutil
import sys
import xml.etree.ElementTree as tree

NAV = [
    ("Start", [
        ("Overview", "README.md"), ("Choose a program", "docs/choosing.md"),
        ("Gallery", "docs/gallery/README.md"), ("Python", "docs/python.md"),
        ("R", "docs/r.md"), ("C", "docs/c.md"),
        ("Comparison", "docs/comparison.md"),
        ("Platforms", "docs/platforms.md")]),
    ("Programs", [
        ("Lasso, elastic net", "docs/lasso.md"),
        ("Losses and penalties", "docs/glm.md"),
        ("Logistic regression", "docs/logistic.md"),
        ("Stochastic gradients", "docs/sgd-logistic.md"),
        ("Support vector machines", "docs/svm.md"),
        ("Topic models", "docs/lda.md"),
        ("Roles of a network", "docs/roles.md"),
        ("Matrix factorisation", "docs/mf.md"),
        ("Factorisation machines", "docs/fm.md"),
        ("Neural networks", "docs/net.md")]),
    ("Run", [
        ("Command line", "docs/command.md"), ("Tables and texts", "docs/tables.md"),
        ("Packed files", "docs/pack-format.md"),
        ("Several machines", "docs/operations.md"),
        ("Watch a run", "docs/watching.md"), ("Security", "docs/security.md"),
        ("Simulate a run", "docs/simulation.md")]),
    ("Write a program", [
        ("Tutorial", "docs/writing-a-program.md"),
        ("Examples", "examples/README.md"), ("API reference", "include/strads/"),
        ("Plans", "docs/static-engine.md")]),
    ("The engine", [
        ("Architecture", "docs/architecture.md"),
        ("Consistency", "docs/consistency.md"),
        ("Wire format", "docs/wire-format.md"), ("Papers", "docs/papers.md"),
        ("Reproduction", "docs/reproduction.html"),
        ("Measurements", "bench/FIGURES.md")]),
    ("Project", [
        ("All pages", "docs/README.md"), ("Changes", "CHANGELOG.md"),
        ("Contribute", "CONTRIBUTING.md"), ("Report a weakness", "SECURITY.md"),
        ("Code of conduct", "CODE_OF_CONDUCT.md")]),
]
API = "include/strads/"


def escape(text):
    return html.escape(text, quote=False)


# ---- paths ------------------------------------------------------------------

def target_of(path):
    """The page that shows a file or folder of the tree."""
    if path == "README.md":
        return "index.html"
    if path.endswith("/"):
        return path + "index.html"
    if posixpath.basename(path) == "README.md":
        return posixpath.dirname(path) + "/index.html"
    if path.endswith(".md"):
        return path[:-3] + ".html"
    if re.search(r"\.(png|svg|html)$", path):
        return path
    return path + ".html"


def relative(page, target):
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


# ---- Markdown ---------------------------------------------------------------

ITEM = re.compile(r"( {0,3})([-*+]|\d+\.)( +)(?=\S)")
RULE = re.compile(r"\|?[ :|-]*-[ :|-]*\|?$")
FENCE = re.compile(r" {0,3}(```+)\s*(\w*)")


def starts_block(lines, k):
    line = lines[k]
    return (FENCE.match(line) or re.match(r"#{1,6} ", line) or ITEM.match(line)
            or is_table(lines, k))


def is_table(lines, k):
    return ("|" in lines[k] and k + 1 < len(lines) and "|" in lines[k + 1]
            and RULE.match(lines[k + 1].strip()) is not None)


def cells_of(line):
    line = re.sub(r"^\||\|$", "", line.strip())
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)]


class Page:
    """Markdown of one file as HTML; collects headings and texts for search."""

    def __init__(self, site, path, text):
        self.site, self.path, self.page = site, path, target_of(path)
        self.slugs, self.headings, self.sections = {}, [], []
        lines = text.split("\n")
        self.references = {}
        for line in lines:
            found = re.match(r"\[([^\]]+)\]: (\S+)$", line)
            if found:
                self.references[found[1].lower()] = found[2]
        lines = [l for l in lines if not re.match(r"\[[^\]]+\]: \S+$", l)]
        self.body = self.blocks(lines)
        self.title = self.headings[0][2] if self.headings else path

    def slug(self, text):
        """GitHub's anchor of a heading."""
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        seen = self.slugs[slug] = self.slugs.get(slug, -1) + 1
        return f"{slug}-{seen}" if seen else slug

    def note(self, text):
        """Adds a text to the search index, without its markup."""
        if self.sections:
            text = re.sub(r"!?\[([^\]]*)\]\([^)\s]+\)", r"\1", text)
            self.sections[-1][2].append(re.sub(r"`|\*\*", "", text))

    def heading(self, level, text):
        plain = re.sub(r"<[^>]*>", "", self.inline(text))
        slug = self.slug(html.unescape(plain))
        self.headings.append((level, slug, html.unescape(plain)))
        self.sections.append((slug, html.unescape(plain), []))
        return (f'<h{level} id="{slug}">{self.inline(text)}'
                f'<a class="anchor" href="#{slug}" aria-label="Link">#</a>'
                f"</h{level}>")

    def blocks(self, lines):
        out, k = [], 0
        while k < len(lines):
            line = lines[k]
            fence, item = FENCE.match(line), ITEM.match(line)
            heading = re.match(r"(#{1,6}) (.*?)\s*#*$", line)
            if not line.strip():
                k += 1
            elif fence:
                end = k + 1
                while end < len(lines) and fence[1] not in lines[end]:
                    end += 1
                out.append(self.code(lines[k + 1:end], fence[2]))
                k = end + 1
            elif heading:
                out.append(self.heading(len(heading[1]), heading[2]))
                k += 1
            elif is_table(lines, k):
                end = k + 2
                while end < len(lines) and "|" in lines[end]:
                    end += 1
                out.append(self.table(lines[k:end]))
                k = end
            elif item:
                k = self.list(lines, k, out)
            elif line.startswith("    "):
                end = k
                while end < len(lines) and (lines[end].startswith("    ")
                                            or not lines[end].strip()):
                    end += 1
                out.append(self.code([l[4:] for l in lines[k:end]], ""))
                k = end
            else:
                end = k + 1
                while (end < len(lines) and lines[end].strip()
                       and not starts_block(lines, end)):
                    end += 1
                text = " ".join(l.strip() for l in lines[k:end])
                self.note(text)
                out.append(f"<p>{self.inline(text)}</p>")
                k = end
        return "\n".join(out)

    def code(self, lines, language):
        text = "\n".join(lines).rstrip()
        self.note(text)
        shown = c_code(text, self) if language == "c" else escape(text)
        return f'<pre tabindex="0"><code>{shown}</code></pre>'

    def table(self, lines):
        head, rows = cells_of(lines[0]), [cells_of(l) for l in lines[2:]]
        parts = ['<div class="table"><table>']
        if any(head):
            parts.append("<thead><tr>" + "".join(
                f"<th>{self.inline(c)}</th>" for c in head) + "</tr></thead>")
        parts.append("<tbody>")
        for row in rows:
            self.note(" ".join(row))
            parts.append("<tr>" + "".join(
                f"<td>{self.inline(c)}</td>" for c in row) + "</tr>")
        return "".join(parts) + "</tbody></table></div>"

    def list(self, lines, k, out):
        first = ITEM.match(lines[k])
        ordered = first[2][0].isdigit()
        items, loose = [], False
        while k < len(lines):
            item = ITEM.match(lines[k])
            if not item or item[2][0].isdigit() != ordered:
                break
            deep = len(item[0])
            part, k = [lines[k][deep:]], k + 1
            while k < len(lines):
                line = lines[k]
                indent = len(line) - len(line.lstrip())
                if not line.strip():
                    following = [l for l in lines[k:] if l.strip()][:1]
                    if not following or not following[0].startswith(" " * deep):
                        break
                elif indent < deep and (starts_block(lines, k)
                                        or not part[-1].strip()):
                    break
                part.append(line[min(indent, deep):])
                k += 1
            loose = loose or any(not l.strip() for l in part[:-1])
            items.append(self.blocks(part))
            blank = k
            while blank < len(lines) and not lines[blank].strip():
                blank += 1
            if blank < len(lines) and blank > k and ITEM.match(lines[blank]):
                loose, k = True, blank
        if not loose:
            items = [re.sub(r"^<p>(.*?)</p>", r"\1", i, count=1, flags=re.S)
                     for i in items]
        tag = "ol" if ordered else "ul"
        out.append(f"<{tag}>" + "".join(f"<li>{i}</li>" for i in items)
                   + f"</{tag}>")
        return k

    def inline(self, text):
        kept = []

        def keep(markup):
            kept.append(markup)
            return f"\0{len(kept) - 1}\0"

        def code(match):
            span = match[2].strip()
            url = self.site.symbol(self.page, re.sub(r"\(\)$", "", span))
            short = ' class="short"' if len(span) <= 24 else ""
            shown = f"<code{short}>{escape(span)}</code>"
            return keep(f'<a href="{url}">{shown}</a>' if url else shown)

        def image(match):
            return keep(f'<img src="{self.link(match[2])}" loading="lazy" '
                        f'alt="{html.escape(match[1])}">')

        def link(match):
            return (keep(f'<a href="{self.link(match[2])}">') + match[1]
                    + keep("</a>"))

        def reference(match):
            url = self.references.get(match[1].lower())
            return link((None, match[1], url)) if url else match[0]

        text = re.sub(r"(`+)(.+?)\1", code, text)
        text = re.sub(r"\\([\\`*_{}\[\]()#+.!|<>-])", lambda m: keep(escape(m[1])),
                      text)
        text = re.sub(r"<(https?://[^>]+)>",
                      lambda m: link((None, m[1], m[1])), text)
        text = re.sub(r"!\[([^\]]*)\]\(([^)\s]+)\)", image, text)
        text = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", link, text)
        text = re.sub(r"\[([^\]\[]+)\](?!\()", reference, text)
        text = re.sub(r"&(?!#?\w+;)", "&amp;", text)
        text = text.replace("<", "&lt;").replace(">", "&gt;")
        text = self.site.mentions(self.page, text, keep)
        text = re.sub(r"\*\*(\S(?:.*?\S)?)\*\*", r"<strong>\1</strong>", text)
        text = re.sub(r"(?<![\w*])\*(\S(?:[^*]*?\S)?)\*(?![\w*])",
                      r"<em>\1</em>", text)
        while "\0" in text:
            text = re.sub(r"\0(\d+)\0", lambda m: kept[int(m[1])], text)
        return text

    def link(self, url):
        if re.match(r"[a-z]+:|#", url):
            return html.escape(url)
        path, _, anchor = url.partition("#")
        folder = posixpath.dirname(self.path)
        at = posixpath.normpath(posixpath.join(folder, path))
        if os.path.isdir(os.path.join(self.site.source, at)):
            at = at + "/README.md" if at != "." else "README.md"
        target = self.site.need(at, self.path)
        return relative(self.page, target) + (f"#{anchor}" if anchor else "")


# ---- C ----------------------------------------------------------------------

C_TOKEN = re.compile(
    r'(/\*.*?\*/|//[^\n]*)|("(?:\\.|[^"\\\n])*"|<[\w/.]+\.h>)|'
    r"(^[ \t]*#[ \t]*\w+)|"
    r"\b(bool|break|case|char|const|double|else|enum|extern|float|for|if|"
    r"inline|int|return|sizeof|static|struct|switch|typedef|union|unsigned|"
    r"void|while|u?int\d+_t|size_t)\b|\b([A-Za-z_]\w+)\b", re.S | re.M)


def c_code(text, page):
    """C with spans for comments, strings and words, and links to symbols."""
    out, at = [], 0
    for token in C_TOKEN.finditer(text):
        out.append(escape(text[at:token.start()]))
        at, shown = token.end(), escape(token[0])
        kind = ("c", "s", "k", "k", None)[token.lastindex - 1]
        if kind:
            shown = f'<span class="{kind}">{shown}</span>'
        else:
            url = page.site.symbol(page.page, token[0])
            shown = f'<a href="{url}">{shown}</a>' if url else shown
        out.append(shown)
    return "".join(out) + escape(text[at:])


# The include guard, and the frame for C++.
FRAME = re.compile(r"#ifndef \w+_H\n#define \w+_H\n|#ifdef __cplusplus\n"
                   r"(?:extern \"C\" \{|\})\n#endif\n?|#endif\s*\Z")


class Header:
    """A public header: comments at column 0 as prose, the rest as code."""

    def __init__(self, site, path, text):
        self.site, self.path, self.page = site, path, target_of(path)
        self.headings, self.sections, self.names = [], [], []
        name = path[len("include/"):]
        self.title = name
        symbols = dict(site.lines.get(path, {}))
        body, code, line = [], [], 0
        lines = text.split("\n")
        self.sections.append(("", name, []))

        def flush():
            shown = FRAME.sub("", "\n".join(code)).strip("\n")
            first = line - len(code)
            code.clear()
            if not shown:
                return
            ids = [n for k in range(first, line + 1) for n in symbols.pop(k, [])]
            marks = "".join(f'<span id="{n}"></span>' for n in ids)
            for n in ids:
                self.names.append(n)
                self.sections.append((n, n, [shown]))
            body.append(f'{marks}<pre tabindex="0"><code>{c_code(shown, self)}'
                        "</code></pre>")

        while line < len(lines):
            ruler = re.match(r"/\* -{4} (.*?) -* ?\*/$", lines[line])
            if ruler:
                flush()
                slug = re.sub(r"\W+", "-", ruler[1].lower()).strip("-")
                title = ruler[1][0].upper() + ruler[1][1:]
                self.headings.append((2, slug, title))
                body.append(f'<h2 id="{slug}">{escape(title)}</h2>')
                line += 1
            elif lines[line].startswith("/* "):
                flush()
                end = line
                while not lines[end].rstrip().endswith("*/"):
                    end += 1
                body.append(self.prose(lines[line:end + 1], name))
                line = end + 1
            else:
                code.append(lines[line])
                line += 1
        flush()
        index = "".join(f'<li><a href="#{n}"><code>{n}</code></a></li>'
                        for n in self.names)
        if self.names:
            index = f'<details><summary>Index of {len(self.names)} names</summary>' \
                    f'<ul class="names">{index}</ul></details>'
        self.body = (f"<h1>{escape(name)}</h1>" + body[0] + index
                     + "\n".join(body[1:]))

    def prose(self, lines, name):
        text = "\n".join(lines)[2:].rstrip()[:-2]
        lines = [re.sub(r"^ \*( |$)", "", l) for l in text.split("\n")]
        lines[0] = lines[0].strip()
        lines[0] = re.sub(r"^strads/\w+\.h - (.)", lambda m: m[1].upper(),
                          lines[0])
        out, k = [], 0
        while k < len(lines):
            deep = lines[k].startswith("   ")
            end = k
            while end < len(lines) and lines[end].strip() and (
                    lines[end].startswith("   ") == deep):
                end += 1
            part = lines[k:end]
            if deep:
                out.append("<pre><code>%s</code></pre>" % c_code(
                    "\n".join(l[4:] if l.startswith("    ") else l
                              for l in part), self))
            elif part:
                shown = self.site.mentions(
                    self.page, escape(" ".join(l.strip() for l in part)))
                shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", shown)
                out.append(f"<p>{shown}</p>")
            self.sections[-1][2].append(" ".join(part))
            k = max(end, k + 1)
        return "\n".join(out)


# ---- the site ---------------------------------------------------------------

class Site:
    def __init__(self, source, output, xml):
        self.source, self.output = source, output
        self.queue, self.done, self.broken = [], {}, []
        self.symbols, self.lines, self.index = {}, {}, []
        self.groups = NAV
        self.template = self.read("docs/site/template.html")
        self.read_symbols(xml)

    def read(self, path):
        with open(os.path.join(self.source, path), encoding="utf-8") as f:
            return f.read()

    def read_symbols(self, xml):
        """Where each public symbol is declared, by doxygen."""
        for name in sorted(os.listdir(xml)):
            if not re.match(r"(\w+_8h|struct\w+)\.xml$", name):
                continue
            compound = tree.parse(os.path.join(xml, name)).find("compounddef")
            if compound.get("kind") == "struct":
                self.add_symbol(compound.findtext("compoundname"),
                                compound.find("location"))
                continue
            for member in compound.iter("memberdef"):
                self.add_symbol(member.findtext("name"), member.find("location"))
                for value in member.iter("enumvalue"):
                    self.symbols.setdefault(value.findtext("name"), (
                        self.header_of(member.find("location")),
                        member.findtext("name")))

    def header_of(self, location):
        file = location.get("file")
        return file[file.index(API):]

    def add_symbol(self, name, location):
        if not re.match(r"(?i)strads_\w", name) or name in self.symbols:
            return
        header = self.header_of(location)
        self.symbols[name] = (header, name)
        self.lines.setdefault(header, {}).setdefault(
            int(location.get("line")) - 1, []).append(name)

    def symbol(self, page, name):
        """The address of a public symbol or header, from a page."""
        header = API + re.sub(r"^(include/)?strads/", "", name)
        if name.endswith(".h") and header in self.done:
            return relative(page, target_of(header))
        if name not in self.symbols:
            return None
        header, anchor = self.symbols[name]
        target = target_of(header)
        return ("" if target == page else relative(page, target)) + "#" + anchor

    def mentions(self, page, text, keep=lambda markup: markup):
        """Links the symbols and pages that a text names."""
        def found(match):
            name = match[0]
            if name.startswith("docs/") or name.startswith("bench/"):
                if not os.path.exists(os.path.join(self.source, name)):
                    return name
                url = relative(page, self.need(name, page))
            else:
                url = self.symbol(page, name)
            return (keep(f'<a href="{url}">') + name + keep("</a>")
                    if url else name)
        return re.sub(r"\b(?:docs|bench)/[A-Za-z-]+\.(?:md|html)\b|"
                      r"\b(?:strads|STRADS)_\w+\b", found, text)

    def need(self, path, user):
        """Makes sure that a file of the tree is in the site."""
        if path not in self.done:
            self.done[path] = target_of(path)
            if os.path.isfile(os.path.join(self.source, path)):
                self.queue.append(path)
            else:
                self.broken.append(f"{user}: there is no {path}")
        return self.done[path]

    def write(self, page, text):
        at = os.path.join(self.output, page)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        with open(at, "w", encoding="utf-8") as f:
            f.write(text)

    def navigation(self, page):
        parts = []
        for title, entries in self.groups:
            parts.append(f"<h2>{title}</h2><ul>")
            for label, path in entries:
                target = target_of(path)
                here = ' aria-current="page"' if target == page else ""
                parts.append(f'<li><a href="{relative(page, target)}"{here}>'
                             f"{label}</a></li>")
            parts.append("</ul>")
        return "".join(parts)

    def put(self, p, source=None):
        """Writes a page, and adds its sections to the search index."""
        contents = [h for h in p.headings if h[0] == 2]
        outline = ""
        if len(contents) > 1:
            outline = "<h2>On this page</h2><ul>" + "".join(
                f'<li><a href="#{slug}">{escape(text)}</a></li>'
                for _, slug, text in contents) + "</ul>"
        values = {
            "title": escape(p.title),
            "root": relative(p.page, ".") + "/" if "/" in p.page else "",
            "navigation": self.navigation(p.page), "outline": outline,
            "source": escape(p.path), "body": p.body}
        self.write(p.page, re.sub(r"\{\{(\w+)\}\}", lambda m: values[m[1]],
                                  self.template))
        for slug, heading, texts in p.sections:
            self.index.append([p.page + (f"#{slug}" if slug else ""), p.title,
                               heading, re.sub(r"\s+", " ", " ".join(texts))])

    def show(self, path):
        if re.search(r"\.(png|svg|html)$", path):
            at = os.path.join(self.output, path)
            os.makedirs(os.path.dirname(at), exist_ok=True)
            shutil.copyfile(os.path.join(self.source, path), at)
        elif path.endswith(".md"):
            self.put(Page(self, path, self.read(path)))
        elif path.startswith(API):
            self.put(Header(self, path, self.read(path)))
        else:
            self.put(Source(self, path, self.read(path)))

    def build(self):
        shutil.rmtree(self.output, ignore_errors=True)
        listed = [path for _, entries in NAV for _, path in entries]
        for path in listed:
            if path != API:
                self.need(path, "the navigation")
        for folder in ("docs", "examples"):
            for at, _, files in sorted(os.walk(os.path.join(self.source, folder))):
                at = os.path.relpath(at, self.source)
                if "README.md" in files and at not in ("docs/site", "docs/images"):
                    self.need(f"{at}/README.md", "the navigation")
        more = []
        for name in sorted(os.listdir(os.path.join(self.source, "docs"))):
            if name.endswith(".md") and f"docs/{name}" not in listed:
                title = re.match(r"# (.*)", self.read(f"docs/{name}"))[1]
                more.append((title, f"docs/{name}"))
        if more:
            self.groups = NAV + [("More", more)]
        headers = sorted(path for path in os.listdir(
            os.path.join(self.source, API)) if path.endswith(".h"))
        for name in headers:
            self.need(API + name, "the navigation")
        self.need(API + "README.md", "the navigation")
        while self.queue:
            self.show(self.queue.pop(0))
        self.index.sort(key=lambda entry: entry[0])
        self.write("search-index.js", "searchIndex = " + json.dumps(
            self.index, ensure_ascii=False, separators=(",", ":")) + ";\n")
        for name in ("site.css", "site.js"):
            shutil.copyfile(os.path.join(self.source, "docs/site", name),
                            os.path.join(self.output, name))
        return self.broken


class Source:
    """A file that a page links to, as it is."""

    def __init__(self, site, path, text):
        self.site, self.path, self.page, self.title = (
            site, path, target_of(path), path)
        self.headings, self.sections = [], [("", path, [])]
        shown = c_code(text, self) if re.search(r"\.[ch]$", path) else escape(text)
        self.body = (f"<h1>{escape(path)}</h1>"
                     f'<pre tabindex="0"><code>{shown}</code></pre>')


def main():
    if len(sys.argv) != 4:
        sys.exit("site.py SOURCE OUTPUT XML")
    broken = Site(*sys.argv[1:]).build()
    for line in broken:
        print(line, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
