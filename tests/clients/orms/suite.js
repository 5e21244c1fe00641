"use strict";
// Sequelize, TypeORM and knex, over TLS and with a password: what they ask of the catalogs, and what they build of questions.

const assert = require("node:assert");
const { Sequelize, DataTypes, Op, fn, col } = require("sequelize");
const { DataSource, EntitySchema } = require("typeorm");
const knex = require("knex");
const { failure, run, ssl } = require("../checks.js");

const { PGHOST: host, PGPORT, PGUSER: username, PGPASSWORD: password, PGDATABASE: database } = process.env;
const port = Number(PGPORT);
const january = [new Date("2024-01-01T00:00:00Z"), new Date("2024-01-31T23:59:59.999Z")];

/** Each day of a month, and no other. */
function is_january(rows) {
  assert.equal(rows.length, 31, JSON.stringify(rows));
}

async function with_sequelize(work) {
  const sequelize = new Sequelize(database, username, password, {
    host,
    port,
    dialect: "postgres",
    dialectOptions: { ssl: ssl() },
    logging: false,
  });
  try {
    await sequelize.authenticate();
    await work(sequelize);
  } finally {
    await sequelize.close();
  }
}

function models(sequelize) {
  const plain = { timestamps: false };
  const station = { type: DataTypes.TEXT, primaryKey: true };
  const Station = sequelize.define("station", { station, city: DataTypes.TEXT }, { ...plain, tableName: "stations" });
  const columns = { rider_id: DataTypes.INTEGER, station: DataTypes.TEXT, minutes: DataTypes.INTEGER, started_at: DataTypes.DATE };
  const Trip = sequelize.define("trip", columns, { ...plain, tableName: "trips" });
  Trip.removeAttribute("id");
  Trip.belongsTo(Station, { foreignKey: "station", targetKey: "station", as: "from" });
  return { Station, Trip };
}

async function sequelize_counts_groups() {
  await with_sequelize(async (sequelize) => {
    const { Trip } = models(sequelize);
    const rows = await Trip.findAll({
      attributes: [[fn("date_trunc", "day", col("started_at")), "day"], [fn("COUNT", col("*")), "n"]],
      where: { started_at: { [Op.between]: january } },
      group: [fn("date_trunc", "day", col("started_at"))],
      raw: true,
    });
    is_january(rows);
    assert((await Trip.count({ where: { minutes: { [Op.gt]: 10 } } })) > 0);
    const average = await Trip.findOne({ attributes: [[fn("AVG", col("minutes")), "minutes"]], raw: true });
    assert(Number(average.minutes) > 1);
  });
}

async function sequelize_joins_a_public_table() {
  await with_sequelize(async (sequelize) => {
    const { Station, Trip } = models(sequelize);
    const stations = await Station.findAll({ order: [["station", "ASC"]], limit: 3 });
    assert.equal(stations.length, 3);
    const rows = await Trip.findAll({
      attributes: [[fn("COUNT", col("rider_id")), "n"]],
      include: [{ model: Station, as: "from", attributes: ["city"], required: true }],
      group: [col("from.city")],
      raw: true,
    }).catch((error) => error);
    // Sequelize adds the key of what it joins; either is understood.
    assert(Array.isArray(rows) || rows.original, rows);
  });
}

async function sequelize_reads_the_catalogs() {
  await with_sequelize(async (sequelize) => {
    const query = sequelize.getQueryInterface();
    const tables = (await query.showAllTables()).map((table) => table.tableName ?? table);
    assert(tables.includes("trips") && tables.includes("stations"), tables.join());
    const columns = await query.describeTable("stations");
    assert.equal(columns.station.primaryKey, true);
    assert.equal(columns.capacity.type, "INTEGER");
    assert((await query.showIndex("stations")).some((index) => index.primary));
  });
}

async function sequelize_may_not_write() {
  await with_sequelize(async (sequelize) => {
    const error = await failure(models(sequelize).Station.create({ station: "x", city: "y" }));
    assert.equal(error.original.code, "42501");
  });
}

