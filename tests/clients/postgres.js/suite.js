"use strict";
// postgres.js, over TLS and with a password: it asks for the types of arrays in the catalogs, and prepares each statement.

const assert = require("node:assert");
const postgres = require("postgres");
const { failure, run, ssl } = require("../checks.js");

async function groups_and_parameters(sql) {
  const plans = ["day", "year"];
  for (const some of [sql`plan IN ${sql(plans)}`, sql`plan = ANY(${plans})`]) {
    const rows = await sql`SELECT plan, count(*)::int AS n FROM riders WHERE birth_year > ${1970} AND ${some} GROUP BY 1 ORDER BY 1`;
    assert.deepEqual(rows.map((row) => row.plan), plans);
    assert(Number.isInteger(rows[0].n));
  }
}

async function values_of_every_kind(sql) {
  const [row] = await sql`
    SELECT true AS a, timestamptz '2024-02-29 12:00Z' AS b, ARRAY[1, 2] AS c, 1.5::numeric AS d, 'ä'::text AS e, null AS f`;
  const moment = new Date("2024-02-29T12:00:00Z");
  assert.deepEqual({ ...row }, { a: true, b: moment, c: [1, 2], d: "1.5", e: "ä", f: null });
}

async function cursors_read_a_few_rows_at_a_time(sql) {
  const sizes = [];
  for await (const rows of sql`SELECT station FROM stations`.cursor(7)) sizes.push(rows.length);
  assert(sizes[0] === 7 && sizes.length > 3, sizes.join());
}

async function copy_is_a_stream(sql) {
  let text = "";
  for await (const part of await sql`COPY (SELECT station FROM stations) TO STDOUT`.readable()) text += part;
  assert(text.split("\n").length > 20);
}

async function statements_are_described(sql) {
  const { types, columns } = await sql`SELECT count(*) FROM trips WHERE minutes > ${1}`.describe();
  assert.deepEqual([types, columns.map((column) => [column.name, column.type])], [[23], [["count", 20]]]);
}

async function transactions_and_savepoints(sql) {
  const [{ n }] = await sql.begin(async (sql) => {
    const error = await failure(sql.savepoint((sql) => sql`SELECT nonsense FROM trips`));
    assert.equal(error.code, "42703");
    return sql`SELECT 2 AS n`;
  });
  assert.equal(n, 2);
}

async function errors_have_their_sqlstates(sql) {
  assert.equal((await failure(sql`SELECT * FROM trips WHERE minutes > ${1}`)).code, "0A000");
  assert.equal((await failure(sql`SELECT count(*) FROM nothing`)).code, "42P01");
  assert.equal((await failure(sql`DELETE FROM trips`)).code, "42501");
}

async function a_cancel_leaves_the_session_usable(sql) {
  const slow = sql`SELECT count(*) FROM stations a, stations b, stations c, stations d, stations e, stations f`;
  setTimeout(() => slow.cancel(), 300);
  assert.equal((await failure(slow)).code, "57014");
  assert.equal((await sql`SELECT 5 AS n`)[0].n, 5);
}

const checks = [
  groups_and_parameters,
  values_of_every_kind,
  cursors_read_a_few_rows_at_a_time,
  copy_is_a_stream,
  statements_are_described,
  transactions_and_savepoints,
  errors_have_their_sqlstates,
  a_cancel_leaves_the_session_usable,
];

run("postgres.js", checks, async (check) => {
  const sql = postgres({ ssl: ssl(), max: 1, onnotice: () => {} });
  try {
    await check(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
});
