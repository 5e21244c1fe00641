"use strict";
// The demo's survey in headless Chromium: answers are changed at random in the browser, and what is known of them is right.

const assert = require("node:assert");
const { Client } = require("pg");
const pages = require("../browser.js");
const { failure, run } = require("../checks.js");

const CONSOLE = process.env.CONSOLE;
const SURVEY = `${CONSOLE}survey`;
/** With which probability the truth is told: three answers, ε = 1. */
const TRUTHFUL = Math.E / (Math.E + 2);
/** Made-up people who answer at a click. */
const CROWD = 1000;
const CLICKS = 10;

let browser;
let page;
let analyst;
const asked = new Set();
const wrong = [];
/** What was sent. */
const bodies = [];

const number = (text) => Number(text.replaceAll(",", ""));
const said = () => page.$eval("#said", (e) => e.textContent);
/** The table, once so many reports are stored. */
async function results(reports) {
  await page.waitForFunction(
    (text) => document.getElementById("reports").textContent.startsWith(text),
    { timeout: 20_000 },
    `${reports.toLocaleString("en")} reports are stored`,
  );
  const rows = await page.$$eval("#results tbody tr", (all) => all.map((row) => [...row.cells].map((c) => c.textContent.trim())));
  return rows.map(([answer, truth, estimate, ends]) => {
    const [low, high] = ends.split(" to ").map(number);
    return { answer, truth: number(truth), estimate: number(estimate), low, high };
  });
}

async function the_link_of_the_banner_leads_there_by_way_of_the_login() {
  await page.goto(SURVEY);
  assert(page.url().startsWith(`${CONSOLE}login`), page.url());
  await pages.logIn(page, "owner", process.env.PASSWORD);
  assert.equal(page.url(), SURVEY);
  assert.equal(await page.$eval("[aria-current=page]", (e) => e.textContent), "Survey");
  assert.deepEqual((await results(0)).map((r) => r.answer), ["always", "sometimes", "never"]);
}

async function it_runs_its_own_script_and_no_other() {
  const response = await page.goto(SURVEY);
  const policy = response.headers()["content-security-policy"];
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'self'; connect-src 'self'/);
  assert.deepEqual(await page.$$eval("script", (all) => all.map((s) => s.getAttribute("src"))), ["/survey.js"]);
  const others = await page.goto(CONSOLE);
  assert.doesNotMatch(others.headers()["content-security-policy"], /script-src|connect-src/);
  await page.goto(SURVEY);
}

async function a_browser_randomises_as_the_mechanism_does() {
  const TRIES = 60_000;
  const counts = await page.evaluate((tries) => {
    const all = [0, 1, 2].map(() => [0, 0, 0]);
    for (let answer = 0; answer < 3; answer++) for (let i = 0; i < tries; i++) all[answer][globalThis.survey.randomise(answer)] += 1;
    return all;
  }, TRIES);
  for (const [answer, row] of counts.entries()) {
    for (const [report, count] of row.entries()) {
      const p = answer === report ? TRUTHFUL : (1 - TRUTHFUL) / 2;
      // One in a million of such tests misses.
      const most = 5.5 * Math.sqrt(TRIES * p * (1 - p));
      assert(Math.abs(count - TRIES * p) < most, `${answer} became ${report} ${count} times of ${TRIES}`);
    }
  }
}

async function what_is_sent_is_one_of_the_answers_and_no_more() {
  await page.click("form.login button");
  assert.match(await said(), /Choose an answer first/);
  bodies.length = 0;
  await page.click("input[name=answer][value='2']");
  await page.click("form.login button");
  const rows = await results(1);
  assert.match(await said(), /Your answer stays in this browser. What was sent is "(always|sometimes|never)"/);
  const [sent] = bodies.map((b) => JSON.parse(b));
  assert.deepEqual(Object.keys(sent).sort(), ["form", "reports"]);
  assert.match(sent.reports, /^[012]$/);
  await page.waitForFunction(() => document.querySelectorAll("#results tbody tr")[2].cells[1].textContent.trim() === "1");
  assert.equal(rows.length, 3);
}

