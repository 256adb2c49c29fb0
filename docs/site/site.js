// Search and the menu of narrow screens. The index is a script, not JSON, so
// that it can be loaded from file://.
"use strict";
let searchIndex = null;
const root = document.currentScript.dataset.root;
const field = document.getElementById("search");
const results = document.getElementById("results");
const article = document.querySelector("article");
const RESULTS_MAX = 30;

function withIndex(next) {
  if (searchIndex) return next();
  const script = document.createElement("script");
  script.src = root + "search-index.js";
  script.onload = next;
  document.head.append(script);
}

const HISTORY = /^(CHANGELOG|bench.FIGURES)/;

// Every term must occur. A term in the heading counts more than one in the text;
// pages about the past count less than the others.
function scoreOf(entry, terms) {
  const heading = entry[2].toLowerCase(), title = entry[1].toLowerCase();
  const text = entry[3].toLowerCase();
  let score = 0;
  for (const term of terms) {
    if (heading === term) score += 40;
    else if (heading.startsWith(term)) score += 20;
    else if (heading.includes(term)) score += 12;
    else if (title.includes(term)) score += 6;
    else if (text.includes(term)) score += 2;
    else return 0;
    if (text.includes(term)) score += 1;
  }
  return HISTORY.test(entry[0]) ? score / 4 : score;
}

// Text around the first term, with all terms marked.
function snippetOf(text, terms) {
  const at = text.toLowerCase().indexOf(terms[0]);
  const begin = Math.max(0, at - 60);
  const part = (begin ? "…" : "") + text.slice(begin, begin + 180);
  const line = document.createElement("p");
  const words = terms.map((t) => t.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  part.split(new RegExp("(" + words.join("|") + ")", "i")).forEach((piece, k) => {
    if (k % 2 === 0) return line.append(piece);
    const mark = document.createElement("mark");
    mark.textContent = piece;
    line.append(mark);
  });
  return line;
}

function search() {
  const terms = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  results.hidden = terms.length === 0;
  article.hidden = !results.hidden;
  results.replaceChildren();
  if (results.hidden) return;
  const found = searchIndex.map((entry) => [scoreOf(entry, terms), entry])
    .filter(([score]) => score > 0).sort((a, b) => b[0] - a[0]);
  const count = document.createElement("p");
  count.className = "count";
  count.textContent = found.length === 0 ? "No section has all of these words."
    : found.length === 1 ? "1 section"
    : found.length > RESULTS_MAX
    ? `${found.length} sections, the best ${RESULTS_MAX}` : `${found.length} sections`;
  results.append(count);
  for (const [, [url, title, heading, text]] of found.slice(0, RESULTS_MAX)) {
    const link = document.createElement("a");
    link.href = root + url;
    link.textContent = heading === title ? title : `${title} › ${heading}`;
    link.onclick = () => { field.value = ""; search(); };
    const entry = document.createElement("div");
    entry.append(link, snippetOf(text, terms));
    results.append(entry);
  }
}

field.addEventListener("focus", () => withIndex(() => {}));
field.addEventListener("input", () => withIndex(search));
field.form.addEventListener("submit", (event) => {
  event.preventDefault();
  const first = results.querySelector("a");
  if (first) first.click();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape" && document.activeElement === field) {
    field.value = "";
    withIndex(search);
  }
});

const menu = document.getElementById("menu");
menu.addEventListener("click", () => {
  const open = document.body.classList.toggle("open");
  menu.setAttribute("aria-expanded", open);
});

const query = new URLSearchParams(location.search).get("q");
if (query) {
  field.value = query;
  withIndex(search);
}
const current = document.querySelector("nav [aria-current]");
if (current) current.scrollIntoView({ block: "nearest" });
