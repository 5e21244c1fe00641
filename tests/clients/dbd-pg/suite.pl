# Perl's DBD::Pg, over TLS and with a password. Prints one line for each check and, last, how many passed; the exit status says
# whether all did.
use strict;
use warnings;
use utf8;
use DBI;
use DBD::Pg ':async';
use Test::More;

$SIG{ALRM} = sub { die "too slow\n" };
alarm 240;

sub connection {
    my %more = @_;
    return DBI->connect("dbi:Pg:sslmode=verify-full", undef, undef, { RaiseError => 1, PrintError => 0, PrintWarn => 0, %more });
}

# The rows of a statement handle, as hashes.
sub rows { return @{ $_[0]->fetchall_arrayref({}) } }

my $dbh = connection();
ok($dbh->ping, 'it answers a ping');
is($dbh->pg_ping, 1, 'outside of transactions, too');

subtest 'tables, columns, keys and indexes are found' => sub {
    is_deeply(
        [ sort map { $_->{TABLE_NAME} } rows($dbh->table_info(undef, 'public', '%', 'TABLE')) ],
        [qw(payments riders stations trips)], 'table_info'
    );
    ok((grep { $_ eq 'noisegate.budget' } $dbh->tables(undef, 'noisegate', undef, undef)), 'views of noisegate');
    my %column = map { $_->{COLUMN_NAME} => $_ } rows($dbh->column_info(undef, 'public', 'trips', '%'));
    is($column{minutes}{TYPE_NAME}, 'integer', 'a type');
    is($column{rider_id}{REMARKS}, 'noisegate: the unit', 'a comment');
    is($column{rider_id}{NULLABLE}, 0, 'NOT NULL');
    is_deeply([ $dbh->primary_key(undef, 'public', 'riders') ], ['rider_id'], 'primary_key');
    my ($foreign) = rows($dbh->foreign_key_info(undef, undef, undef, undef, 'public', 'trips'));
    is($foreign->{UK_TABLE_NAME}, 'riders', 'foreign_key_info');
    my @statistics = rows($dbh->statistics_info(undef, 'public', 'riders', 0, 0));
    is_deeply(
        [ map { [ $_->{TYPE}, $_->{COLUMN_NAME}, $_->{ASC_OR_DESC} ] } @statistics ],
        [ [ 'btree', 'rider_id', 'A' ], [ 'table', undef, undef ] ], 'statistics_info'
    );
    ok($dbh->type_info_all, 'type_info_all');
};

subtest 'aggregates, plain and with placeholders' => sub {
    my $groups = $dbh->selectall_arrayref('SELECT plan, count(*) AS n FROM riders GROUP BY plan ORDER BY plan');
    is_deeply([ map { $_->[0] } @$groups[ 0 .. 2 ] ], [qw(day month year)], 'groups');
    my $question =
        $dbh->prepare('SELECT plan, count(*) FROM riders WHERE birth_year > ? AND plan = ANY(?) GROUP BY plan ORDER BY 1');
    for my $year (1960, 1970) {
        $question->execute($year, [ 'day', 'year' ]);
        is_deeply([ map { $_->[0] } @{ $question->fetchall_arrayref } ], [ 'day', 'year' ], "since $year");
    }
    ok($question->{pg_prepare_name}, 'it was prepared');
};

subtest 'values of every kind' => sub {
    my $row = $dbh->selectrow_arrayref(
        q{SELECT true, 7::int2, 1099511627776, 1.5::float8, 12.340, 'ä', date '2024-02-29', null, ARRAY['a', 'b c'],
          '\x00ff'::bytea}
    );
    is_deeply(
        $row, [ 1, 7, 1099511627776, 1.5, '12.340', "\x{e4}", '2024-02-29', undef, [ 'a', 'b c' ], "\x00\xff" ], 'read'
    );
    my $given = $dbh->prepare('SELECT ?::int8 + 1, ?::text, ?::numeric(6,2), ?::bytea');
    $given->bind_param(4, "\x00\xff", { pg_type => DBD::Pg::PG_BYTEA });
    $given->execute(41, "it's \x{e4}", '1.5', "\x00\xff");
    is_deeply($given->fetchrow_arrayref, [ 42, "it's \x{e4}", '1.50', "\x00\xff" ], 'given');
};

subtest 'cursors' => sub {
    $dbh->begin_work;
    $dbh->do('DECLARE c SCROLL CURSOR FOR SELECT station FROM stations ORDER BY 1');
    my @first = @{ $dbh->selectcol_arrayref('FETCH 3 FROM c') };
    is(scalar @first, 3, 'forward');
    is_deeply($dbh->selectcol_arrayref('FETCH BACKWARD 2 FROM c'), [ @first[ 1, 0 ] ], 'and back');
    $dbh->do('CLOSE c');
    $dbh->commit;
};

subtest 'COPY' => sub {
    $dbh->do('COPY (SELECT station, capacity FROM stations) TO STDOUT (FORMAT csv)');
    my ($line, $lines) = ('', 0);
    while ($dbh->pg_getcopydata(\$line) >= 0) { $lines++ }
    cmp_ok($lines, '>', 20, 'rows');
    $dbh->do('COPY (SELECT station FROM stations) TO STDOUT (FORMAT binary)');
    my ($data, $bytes) = ('', '');
    while ($dbh->pg_getcopydata(\$data) >= 0) { $bytes .= $data }
    is(substr($bytes, 0, 6), 'PGCOPY', 'binary');
};

subtest 'errors have a SQLSTATE and a position' => sub {
    for (
        [ 'SELECT * FROM trips',              '0A000' ],
        [ 'SELECT count(*) FROM nothing',     '42P01' ],
        [ 'DELETE FROM trips',                '42501' ],
        [ 'SELECT count(nonsense) FROM trips', '42703' ],
        [ 'SELECT 1/0',                       '22012' ],
        )
    {
        my ($sql, $state) = @$_;
        ok(!eval { $dbh->do($sql); 1 }, "refused: $sql");
        is($dbh->state, $state, "SQLSTATE $state");
    }
    eval { $dbh->do('SELECT count(nonsense) FROM trips') };
    is($dbh->pg_error_field('statement_position'), 14, 'the position');
    ok($dbh->pg_error_field('primary') =~ /nonsense/, 'the message');
};

subtest 'savepoints' => sub {
    $dbh->begin_work;
    $dbh->pg_savepoint('before');
    ok(!eval { $dbh->do('SELECT nonsense FROM trips'); 1 }, 'an error after a savepoint');
    $dbh->pg_rollback_to('before');
    is($dbh->selectrow_array('SELECT 5'), 5, 'and back');
    $dbh->pg_release('before');
    $dbh->rollback;
};

subtest 'what a session sets is reset' => sub {
    $dbh->do(q{SET timezone = 'Asia/Tokyo'});
    $dbh->do('DISCARD ALL');
    is($dbh->selectrow_array('SHOW timezone'), 'UTC', 'DISCARD ALL');
    my $again = $dbh->clone;
    is($again->selectrow_array('SELECT 6'), 6, 'a clone of a connection');
    $again->disconnect;
};

subtest 'a cancel leaves the session usable' => sub {
    my $slow = connection();
    $slow->do('SELECT count(*) FROM stations a, stations b, stations c, stations d, stations e, stations f', { pg_async => PG_ASYNC });
    ok(!$slow->pg_ready, 'it runs');
    ok($slow->pg_cancel, 'and was cancelled');
    is($slow->selectrow_array('SELECT 7'), 7, 'the next one is answered');
    $slow->disconnect;
};

$dbh->disconnect;
done_testing();
