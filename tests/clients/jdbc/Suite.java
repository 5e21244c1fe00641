// pgJDBC, over TLS and with a password. Prints one line for each check and, last, how many passed; the exit status says whether
// all did.

import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.postgresql.PGConnection;
import org.postgresql.PGStatement;
import org.postgresql.util.PGInterval;
import org.postgresql.util.PSQLException;

class Suite {
    interface Check {
        void run(Connection connection) throws Exception;
    }

    /** A connection, with more of the driver's own settings as `name`, `value`. */
    static Connection connect(String... more) throws SQLException {
        Properties given = new Properties();
        given.setProperty("user", System.getenv("PGUSER"));
        given.setProperty("password", System.getenv("PGPASSWORD"));
        given.setProperty("sslmode", "verify-full");
        given.setProperty("sslrootcert", System.getenv("PGSSLROOTCERT"));
        given.setProperty("ApplicationName", "the suite");
        for (int i = 0; i < more.length; i += 2) given.setProperty(more[i], more[i + 1]);
        String place = System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        return DriverManager.getConnection("jdbc:postgresql://" + place, given);
    }

    static void equal(Object found, Object wanted) {
        if (!wanted.equals(found)) throw new AssertionError("found " + found + ", not " + wanted);
    }

    static void holds(boolean condition, Object seen) {
        if (!condition) throw new AssertionError("seen " + seen);
    }

    /** What a failing statement fails with. */
    static PSQLException failure(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (PSQLException error) {
            return error;
        }
        throw new AssertionError("answered: " + sql);
    }

    /** One column of all rows. */
    static List<String> column(ResultSet rows, String name) throws SQLException {
        List<String> out = new ArrayList<>();
        while (rows.next()) out.add(rows.getString(name));
        rows.close();
        return out;
    }