const Stations = new EntitySchema({
  name: "Station",
  tableName: "stations",
  columns: { station: { type: "text", primary: true }, city: { type: "text" }, capacity: { type: "integer" } },
});

const Trips = new EntitySchema({
  name: "Trip",
  tableName: "trips",
  columns: {
    rider_id: { type: "integer", primary: true },
    started_at: { type: "timestamp", primary: true },
    station: { type: "text" },
    minutes: { type: "integer" },
  },
});

async function with_typeorm(work) {
  const source = new DataSource({
    type: "postgres",
    host,
    port,
    username,
    password,
    database,
    ssl: ssl(),
    entities: [Stations, Trips],
  });
  await source.initialize();
  try {
    await work(source);
  } finally {
    await source.destroy();
  }
}

async function typeorm_counts_groups() {
  await with_typeorm(async (source) => {
    const builder = source.getRepository("Trip").createQueryBuilder("t");
    const rows = await builder
      .select("date_trunc('day', t.started_at)", "day")
      .addSelect("COUNT(*)", "n")
      .where("t.started_at BETWEEN :from AND :to", { from: january[0].toISOString(), to: january[1].toISOString() })
      .groupBy("1")
      .getRawMany();
    is_january(rows);
    assert((await source.getRepository("Station").find({ take: 3, order: { station: "ASC" } })).length === 3);
    assert((await source.getRepository("Trip").createQueryBuilder("t").select("AVG(t.minutes)", "m").getRawOne()).m > 1);
  });
}

async function typeorm_finds_the_tables_that_there_are() {
  await with_typeorm(async (source) => {
    const runner = source.createQueryRunner();
    assert.equal(await runner.getCurrentSchema(), "public");
    assert.equal(await runner.getCurrentDatabase(), database);
    const table = await runner.getTable("stations");
    const names = table.columns.map((column) => column.name);
    assert(names.includes("station") && names.includes("capacity"), names.join());
    assert(table.primaryColumns.some((column) => column.name === "station"));
    assert(await runner.hasTable("trips"));
    assert(!(await runner.hasTable("nothing")));
    await runner.release();
    const wanted = (await source.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query);
    assert(!wanted.some((sql) => sql.startsWith("CREATE TABLE")), wanted.join("\n"));
  });
}

async function with_knex(work) {
  const db = knex({ client: "pg", connection: { host, port, user: username, password, database, ssl: ssl() } });
  try {
    await work(db);
  } finally {
    await db.destroy();
  }
}

async function knex_counts_groups() {
  await with_knex(async (db) => {
    const day = db.raw("date_trunc('day', started_at)");
    is_january(await db("trips").select({ day }).count("* as n").whereBetween("started_at", january).groupBy(day));
    const rows = await db("trips as t")
      .join("stations as s", "s.station", "t.station")
      .select("s.station", "s.city")
      .count("* as n")
      .groupBy("s.station", "s.city");
    assert.equal(rows.length, Number((await db("stations").count("* as n").first()).n), "a row for each station");
    const [{ sum }] = await db.withSchema("public").from("trips").sum("minutes as sum").where("minutes", ">", 10);
    assert(Number(sum) > 0);
  });
}

async function knex_reads_the_catalogs() {
  await with_knex(async (db) => {
    assert(await db.schema.hasTable("trips"));
    assert(!(await db.schema.hasTable("nothing")));
    assert(await db.schema.hasColumn("stations", "capacity"));
    const columns = await db("stations").columnInfo();
    assert.equal(columns.capacity.type, "integer");
    const error = await failure(db.schema.createTable("mine", (table) => table.increments()));
    assert.equal(error.code, "42501");
  });
}

const checks = [
  sequelize_counts_groups,
  sequelize_joins_a_public_table,
  sequelize_reads_the_catalogs,
  sequelize_may_not_write,
  typeorm_counts_groups,
  typeorm_finds_the_tables_that_there_are,
  knex_counts_groups,
  knex_reads_the_catalogs,
];

run("ORMs", checks, (check) => check());
