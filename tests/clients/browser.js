"use strict";
// A headless Chromium, and what is asked of any page.

const assert = require("node:assert");
const fs = require("node:fs");
const puppeteer = require("puppeteer-core");

const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

exports.WIDE = { width: 1100, height: 900 };
exports.NARROW = { width: 400, height: 800 };

exports.launch = () =>
  puppeteer.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    // The certificate is the proxy's own; names of hosts lead nowhere.
    acceptInsecureCerts: true,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
  });

/** A page of a session of its own, which notes what it asks for, and what Chromium finds wrong. */
exports.open = async (browser, { asked, wrong }, viewport = exports.WIDE) => {
  const context = await browser.createBrowserContext();
  const opened = await context.newPage();
  await opened.setViewport(viewport);
  opened.on("request", (request) => asked.add(request.url()));
  opened.on("console", (message) => ["error", "warn"].includes(message.type()) && wrong.push(message.text()));
  opened.on("pageerror", (error) => wrong.push(String(error)));
  return opened;
};

/** Fills the login that is shown, by keyboard alone: the name's field has the focus, once the page is there. */
exports.logIn = async (opened, name, password) => {
  await opened.waitForFunction(() => document.activeElement.id === "name");
  await opened.keyboard.type(name);
  await opened.keyboard.press("Tab");
  await opened.keyboard.type(password);
  await Promise.all([opened.waitForNavigation(), opened.keyboard.press("Enter")]);
};

/** What axe finds. */
exports.violations = async (opened) => {
  // A page may forbid scripts that are not its own; what puppeteer runs is none of them.
  await opened.evaluate(AXE);
  const { violations } = await opened.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html).slice(0, 3).join(" ")}`);
};

exports.accessible = async (opened, what) => {
  assert.deepEqual(await exports.violations(opened), [], `${what} at ${opened.url()}`);
};

exports.fits = (opened) => opened.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);
