<?php
// PHP's PDO and its functions pg_*, over TLS and with a password. Prints one line for each check and, last, how many passed; the
// exit status says whether all did.
declare(strict_types=1);
set_error_handler(function (int $kind, string $text): bool {
    throw new ErrorException($text, 0, $kind);
});

const PER_PLAN = 'SELECT plan, count(*) AS n FROM riders GROUP BY plan ORDER BY plan';

function equal(mixed $found, mixed $expected): void
{
    if ($found !== $expected) {
        throw new Exception(json_encode($found) . ' is not ' . json_encode($expected));
    }
}

function pdo(array $more = []): PDO
{
    $where = sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('PGHOST'), getenv('PGPORT'), getenv('PGDATABASE'));
    $tls = ';sslmode=verify-full;sslrootcert=' . getenv('PGSSLROOTCERT');
    return new PDO($where . $tls, getenv('PGUSER'), getenv('PGPASSWORD'), $more + [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
}

function failing(string $state, callable $work): string
{
    try {
        $work();
    } catch (PDOException $e) {
        equal($e->errorInfo[0], $state);
        return $e->getMessage();
    }
    throw new Exception("answered, and not refused with $state");
}

$checks = [
    'it is connected, to what says it is PostgreSQL' => function (): void {
        $pdo = pdo();
        equal($pdo->getAttribute(PDO::ATTR_DRIVER_NAME), 'pgsql');
        equal(version_compare($pdo->getAttribute(PDO::ATTR_SERVER_VERSION), '13', '>='), true);
    },
    'aggregates, plain and with parameters' => function (): void {
        $pdo = pdo();
        equal(array_slice($pdo->query(PER_PLAN)->fetchAll(PDO::FETCH_COLUMN), 0, 3), ['day', 'month', 'year']);
        $asked = $pdo->prepare('SELECT plan, count(*) FROM riders WHERE birth_year > :year AND plan = ANY(:plans) GROUP BY plan ORDER BY 1');
        foreach ([1960, 1970] as $year) {
            $asked->execute(['year' => $year, 'plans' => '{day,year}']);
            equal($asked->fetchAll(PDO::FETCH_COLUMN), ['day', 'year']);
        }
    },
    'the same without statements that the server prepares' => function (): void {
        $pdo = pdo([PDO::ATTR_EMULATE_PREPARES => true]);
        $asked = $pdo->prepare('SELECT count(*) AS n FROM riders WHERE plan = ?');
        $asked->execute(["day"]);
        equal($asked->fetch(PDO::FETCH_OBJ)->n > 0, true);
    },
    'values of every kind' => function (): void {
        $row = pdo()->query("SELECT true, 7::int2, 1099511627776, 1.5::float8, 12.340, 'ä', date '2024-02-29', null")->fetch(PDO::FETCH_NUM);
        equal([$row[0], $row[1], $row[2], (float) $row[3], $row[4], $row[5], $row[6], $row[7]], [true, 7, 1099511627776, 1.5, '12.340', 'ä', '2024-02-29', null]);
        $asked = pdo()->prepare('SELECT ?::int8 + 1, ?::text, ?::bool');
        $asked->bindValue(1, 41, PDO::PARAM_INT);
        $asked->bindValue(2, "it's ä");
        $asked->bindValue(3, true, PDO::PARAM_BOOL);
        $asked->execute();
        equal($asked->fetch(PDO::FETCH_NUM), [42, "it's ä", true]);
    },
    'columns are described' => function (): void {
        $asked = pdo()->query('SELECT plan, count(*) AS n, avg(birth_year) AS year FROM riders GROUP BY plan');
        equal(array_map(fn (int $i): string => $asked->getColumnMeta($i)['native_type'], [0, 1, 2]), ['text', 'int8', 'numeric']);
        equal($asked->getColumnMeta(1)['name'], 'n');
    },
    'cursors that scroll' => function (): void {
        $pdo = pdo();
        $pdo->beginTransaction();
        $asked = $pdo->prepare('SELECT station FROM stations ORDER BY 1', [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
        $asked->execute();
        $first = $asked->fetchColumn();
        $asked->fetch();
        equal($asked->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_ABS, 1), [$first]);
        $asked->closeCursor();
        $pdo->commit();
    },
    'errors have a SQLSTATE' => function (): void {
        $pdo = pdo();
        failing('0A000', fn () => $pdo->query('SELECT * FROM trips'));
        failing('42P01', fn () => $pdo->query('SELECT count(*) FROM nothing'));
        failing('42501', fn () => $pdo->exec('DELETE FROM trips'));
        failing('22012', fn () => $pdo->query('SELECT 1/0'));
        equal(str_contains(failing('42703', fn () => $pdo->query('SELECT count(nonsense) FROM trips')), 'nonsense'), true);
    },
    'transactions and savepoints' => function (): void {
        $pdo = pdo();
        $pdo->beginTransaction();
        $pdo->exec('SAVEPOINT before');
        failing('42703', fn () => $pdo->query('SELECT nonsense FROM trips'));
        $pdo->exec('ROLLBACK TO before');
        equal($pdo->query('SELECT 5')->fetchColumn(), 5);
        $pdo->rollBack();
        equal($pdo->inTransaction(), false);
    },
    'COPY' => function (): void {
        $rows = pdo()->pgsqlCopyToArray('(SELECT station, capacity FROM stations)');
        equal(count($rows) > 20, true);
    },
    'pg_query_params, pg_meta_data, pg_field_table, notices' => function (): void {
        $c = pg_connect('sslmode=verify-full sslrootcert=' . getenv('PGSSLROOTCERT'));
        $answer = pg_query_params($c, 'SELECT plan, count(*) AS n FROM riders WHERE birth_year > $1 GROUP BY plan ORDER BY 1', [1972]);
        equal(array_slice(pg_fetch_all_columns($answer, 0), 0, 3), ['day', 'month', 'year']);
        equal(pg_field_type($answer, 1), 'int8');
        equal(str_contains(implode(' ', pg_last_notice($c, PGSQL_NOTICE_ALL)), 'spent'), true);
        equal(pg_meta_data($c, 'trips')['minutes']['type'], 'int4');
        equal(pg_parameter_status($c, 'client_encoding'), 'UTF8');
        pg_send_query($c, 'SELECT * FROM trips');
        equal(pg_result_error_field(pg_get_result($c), PGSQL_DIAG_SQLSTATE), '0A000');
        pg_close($c);
    },
    'connections that last are clean when they come again' => function (): void {
        $one = pdo([PDO::ATTR_PERSISTENT => true]);
        $one->exec("SET noisegate.epsilon = 0.5");
        $one->exec('DISCARD ALL');
        $one = null;
        $again = pdo([PDO::ATTR_PERSISTENT => true]);
        equal($again->query('SHOW noisegate.epsilon')->fetchColumn() !== '0.5', true);
    },
];

$failed = 0;
foreach ($checks as $name => $check) {
    try {
        $check();
        echo "ok    $name\n";
    } catch (Throwable $e) {
        $failed++;
        echo "FAIL  $name: " . get_class($e) . ': ' . $e->getMessage() . ' at ' . $e->getLine() . "\n";
    }
}
printf("PHP: %d passed, %d failed\n", count($checks) - $failed, $failed);
exit($failed === 0 ? 0 : 1);
