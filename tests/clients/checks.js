"use strict";
// Checks run one by one: what the suites for node share. What they are to connect to is in the environment: ./demo.py.

const fs = require("node:fs");

/** How to encrypt, in the words of both libraries: the server's certificate is checked against this one. */
exports.ssl = () => ({ ca: fs.readFileSync(process.env.PGSSLROOTCERT) });

/** What a failing promise fails with. */
exports.failure = async (promise) => {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it was answered");
};

/** Runs each check, prints a line for each and a closing count; ends the process. */
exports.run = async (name, checks, one) => {
  let failed = 0;
  for (const check of checks) {
    try {
      await one(check);
      console.log(`ok    ${check.name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL  ${check.name}: ${error.stack}`);
    }
  }
  console.log(`${name}: ${checks.length - failed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
};
