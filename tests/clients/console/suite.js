"use strict";
// The console and a report in headless Chromium: every page, for eyes, for keyboards, for screen readers (axe), on a telephone, in the
// dark and on paper; and that none asks anything of another host.

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { Client } = require("pg");
const pages = require("../browser.js");
const { NARROW, WIDE, accessible, fits, violations } = pages;
const { failure, run, ssl } = require("../checks.js");

const CONSOLE = process.env.CONSOLE;
const REPORT = `file://${process.env.REPORT}`;
const OTHERS = process.env.OTHERS.split(":").map((file) => `file://${file}`);
const IMAGES = path.join(__dirname, "../../../docs/images");
const PAGES = ["", "statements", "policy", "streams", "kept", "connections", "incidents", "ledger"].map((p) => CONSOLE + p);

let browser;
let page;
const asked = new Set();
const wrong = [];

/** A page of a session of its own. */
const open = (viewport) => pages.open(browser, { asked, wrong }, viewport);

/** Logs in. */
async function logIn(opened, name, password = process.env.PASSWORD) {
  await opened.goto(`${CONSOLE}login`);
  await pages.logIn(opened, name, password);
}

async function what_axe_finds_is_found() {
  const broken = await browser.newPage();
  await broken.setContent("<p style='color: #ccc; background: #fff'>pale</p>");
  assert.match((await violations(broken)).join(), /color-contrast/);
  await broken.close();
}

const focused = (opened) =>
  opened.evaluate(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
    const { left, top, right, bottom } = document.activeElement.getBoundingClientRect();
    const seen = right > 0 && bottom > 0 && left < innerWidth && top < innerHeight;
    return {
      text: document.activeElement.textContent.trim(),
      tag: document.activeElement.tagName,
      id: document.activeElement.id,
      marked: outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 2,
      seen,
    };
  });
/** How light a page's ground and its ink are, from 0 to 1. */
const light = (opened) =>
  opened.evaluate(() => {
    const of = (colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 765;
    const { backgroundColor, color } = getComputedStyle(document.body);
    return [of(backgroundColor), of(color)];
  });

async function who_is_not_logged_in_sees_the_form_alone() {
  const stranger = await open();
  for (const url of PAGES) {
    await stranger.goto(url);
    assert(stranger.url().startsWith(`${CONSOLE}login`), stranger.url());
  }
  await accessible(stranger, "the login");
  await logIn(stranger, "owner", "wrong");
  assert.match(await stranger.$eval("[role=alert]", (e) => e.textContent), /do not fit/);
  await accessible(stranger, "a wrong login");
  wrong.length = 0; // Chromium tells of the 403.
  await stranger.goto(`${CONSOLE}nothing`);
  await accessible(stranger, "no page");
  wrong.length = 0; // And of the 404.
  await stranger.setViewport(NARROW);
  await stranger.goto(`${CONSOLE}login`);
  assert(await fits(stranger));
}

async function every_page_says_what_there_is() {
  const said = {
    "": [/A neighbour who was 10 % sure/, /At this pace|at this pace/, /ada/, /bo/, /research/, /trips/],
    statements: [/ada/, /bo/, /payments/, /returns private rows/],
    policy: [/Each row belongs to whom its rider_id names/, /Hidden from everybody: email/, /whole number/],
    streams: [/unusual stations/, /Opened so far/, /open/],
    kept: [/Answers are kept for/, /Given again/],
    connections: [/It answers, in/, /notebook/, /yes/],
    incidents: [/None since the proxy was started/],
    ledger: [/every fingerprint, every price and every sum/],
  };
  for (const [name, patterns] of Object.entries(said)) {
    await page.goto(CONSOLE + name);
    const text = await page.$eval("body", (body) => body.innerText);
    for (const pattern of patterns) assert.match(text, pattern, name);
    assert.equal(await page.$$eval("h1", (all) => all.length), 1);
    assert.equal(await page.$eval("html", (html) => html.lang), "en");
    assert.equal(await page.$$eval("nav a", (all) => all.length), PAGES.length);
    assert.equal(await page.$$eval("[aria-current=page]", (all) => all.length), 1);
    assert.equal(await page.$$eval("script", (all) => all.length), 0);
  }
}

async function who_used_a_budget_has_a_forecast() {
  await page.goto(CONSOLE);
  for (const by of ["user", "role", "tables"]) {
    const rows = await page.$$eval("table", (all, by) => {
      const table = all.find((t) => t.caption?.innerText.trim() === `Who used it, by ${by}`);
      return table ? [...table.tBodies[0].rows].map((r) => r.cells[r.cells.length - 1].innerText) : [];
    }, by);
    assert(rows.length > 0 && rows.every((text) => /^(used up on|lasts over|\d.* left on) /.test(text)), `${by}: ${rows}`);
  }
}

async function every_page_is_accessible_in_light_and_in_the_dark() {
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    for (const url of PAGES) {
      await page.goto(url);
      // What is folded away is looked at, too.
      await page.$$eval("details", (all) => all.forEach((d) => (d.open = true)));
      await accessible(page, scheme);
      const [ground, ink] = await light(page);
      assert(scheme === "dark" ? ground < 0.2 && ink > 0.8 : ground > 0.9 && ink < 0.2, `${scheme}: ${ground}, ${ink}`);
    }
  }
  await page.emulateMediaFeatures([]);
}