    static long single(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            holds(rows.next(), sql);
            return rows.getLong(1);
        }
    }

    static void metadataShowsWhatThePolicyShows(Connection connection) throws Exception {
        DatabaseMetaData meta = connection.getMetaData();
        equal(meta.getDatabaseProductName(), "PostgreSQL");
        List<String> tables = column(meta.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_NAME");
        equal(new TreeSet<>(tables), new TreeSet<>(Set.of("payments", "riders", "stations", "trips")));
        List<String> views = column(meta.getTables(null, "noisegate", "%", new String[] {"VIEW"}), "TABLE_NAME");
        holds(views.contains("budget"), views);
        List<String> schemas = column(meta.getSchemas(), "TABLE_SCHEM");
        equal(new TreeSet<>(schemas), new TreeSet<>(Set.of("information_schema", "noisegate", "pg_catalog", "public")));
        Map<String, Integer> types = new LinkedHashMap<>();
        try (ResultSet rows = meta.getColumns(null, "public", "trips", "%")) {
            while (rows.next()) {
                types.put(rows.getString("COLUMN_NAME"), rows.getInt("DATA_TYPE"));
                if (rows.getString("COLUMN_NAME").equals("rider_id")) {
                    equal(rows.getString("REMARKS"), "noisegate: the unit");
                    equal(rows.getInt("NULLABLE"), DatabaseMetaData.columnNoNulls);
                }
            }
        }
        equal(types.get("minutes"), Types.INTEGER);
        equal(types.get("started_at"), Types.TIMESTAMP);
        equal(column(meta.getPrimaryKeys(null, "public", "riders"), "COLUMN_NAME"), List.of("rider_id"));
        equal(column(meta.getImportedKeys(null, "public", "trips"), "PKTABLE_NAME"), List.of("riders", "stations"));
        equal(column(meta.getIndexInfo(null, "public", "riders", true, true), "COLUMN_NAME"), List.of("rider_id"));
        holds(column(meta.getTypeInfo(), "TYPE_NAME").contains("int8"), "getTypeInfo");
        equal(column(meta.getBestRowIdentifier(null, "public", "riders", 0, true), "COLUMN_NAME"), List.of("rider_id"));
        for (ResultSet rows : new ResultSet[] {
            meta.getCatalogs(), meta.getTableTypes(), meta.getTablePrivileges(null, "public", "trips"),
            meta.getColumnPrivileges(null, "public", "trips", "%"), meta.getExportedKeys(null, "public", "riders"),
            meta.getFunctions(null, "public", "%"), meta.getProcedures(null, "public", "%"),
            meta.getUDTs(null, "public", "%", null), meta.getClientInfoProperties(),
            meta.getCrossReference(null, "public", "riders", null, "public", "trips"),
        }) {
            rows.close();
        }
        holds(meta.getMaxConnections() >= 0 && meta.getSQLKeywords().length() > 0, "limits");
    }

    static void groupsHaveNamesAndTypes(Connection connection) throws Exception {
        String sql = "SELECT plan, count(*) AS n, avg(birth_year) AS born FROM riders GROUP BY plan ORDER BY plan";
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            ResultSetMetaData meta = rows.getMetaData();
            List<String> columns = new ArrayList<>();
            for (int i = 1; i <= meta.getColumnCount(); i++) {
                columns.add(meta.getColumnLabel(i) + " " + meta.getColumnTypeName(i) + " '" + meta.getTableName(i) + "'");
            }
            equal(columns, List.of("plan text ''", "n int8 ''", "born numeric ''"));
            holds(statement.getWarnings() != null && statement.getWarnings().getMessage().startsWith("spent "), statement.getWarnings());
            holds(column(rows, "plan").containsAll(List.of("day", "month", "year")), "plans");
        }
    }

    /** The fifth use of a statement makes it one of the server's, and its results binary. */
    static void preparedStatementsBecomeTheServers(Connection connection) throws Exception {
        String sql = "SELECT plan, count(*), sum(birth_year) FROM riders WHERE birth_year > ? AND plan = ANY(?) GROUP BY plan ORDER BY 1";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            equal(statement.getParameterMetaData().getParameterType(1), Types.INTEGER);
            Array plans = connection.createArrayOf("text", new String[] {"day", "year"});
            for (int year = 1960; year < 1968; year++) {
                statement.setInt(1, year);
                statement.setArray(2, plans);
                try (ResultSet rows = statement.executeQuery()) {
                    for (String plan : List.of("day", "year")) {
                        holds(rows.next(), year);
                        equal(rows.getString(1), plan);
                        holds(rows.getObject(2) instanceof Long && rows.getObject(3) instanceof Long, rows.getObject(3).getClass());
                    }
                }
            }
            holds(statement.unwrap(PGStatement.class).isUseServerPrepare(), "prepared");
        }
    }

    static void valuesOfEveryKind(Connection connection) throws Exception {
        String sql = "SELECT ?::bool, ?::int4, ?::int8, ?::float8, ?::numeric, ?::text, ?::date, ?::timestamptz, ?::bytea, ?::int4[],"
            + " ?::uuid, interval '1 day 02:00', time '12:30', null::int4";
        OffsetDateTime moment = OffsetDateTime.parse("2024-02-29T12:30:00.123456Z");
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            // Twice as text and, from the fifth time on, binary.
            for (int time = 0; time < 8; time++) {
                Object[] given = {
                    true, 7, 1L << 40, 1.5, new BigDecimal("12.340"), "it's ä", LocalDate.parse("2024-02-29"), moment,
                    new byte[] {0, -1}, connection.createArrayOf("int4", new Integer[] {1, null, 3}),
                    java.util.UUID.fromString("00000000-0000-4000-8000-000000000001"),
                };
                for (int i = 0; i < given.length; i++) statement.setObject(i + 1, given[i]);
                try (ResultSet row = statement.executeQuery()) {
                    holds(row.next(), "a row");
                    for (int i : new int[] {1, 2, 3, 4, 5, 6, 11}) equal(row.getObject(i), given[i - 1]);
                    equal(row.getObject(7, LocalDate.class), given[6]);
                    equal(row.getObject(8, OffsetDateTime.class).toInstant(), moment.toInstant());
                    holds(row.getBytes(9).length == 2 && row.getBytes(9)[1] == -1, row.getBytes(9));
                    equal(List.of(1, 3), java.util.Arrays.stream((Integer[]) row.getArray(10).getArray()).filter(n -> n != null).collect(Collectors.toList()));
                    equal(row.getObject(12), new PGInterval(0, 0, 1, 2, 0, 0));
                    equal(row.getString(13), "12:30:00");
                    holds(row.getObject(14) == null && row.wasNull(), "null");
                }
            }
        }
    }

    /** A portal, over several round trips within a transaction. */
    static void portalsReadAFewRowsAtATime(Connection connection) throws Exception {
        connection.setAutoCommit(false);
        connection.setReadOnly(true);
        String sql = "SELECT station, capacity FROM stations WHERE capacity > ? ORDER BY 1";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setFetchSize(7);
            statement.setInt(1, 0);
            try (ResultSet rows = statement.executeQuery(); ResultSet other = connection.createStatement().executeQuery("SELECT 1")) {
                holds(other.next(), "beside it");
                holds(column(rows, "station").size() > 20, "stations");
            }
            statement.setMaxRows(3);
            equal(column(statement.executeQuery(), "station").size(), 3);
        }
        try (Statement scrolling = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
            ResultSet rows = scrolling.executeQuery("SELECT station FROM stations ORDER BY 1");
            holds(rows.last() && rows.getRow() > 20 && rows.absolute(2) && rows.previous() && rows.isFirst(), "scrolling");
        }
        connection.commit();
    }

    static void copyIsAStream(Connection connection) throws Exception {
        StringWriter out = new StringWriter();
        String sql = "COPY (SELECT station, capacity FROM stations) TO STDOUT (FORMAT csv, HEADER)";
        long rows = connection.unwrap(PGConnection.class).getCopyAPI().copyOut(sql, out);
        equal((long) out.toString().lines().count(), rows + 1);
        holds(out.toString().startsWith("station,capacity\n"), out);
    }

    static void errorsHaveTheirSqlstates(Connection connection) throws Exception {
        Map<String, String> refused = Map.of(
            "SELECT * FROM trips", "0A000", "SELECT count(*) FROM nothing", "42P01", "DELETE FROM trips", "42501",
            "SELEC 1", "42601", "SELECT 1/0", "22012");
        for (Map.Entry<String, String> entry : refused.entrySet()) {
            equal(failure(connection, entry.getKey()).getSQLState(), entry.getValue());
        }
        PSQLException error = failure(connection, "SELECT count(nonsense) FROM trips");
        equal(error.getSQLState(), "42703");
        equal(error.getServerErrorMessage().getPosition(), 14);
        holds(failure(connection, "SELECT rider_id FROM trips").getServerErrorMessage().getHint() != null, "a hint");
    }

    static void transactionsAndSavepoints(Connection connection) throws Exception {
        connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        equal(connection.getTransactionIsolation(), Connection.TRANSACTION_REPEATABLE_READ);
        connection.setAutoCommit(false);
        Savepoint before = connection.setSavepoint("before");
        equal(failure(connection, "SELECT nonsense FROM trips").getSQLState(), "42703");
        equal(failure(connection, "SELECT 1").getSQLState(), "25P02");
        connection.rollback(before);
        equal(single(connection, "SELECT 2"), 2L);
        connection.rollback();
        connection.setAutoCommit(true);
        equal(connection.isReadOnly(), false);
    }

    static void batchesAndManyResults(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            holds(statement.execute("SELECT 1; SELECT station FROM stations LIMIT 2"), "a result");
            holds(statement.getMoreResults() && statement.getResultSet().next(), "the second");
        }
        try (Statement statement = connection.createStatement()) {
            statement.addBatch("SET noisegate.epsilon = 0.05");
            statement.addBatch("SET TIME ZONE 'Asia/Tokyo'");
            equal(statement.executeBatch().length, 2);
        }
    }

    /** What a pool does with a connection that comes back. */
    static void sessionsAreReset(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET TIME ZONE 'Asia/Tokyo'");
            statement.execute("DISCARD ALL");
            ResultSet zone = statement.executeQuery("SHOW timezone");
            holds(zone.next() && !zone.getString(1).equals("Asia/Tokyo"), "the time zone");
        }
        holds(connection.isValid(5), "isValid");
        connection.setSchema("public");
        equal(connection.getSchema(), "public");
        connection.setClientInfo("ApplicationName", "another");
    }

    static void aTimeoutAndACancelLeaveTheSessionUsable(Connection connection) throws Exception {
        String sql = "SELECT count(*) FROM stations a, stations b, stations c, stations d, stations e, stations f";
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            try {
                statement.executeQuery(sql);
                throw new AssertionError("it was answered");
            } catch (SQLException error) {
                equal(error.getSQLState(), "57014");
            }
        }
        try (Statement statement = connection.createStatement()) {
            Thread other = new Thread(() -> {
                try {
                    Thread.sleep(300);
                    statement.cancel();
                } catch (Exception error) {
                    throw new AssertionError(error);
                }
            });
            other.start();
            try {
                statement.executeQuery(sql);
                throw new AssertionError("it was answered");
            } catch (SQLException error) {
                equal(error.getSQLState(), "57014");
            }
            other.join();
        }
        equal(single(connection, "SELECT 5"), 5L);
    }

    static void otherModesOfTheDriver(Connection unused) throws Exception {
        String[][] modes = {{"preferQueryMode", "simple"}, {"preferQueryMode", "extendedForPrepared"}, {"prepareThreshold", "1"},
            {"binaryTransfer", "false"}, {"targetServerType", "primary"}, {"assumeMinServerVersion", "15"}};
        for (String[] mode : modes) {
            try (Connection connection = connect(mode);
                PreparedStatement statement = connection.prepareStatement("SELECT count(*) FROM riders WHERE plan = ?")) {
                for (int time = 0; time < 2; time++) {
                    statement.setString(1, "day");
                    try (ResultSet rows = statement.executeQuery()) {
                        holds(rows.next() && rows.getObject(1) instanceof Long, mode[1]);
                    }
                }
            } catch (Exception error) {
                throw new AssertionError(mode[0] + "=" + mode[1], error);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Check> checks = new LinkedHashMap<>();
        checks.put("metadata shows what the policy shows", Suite::metadataShowsWhatThePolicyShows);
        checks.put("groups have names and types", Suite::groupsHaveNamesAndTypes);
        checks.put("prepared statements become the server's", Suite::preparedStatementsBecomeTheServers);
        checks.put("values of every kind", Suite::valuesOfEveryKind);
        checks.put("portals read a few rows at a time", Suite::portalsReadAFewRowsAtATime);
        checks.put("COPY is a stream", Suite::copyIsAStream);
        checks.put("errors have their SQLSTATEs", Suite::errorsHaveTheirSqlstates);
        checks.put("transactions and savepoints", Suite::transactionsAndSavepoints);
        checks.put("batches and many results", Suite::batchesAndManyResults);
        checks.put("sessions are reset", Suite::sessionsAreReset);
        checks.put("a timeout and a cancel leave the session usable", Suite::aTimeoutAndACancelLeaveTheSessionUsable);
        checks.put("other modes of the driver", Suite::otherModesOfTheDriver);
        int failed = 0;
        for (Map.Entry<String, Check> check : checks.entrySet()) {
            try (Connection connection = connect()) {
                check.getValue().run(connection);
                System.out.println("ok    " + check.getKey());
            } catch (Exception | AssertionError error) {
                failed += 1;
                System.out.println("FAIL  " + check.getKey() + ": " + error + " " + java.util.Arrays.stream(error.getStackTrace())
                    .filter(frame -> frame.getClassName().equals("Suite")).findFirst().orElse(null)
                    + (error.getCause() == null ? "" : "; " + error.getCause()));
            }
        }
        System.out.println("pgJDBC: " + (checks.size() - failed) + " passed, " + failed + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }
}