async function estimates_are_as_good_as_they_say() {
  for (let click = 1; click <= CLICKS; click++) {
    await page.click("#crowd");
    await results(1 + click * CROWD);
    await page.waitForFunction((n) => document.getElementById("said").textContent.startsWith("1,000 made-up") && document.getElementById("reports").textContent.includes(`${n} of them from this browser`), {}, (1 + click * CROWD).toLocaleString("en"));
  }
  const rows = await results(1 + CLICKS * CROWD);
  assert.equal(rows.reduce((sum, r) => sum + r.truth, 0), 1 + CLICKS * CROWD);
  for (const { answer, truth, estimate, low, high } of rows) {
    // Three intervals of 95 %, two and a half times as wide: one in a million.
    const half = (high - low) / 2;
    assert(half > 50 && half < 600, `${answer}: ${low} to ${high}`);
    assert(Math.abs(estimate - truth) < 2.5 * half, `${answer}: ${estimate} for ${truth}, ${low} to ${high}`);
  }
  // No estimate is the truth: nobody here knows that but this browser.
  const widths = await page.$$eval("#results .fill", (all) => all.map((r) => Number(r.getAttribute("width"))));
  assert(widths.length === 6 && Math.max(...widths) === 100, widths.join());
}

async function analysts_see_the_same_and_no_report() {
  const { rows } = await analyst.query("SELECT answer, count(*)::float8 AS n FROM helmets GROUP BY answer");
  const shown = await results(1 + CLICKS * CROWD);
  for (const { answer, n } of rows) assert.equal(Math.round(n), shown.find((r) => r.answer === answer).estimate, answer);
  for (const sql of ["SELECT * FROM helmets_reports", "SELECT * FROM helmets", "INSERT INTO helmets VALUES ('never')"]) {
    assert(await failure(analyst.query(sql)), sql);
  }
}

async function the_policy_says_what_is_collected() {
  await page.goto(`${CONSOLE}policy`);
  const text = await page.$eval("main", (main) => main.innerText);
  // Odds of 1 to 9, times e.
  assert.match(text, /Collected privately[^]*helmets[^]*10 % sure what somebody answers[^]*at most 24 % sure/);
  assert.match(text, /They are changed in this proxy as they arrive/);
  assert.doesNotMatch(text, /helmets_reports/, "nobody reads the reports themselves");
  await page.goto(SURVEY);
}

async function forged_requests_store_nothing() {
  const post = (body, headers = { "content-type": "application/json" }) =>
    page.evaluate(async (b, h) => (await fetch("/survey", { method: "POST", headers: h, body: b })).status, body, headers);
  const form = await page.$eval("#survey", (e) => e.dataset.form);
  assert.equal(await post(JSON.stringify({ form: "x", reports: "0" })), 403);
  for (const reports of ["3", "-1", "0".repeat(10_001), "a"]) assert.equal(await post(JSON.stringify({ form, reports })), 400, reports.slice(0, 5));
  assert.equal(await post("form=x&reports=0", { "content-type": "application/x-www-form-urlencoded" }), 415);
  wrong.length = 0; // Chromium tells of each.
  await page.goto(SURVEY);
  await results(1 + CLICKS * CROWD);
}

async function it_is_accessible_narrow_and_dark() {
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await pages.accessible(page, scheme);
  }
  await page.setViewport(pages.NARROW);
  assert(await pages.fits(page));
  await page.emulateMediaFeatures([]);
}

async function nothing_was_asked_of_anybody_else() {
  assert.deepEqual([...asked].filter((url) => !url.startsWith(CONSOLE) && !url.startsWith("data:")), []);
  assert.deepEqual(wrong, [], "Chromium complains");
}

(async () => {
  analyst = new Client({ user: "demo", database: "demo" });
  await analyst.connect();
  browser = await pages.launch();
  page = await pages.open(browser, { asked, wrong });
  page.on("request", (request) => request.method() === "POST" && request.url() === SURVEY && bodies.push(request.postData()));
  const checks = [
    the_link_of_the_banner_leads_there_by_way_of_the_login,
    it_runs_its_own_script_and_no_other,
    a_browser_randomises_as_the_mechanism_does,
    what_is_sent_is_one_of_the_answers_and_no_more,
    estimates_are_as_good_as_they_say,
    analysts_see_the_same_and_no_report,
    the_policy_says_what_is_collected,
    forged_requests_store_nothing,
    it_is_accessible_narrow_and_dark,
    nothing_was_asked_of_anybody_else,
  ];
  await run("survey", checks, (check) => check());
})();