async function every_page_fits_a_telephone() {
  await page.setViewport(NARROW);
  for (const url of PAGES) {
    await page.goto(url);
    await page.$$eval("details", (all) => all.forEach((d) => (d.open = true)));
    assert(await fits(page), `${url} is wider than ${NARROW.width} pixels`);
    await accessible(page, "on a telephone");
  }
  await page.setViewport(WIDE);
}

async function every_page_is_reached_by_keyboard_alone() {
  for (const [index, url] of PAGES.entries()) {
    await page.goto(PAGES[(index + 1) % PAGES.length]);
    await page.keyboard.press("Tab");
    const skip = await focused(page);
    assert(skip.text === "Skip to the content" && skip.seen && skip.marked, JSON.stringify(skip));
    for (let link = 0; link <= index; link++) {
      await page.keyboard.press("Tab");
      const at = await focused(page);
      assert(at.tag === "A" && at.seen && at.marked, JSON.stringify(at));
    }
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    assert.equal(page.url(), url);
  }
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.equal((await focused(page)).id, "content");
  // From there to the end, without a trap: the button that logs out is the last one.
  let last;
  for (let tabs = 0; tabs < 200; tabs++) {
    await page.keyboard.press("Tab");
    const at = await focused(page);
    if (at.tag === "BODY") break;
    last = at;
    assert(at.marked, JSON.stringify(at));
  }
  assert.equal(last.text, "Log out");
}

async function charts_have_words_and_tables_behind_them() {
  await page.goto(PAGES[0]);
  const charts = await page.$$eval("svg.chart", (all) =>
    all.map((svg) => ({
      words: svg.querySelector("title").textContent.length * svg.querySelector("desc").textContent.length,
      rows: svg.closest("figure").querySelectorAll("details table tbody tr").length,
    })),
  );
  // On the first days of a month an analyst's budget has hardly begun.
  assert(charts.length >= 3, "a burn-down, a trade-off curve, and a burn-down for each analyst");
  for (const chart of charts) assert(chart.words > 0 && chart.rows > 0, JSON.stringify(chart));
  assert(await page.$("svg.chart .future"), "a forecast");
}

async function pages_print_in_ink_and_without_what_paper_cannot_do() {
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await page.emulateMediaType("print");
  for (const url of PAGES) {
    await page.goto(url);
    const [ground, ink] = await light(page);
    assert(ground === 1 && ink === 0, `${url}: ${ground}, ${ink}`);
    for (const away of ["nav", "footer form"]) {
      assert.equal(await page.$eval(away, (e) => getComputedStyle(e).display), "none", away);
    }
  }
  await page.goto(PAGES[0]);
  assert((await page.pdf({ format: "A4" })).length > 10_000);
  await page.emulateMediaType(null);
  await page.emulateMediaFeatures([]);
}

async function an_auditor_sees_no_text() {
  const auditor = await open();
  await logIn(auditor, "dpo");
  await auditor.goto(`${CONSOLE}statements`);
  assert.doesNotMatch(await auditor.content(), /SELECT/);
  await page.goto(`${CONSOLE}statements`);
  assert.match(await page.content(), /SELECT/);
}

