"use strict";
// node-postgres, over TLS and with a password: simple and prepared statements, cursors, COPY, pools.

const assert = require("node:assert");
const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");
const { to } = require("pg-copy-streams");
const { failure, run, ssl } = require("../checks.js");

async function groups_and_parameters(client) {
  const sql = "SELECT plan, count(*)::int AS n FROM riders WHERE birth_year > $1 AND plan = ANY($2) GROUP BY plan ORDER BY 1";
  const { rows, fields } = await client.query(sql, [1970, ["day", "year"]]);
  assert.deepEqual(rows.map((row) => row.plan), ["day", "year"]);
  assert.deepEqual(fields.map((field) => field.name), ["plan", "n"]);
  assert(Number.isInteger(rows[0].n));
}

async function named_statements(client) {
  for (const minutes of [5, 6]) {
    const question = { name: "longer", text: "SELECT count(*) AS n FROM trips WHERE minutes > $1", values: [minutes] };
    assert.equal((await client.query(question)).rows.length, 1);
  }
}

async function values_of_every_kind(client) {
  const sql = "SELECT true AS a, timestamptz '2024-02-29 12:00Z' AS b, ARRAY[1, 2] AS c, 1.5::numeric AS d, 'ä'::text AS e, null AS f";
  const { rows } = await client.query(sql);
  const moment = new Date("2024-02-29T12:00:00Z");
  assert.deepEqual(rows, [{ a: true, b: moment, c: [1, 2], d: "1.5", e: "ä", f: null }]);
}

async function cursors_read_a_few_rows_at_a_time(client) {
  const cursor = client.query(new Cursor("SELECT station FROM stations WHERE capacity > $1 ORDER BY 1", [10]));
  const first = await cursor.read(3);
  const rest = await cursor.read(1000);
  await cursor.close();
  assert(first.length === 3 && rest.length > 20);
}

async function copy_is_a_stream(client) {
  let text = "";
  for await (const part of client.query(to("COPY (SELECT plan, count(*) FROM riders GROUP BY 1) TO STDOUT"))) text += part;
  assert(text.split("\n").length > 3);
}

async function notices_say_what_it_cost(client) {
  const notices = [];
  client.on("notice", (notice) => notices.push(notice.message));
  await client.query("SELECT count(*) FROM riders WHERE birth_year < 1985");
  assert(notices.some((notice) => notice.startsWith("spent ")), notices.join());
}

async function errors_have_their_sqlstates(client) {
  for (const [sql, sqlstate] of [
    ["SELECT * FROM trips", "0A000"],
    ["SELECT count(*) FROM nothing", "42P01"],
    ["DELETE FROM trips", "42501"],
  ]) {
    const error = await failure(client.query(sql));
    assert.equal(error.code, sqlstate);
    assert(error.position, sql);
  }
  assert.equal((await client.query("SELECT 5 AS n")).rows[0].n, 5);
}

async function a_pool_serves_many() {
  const pool = new Pool({ ssl: ssl(), max: 3 });
  const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => pool.query("SELECT $1::int AS n", [n])));
  assert.deepEqual(answers.map((answer) => answer.rows[0].n), [1, 2, 3, 4, 5]);
  await pool.end();
}

const checks = [
  groups_and_parameters,
  named_statements,
  values_of_every_kind,
  cursors_read_a_few_rows_at_a_time,
  copy_is_a_stream,
  notices_say_what_it_cost,
  errors_have_their_sqlstates,
  a_pool_serves_many,
];

run("node-postgres", checks, async (check) => {
  const client = new Client({ ssl: ssl() });
  await client.connect();
  try {
    await check(client);
  } finally {
    await client.end();
  }
});
