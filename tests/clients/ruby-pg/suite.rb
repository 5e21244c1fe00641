# Ruby's pg, over TLS and with a password. Prints one line for each check and, last, how many passed; the exit status says whether
# all did.
require 'pg'
require 'timeout'

PER_PLAN = 'SELECT plan, count(*) AS n FROM riders GROUP BY plan ORDER BY plan'
MORE = { sslmode: 'verify-full', sslrootcert: ENV['PGSSLROOTCERT'] }.freeze

def equal(found, expected)
  raise "#{found.inspect} is not #{expected.inspect}" unless found == expected
end

def failing(state)
  yield
rescue PG::Error => e
  equal(e.result&.error_field(PG::PG_DIAG_SQLSTATE), state)
  e
else
  raise "answered, and not refused with #{state}"
end

CHECKS = {
  'it is connected over TLS, to what says it is PostgreSQL' => lambda do |c|
    equal(c.ssl_in_use?, true)
    raise c.server_version.to_s if c.server_version < 130_000
    equal(c.parameter_status('client_encoding'), 'UTF8')
  end,
  'aggregates, plain and with parameters' => lambda do |c|
    equal(c.exec(PER_PLAN).column_values(0).first(3), %w[day month year])
    sql = 'SELECT plan, count(*) FROM riders WHERE birth_year > $1 AND plan = ANY($2) GROUP BY plan ORDER BY 1'
    c.prepare('of_plans', sql)
    [1960, 1970].each do |year|
      found = c.exec_prepared('of_plans', [year, '{day,year}'])
      equal(found.column_values(0), %w[day year])
      raise found.values.inspect unless found.column_values(1).all? { |n| n.to_i > 0 }
    end
    equal(c.describe_prepared('of_plans').paramtype(0), 23)
    c.exec('DEALLOCATE of_plans')
  end,
  'values of every kind are read and given' => lambda do |c|
    typed = PG::BasicTypeMapForResults.new(c)
    sql = "SELECT true, 7::int2, 1099511627776, 1.5::float8, 'ä', null, ARRAY[1, 2], date '2024-02-29'"
    row = c.exec(sql).map_types!(typed).values.first
    equal(row, [true, 7, 1_099_511_627_776, 1.5, 'ä', nil, [1, 2], Date.new(2024, 2, 29)])
    given = c.exec_params('SELECT $1::int8 + 1, $2::text, $3::numeric(6,2)', [41, "it's ä", '1.5'])
    equal(given.values, [['42', "it's ä", '1.50']])
    binary = c.exec_params('SELECT $1::bytea, 7::int4', [{ value: "\x00\xFF".b, format: 1 }], 1)
    equal(binary.values, [["\x00\xFF".b, [7].pack('N')]])
  end,
  'months of a year are groups, in a filter with times of Ruby' => lambda do |c|
    sql = "SELECT date_trunc('month', started_at) AS month, count(*) FROM trips WHERE started_at >= $1 AND started_at < $2 GROUP BY 1"
    equal(c.exec_params(sql, [Time.utc(2024, 1, 1).to_s, Time.utc(2025, 1, 1).to_s]).ntuples, 12)
  end,
  'rows one by one, and a pipeline' => lambda do |c|
    c.send_query('SELECT station FROM stations')
    c.set_single_row_mode
    names = []
    c.get_result.stream_each { |row| names << row['station'] }
    c.discard_results
    raise names.size.to_s unless names.size > 20
    c.enter_pipeline_mode
    c.send_query_params(PER_PLAN, [])
    c.send_query_params('SELECT $1::int', [5])
    c.pipeline_sync
    sizes = []
    loop do
      result = c.get_result
      break if result&.result_status == PG::PGRES_PIPELINE_SYNC
      sizes << result.ntuples if result
    end
    c.exit_pipeline_mode
    equal(sizes.last, 1)
  end,
  'COPY, as text and in binary' => lambda do |c|
    lines = []
    c.copy_data('COPY (SELECT station, capacity FROM stations) TO STDOUT (FORMAT csv)') { while (line = c.get_copy_data) do lines << line end }
    raise lines.size.to_s unless lines.size > 20
    rows = []
    decoder = PG::TextDecoder::CopyRow.new
    c.copy_data('COPY (SELECT station, capacity FROM stations) TO STDOUT', decoder) { while (row = c.get_copy_data) do rows << row end }
    equal([rows.size, rows.first.size], [lines.size, 2])
    bytes = +''
    c.copy_data('COPY (SELECT station FROM stations) TO STDOUT (FORMAT binary)') { while (part = c.get_copy_data) do bytes << part end }
    equal(bytes[0, 6], 'PGCOPY')
  end,
  'errors have a SQLSTATE and a position' => lambda do |c|
    failing('0A000') { c.exec('SELECT * FROM trips') }
    failing('42P01') { c.exec('SELECT count(*) FROM nothing') }
    failing('42501') { c.exec('DELETE FROM trips') }
    failing('22012') { c.exec('SELECT 1/0') }
    e = failing('42703') { c.exec('SELECT count(nonsense) FROM trips') }
    equal(e.class, PG::UndefinedColumn)
    equal(e.result.error_field(PG::PG_DIAG_STATEMENT_POSITION), '14')
  end,
  'what an answer cost is a notice' => lambda do |c|
    told = []
    c.set_notice_processor { |text| told << text }
    c.exec('SELECT count(*) FROM riders WHERE birth_year > 1971')
    raise told.inspect unless told.any? { |text| text.include?('spent') }
  end,
  'transactions and savepoints' => lambda do |c|
    c.transaction do |t|
      t.exec('SAVEPOINT before')
      failing('42703') { t.exec('SELECT nonsense FROM trips') }
      t.exec('ROLLBACK TO before')
      equal(t.exec('SELECT 5').getvalue(0, 0), '5')
    end
    equal(c.transaction_status, PG::PQTRANS_IDLE)
  end,
  'what a session sets is reset' => lambda do |c|
    c.exec("SET timezone = 'Asia/Tokyo'")
    c.exec('DISCARD ALL')
    equal(c.exec('SHOW timezone').getvalue(0, 0), 'UTC')
    c.reset
    equal(c.exec('SELECT 6').getvalue(0, 0), '6')
  end,
  'a cancel leaves the session usable' => lambda do |c|
    c.send_query('SELECT count(*) FROM stations a, stations b, stations c, stations d, stations e, stations f')
    sleep 0.3
    c.cancel
    failing('57014') { c.get_last_result }
    equal(c.exec('SELECT 7').getvalue(0, 0), '7')
  end
}.freeze

failed = 0
CHECKS.each do |name, check|
  Timeout.timeout(120) do
    connection = PG.connect(**MORE)
    check.call(connection)
    connection.close
  end
  puts "ok    #{name}"
rescue StandardError => e
  failed += 1
  puts "FAIL  #{name}: #{e.class}: #{e.message} #{e.backtrace.first(3).join(' ')}"
end
puts "ruby-pg: #{CHECKS.size - failed} passed, #{failed} failed"
exit(failed.zero? ? 0 : 1)