async function a_report_is_as_good_as_the_pages() {
  const report = await open();
  for (const scheme of ["light", "dark"]) {
    await report.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await report.goto(REPORT);
    await report.$$eval("details", (all) => all.forEach((d) => (d.open = true)));
    await accessible(report, "the report");
  }
  await report.setViewport(NARROW);
  assert(await fits(report));
  const text = await report.$eval("body", (body) => body.innerText);
  for (const part of ["Budgets", "Statements", "Policy", "Streams", "Kept answers", "Ledger"]) assert.match(text, new RegExp(part));
  assert.equal(await report.$$eval("[id]", (all) => all.length - new Set(all.map((e) => e.id)).size), 0, "ids are unique");
}

async function what_is_written_for_owners_is_as_good_as_the_pages() {
  const written = await open();
  for (const url of OTHERS) {
    for (const scheme of ["light", "dark"]) {
      await written.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await written.goto(url);
      await written.$$eval("details", (all) => all.forEach((d) => (d.open = true)));
      await accessible(written, scheme);
    }
    await written.setViewport(NARROW);
    assert(await fits(written), `${url} is wider than ${NARROW.width} pixels`);
    await written.setViewport(WIDE);
    assert.equal(await written.$$eval("script", (all) => all.length), 0);
    assert.equal(await written.$$eval("h1", (all) => all.length), 1, url);
  }
  await written.close();
}

async function the_pictures_of_the_documents() {
  if (process.env.UPDATE !== "1") {
    for (const name of ["console-budgets", "console-policy"]) {
      assert(fs.statSync(path.join(IMAGES, `${name}.png`)).size < 150_000, name);
    }
    return;
  }
  await page.setViewport({ width: 1000, height: 1040 });
  await page.goto(PAGES[0]);
  await page.screenshot({ path: path.join(IMAGES, "console-budgets.png") });
  await page.goto(`${CONSOLE}policy`);
  await page.screenshot({ path: path.join(IMAGES, "console-policy.png") });
}

async function nothing_was_asked_of_anybody_else() {
  const elsewhere = [...asked].filter((url) => !url.startsWith(CONSOLE) && ![REPORT, ...OTHERS].includes(url) && !url.startsWith("data:"));
  assert.deepEqual(elsewhere, []);
  assert.deepEqual(wrong, [], "Chromium complains");
}

async function logging_out_is_a_button() {
  await page.goto(PAGES[0]);
  await Promise.all([page.waitForNavigation(), page.click("footer button")]);
  assert(page.url().startsWith(`${CONSOLE}login`));
  await page.goto(PAGES[0]);
  assert(page.url().startsWith(`${CONSOLE}login`));
}

(async () => {
  const client = new Client({ ssl: ssl(), application_name: "notebook", user: "ada", password: process.env.PASSWORD });
  await client.connect();
  for (const sql of [
    "SELECT count(*) FROM riders WHERE plan = 'day'",
    "SELECT count(*) FROM riders WHERE plan = 'day'",
    "SET noisegate.stream = 'unusual stations'",
    "SELECT FROM trips WHERE minutes > 200 HAVING count(*) > 100",
  ]) {
    await client.query(sql);
  }
  await failure(client.query("SET noisegate.stream = DEFAULT; SELECT * FROM riders"));
  browser = await pages.launch();
  page = await open();
  await logIn(page, "owner");
  const checks = [
    what_axe_finds_is_found,
    who_is_not_logged_in_sees_the_form_alone,
    every_page_says_what_there_is,
    who_used_a_budget_has_a_forecast,
    every_page_is_accessible_in_light_and_in_the_dark,
    every_page_fits_a_telephone,
    every_page_is_reached_by_keyboard_alone,
    charts_have_words_and_tables_behind_them,
    pages_print_in_ink_and_without_what_paper_cannot_do,
    an_auditor_sees_no_text,
    a_report_is_as_good_as_the_pages,
    what_is_written_for_owners_is_as_good_as_the_pages,
    the_pictures_of_the_documents,
    nothing_was_asked_of_anybody_else,
    logging_out_is_a_button,
  ];
  await run("console", checks, (check) => check());
})();
