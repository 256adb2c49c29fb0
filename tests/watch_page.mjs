// Opens the page of --http in Chromium: watch_page.mjs URL FOLDER ENDS; FOLDER
// receives the pictures. ENDS: "stop" presses the button; "end" waits for the
// run's end; "big" requires that all is drawn within two seconds; "lost" requests
// in the file `lost` that the run be paused and continued; "runs" is the page of a folder
// with two runs. Errors are thrown. Start
// it in a folder with playwright-core and axe-core.
import {createRequire} from "node:module";
import {readFileSync, writeFileSync} from "node:fs";
import {performance} from "node:perf_hooks";
const need = createRequire(process.cwd() + "/");
const {chromium} = need("playwright-core");
const axe = readFileSync(need.resolve("axe-core/axe.min.js"), "utf8");

const [url, folder, ends, ...sections] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.STRADS_CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]});
const check = (ok, what) => { if (!ok) throw new Error(what); };
try {
  const errors = [];
  // axe is a separate script, which the page's policy forbids.
  const context = await browser.newContext({bypassCSP: true,
    viewport: {width: 1280, height: 900}});
  const page = await context.newPage();
  page.on("pageerror", e => errors.push(String(e)));
  page.on("console", m => { if (m.type() === "error") errors.push(m.text()); });
  page.on("request", r => check(r.url().startsWith("data:")
    || new URL(r.url()).host === new URL(url).host, "asks elsewhere: " + r.url()));

  // The best of three: other tests may have the processors for a while.
  let took = Infinity;
  for (let load = 0; load < (ends === "big" ? 3 : 1) && took >= 2000; load++) {
    const began = performance.now();
    await page.goto(url);
    await page.waitForFunction(ids => ids.every(id => {
      const data = document.querySelectorAll(`#${id} .data, #${id} td`);
      return !document.getElementById(id).hidden && data.length > 0 && [...data].every(e => e.tagName === "TD"
        || e.getAttribute("d").length > 10);
    }), sections, {timeout: 60000});
    took = performance.now() - began;
  }
  if (ends === "big") check(took < 2000, `drawn after ${took.toFixed(0)} ms`);

  const shown = id => page.evaluate(id => { const e = document.getElementById(id);
    return !!e && !e.hidden; }, id);
  if (ends === "big") { // tooltips and zoom, with the pointer and with keys
    const box = await page.locator("#objective svg").boundingBox();
    const x = share => box.x + share * box.width, y = box.y + box.height / 2;
    await page.mouse.move(x(0.5), y);
    const tip = await page.textContent("#objective .tip");
    check(/\d+ min \d+ s1\.0\d+/.test(tip), "the tooltip has " + tip);
    check(await page.locator(".cursor").count() > 3, "the cursor is not on all charts");
    await page.mouse.move(x(0.4), y);
    await page.mouse.down();
    await page.mouse.move(x(0.5), y);
    await page.mouse.move(x(0.6), y);
    await page.mouse.up();
    check(await shown("whole"), "no zoom");
    const labels = await page.$$eval("#gap svg text", all => all.map(e => e.textContent));
    check(labels.includes("8 min") && !labels.includes("2 min"), "zoom: " + labels.join());
    await page.click("#whole");
    check(!await shown("whole"), "the zoom stays");
    await page.focus("#gap svg");
    for (const key of ["ArrowLeft", "ArrowLeft", "+"]) await page.keyboard.press(key);
    check(await shown("whole"), "no zoom by +");
    await page.keyboard.press("Escape");
    check(!await shown("whole"), "no whole run by Escape");
    check(await shown("flight"), "no rounds in flight");
  }
  if (ends === "lost") // one curve once; rounds in flight where there are some
    for (const id of ["m-log_likelihood", "m-log_likelihood_per_token", "m-sweep", "flight"])
      check(!await shown(id), id + " is shown");
  if (ends === "lost") { // topics while they form: the table is updated
    const sweep = async () => +(/after sweep (\d[\d,]*)$/.exec(
      await page.textContent("#topics p")) || ["", "NaN"])[1].replace(/,/g, "");
    const first = await sweep();
    check(first >= 10, `topics after sweep ${first}`);
    await page.waitForFunction(old => !document.querySelector("#topics p").textContent.endsWith(old),
      " " + first.toLocaleString("en-US"), {timeout: 60000});
    check(await sweep() >= 2 * first, "the next topics");
  }
  const tiles = await page.textContent("#tiles");
  if (ends !== "big" && ends !== "runs") check(/memory, peak\d/.test(tiles), "no memory in " + tiles);
  if (ends === "end") check(/time left, about\d/.test(tiles), "no time left in " + tiles);
  if (ends !== "runs") check(tiles.includes(" / s"), "no rate in " + tiles);
  if (ends === "stop") { // charts update during the run
    const now = () => page.textContent("#tiles");
    const before = await now();
    await page.waitForFunction(old => document.getElementById("tiles").textContent
      !== old, before, {timeout: 20000});
  }
  for (const width of [1280, 390])
    for (const scheme of ["light", "dark"]) {
      await page.setViewportSize({width, height: 900});
      await page.emulateMedia({colorScheme: scheme});
      await page.waitForTimeout(600); // charts are redrawn for the width
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      check(wide <= width, `${width} pixels: the page is ${wide} wide`);
      await page.evaluate(axe);
      const found = await page.evaluate(() => axe.run());
      check(found.violations.length === 0, `${width} ${scheme}: ` + JSON.stringify(
        found.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 200))])));
      await page.screenshot({path: `${folder}/${ends}-${width}-${scheme}.png`,
        fullPage: true});
    }
  if (ends === "runs") { // two runs are compared; a name opens the page of a run
    const curves = () => page.locator("#by-time .data").count();
    check(await curves() === 2, `${await curves()} curves`);
    await page.uncheck("#runs tbody tr:first-child input");
    await page.waitForFunction(() => document.querySelectorAll("#by-time .data").length === 1);
    await page.click("#runs tbody tr:first-child a");
    await page.waitForSelector("#objective .data");
    check(!await shown("runs") && !await shown("ask"), "the page of one run");
    check(await page.textContent("#state") === "converged", "its state");
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run());
    check(found.violations.length === 0, JSON.stringify(found.violations));
    await page.click("#back");
    await page.waitForSelector("#by-round .data");
    check(!await shown("objective") && !await shown("now"), "a run stays");
  }
  if (ends === "stop") {
    await page.click("#ask");
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run());
    check(found.violations.length === 0, JSON.stringify(found.violations));
    await page.screenshot({path: `${folder}/dialog.png`});
    await page.click("#really");
  }
  if (ends === "lost") { // the test that pauses and continues a node reads this
    const state = word => page.waitForFunction(w => document.getElementById("state")
      .textContent.startsWith(w), word, {timeout: 60000});
    writeFileSync("lost", "stop it\n");
    await state("no report for");
    await page.screenshot({path: `${folder}/lost-silent.png`, fullPage: true});
    writeFileSync("lost", "go on\n");
    await state("running");
    writeFileSync("lost", "end it\n");
  }
  if (ends !== "big" && ends !== "runs") {
    await page.waitForFunction(() => ["stopped", "converged", "done", "stopped by "
      + "--max-rounds", "stopped by --time-limit"].includes(document.getElementById("state").textContent), null,
      {timeout: 120000});
    if (ends === "lost") await page.waitForFunction(() => /typical words$/.test(
      document.querySelector("#topics p").textContent));
    await page.screenshot({path: `${folder}/${ends}-over.png`, fullPage: true});
  }
  check(errors.length === 0, errors.join("; "));
  writeFileSync(`${folder}/${ends}.txt`, `${took.toFixed(0)} ms until all is drawn\n`);
} finally {
  await browser.close();
}
