-- Views over the catalogs, as a policy shows them: each is a statement like a client's, over the relations of
-- `relations.rs`. A line that begins with two hyphens and an equals sign names the view that follows.

--= pg_catalog.pg_tables
SELECT n.nspname AS schemaname, c.relname AS tablename, pg_get_userbyid(c.relowner) AS tableowner, NULL::name AS tablespace,
       c.relhasindex AS hasindexes, c.relhasrules AS hasrules, c.relhastriggers AS hastriggers, c.relrowsecurity AS rowsecurity
  FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p')

--= pg_catalog.pg_views
SELECT n.nspname AS schemaname, c.relname AS viewname, pg_get_userbyid(c.relowner) AS viewowner, NULL::text AS definition
  FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind = 'v'

--= pg_catalog.pg_matviews
SELECT n.nspname AS schemaname, c.relname AS matviewname, pg_get_userbyid(c.relowner) AS matviewowner,
       NULL::name AS tablespace, c.relhasindex AS hasindexes, c.relispopulated AS ispopulated, NULL::text AS definition
  FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind = 'm'

--= pg_catalog.pg_indexes
SELECT n.nspname AS schemaname, c.relname AS tablename, i.relname AS indexname, NULL::name AS tablespace,
       pg_get_indexdef(i.oid) AS indexdef
  FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
  JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'm', 'p') AND i.relkind IN ('i', 'I')

--= pg_catalog.pg_stat_all_tables
SELECT c.oid AS relid, n.nspname AS schemaname, c.relname AS relname, 0 AS seq_scan, 0 AS seq_tup_read, 0 AS idx_scan,
       0 AS idx_tup_fetch, 0 AS n_tup_ins, 0 AS n_tup_upd, 0 AS n_tup_del, 0 AS n_tup_hot_upd, 0 AS n_tup_newpage_upd,
       0 AS n_live_tup, 0 AS n_dead_tup, 0 AS n_mod_since_analyze, 0 AS n_ins_since_vacuum, 0 AS vacuum_count,
       0 AS autovacuum_count, 0 AS analyze_count, 0 AS autoanalyze_count
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'm', 'p')

--= pg_catalog.pg_stat_user_tables
SELECT * FROM pg_catalog.pg_stat_all_tables s WHERE s.schemaname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')

--= pg_catalog.pg_stat_sys_tables
SELECT * FROM pg_catalog.pg_stat_all_tables s WHERE s.schemaname IN ('pg_catalog', 'information_schema', 'pg_toast')

--= pg_catalog.pg_statio_all_tables
SELECT c.oid AS relid, n.nspname AS schemaname, c.relname AS relname, 0 AS heap_blks_read, 0 AS heap_blks_hit,
       0 AS idx_blks_read, 0 AS idx_blks_hit, 0 AS toast_blks_read, 0 AS toast_blks_hit, 0 AS tidx_blks_read,
       0 AS tidx_blks_hit
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'm')

--= pg_catalog.pg_statio_user_tables
SELECT * FROM pg_catalog.pg_statio_all_tables s WHERE s.schemaname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')

--= information_schema.schemata
SELECT current_database() AS catalog_name, n.nspname AS schema_name, pg_get_userbyid(n.nspowner) AS schema_owner,
       NULL::name AS default_character_set_catalog, NULL::name AS default_character_set_schema,
       NULL::name AS default_character_set_name, NULL::varchar AS sql_path
  FROM pg_catalog.pg_namespace n

--= information_schema.tables
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       (CASE WHEN c.relkind IN ('r', 'p') THEN 'BASE TABLE' WHEN c.relkind = 'v' THEN 'VIEW' ELSE 'FOREIGN' END)::varchar
           AS table_type,
       NULL::name AS self_referencing_column_name, NULL::varchar AS reference_generation,
       NULL::name AS user_defined_type_catalog, NULL::name AS user_defined_type_schema, NULL::name AS user_defined_type_name,
       'NO'::varchar AS is_insertable_into, 'NO'::varchar AS is_typed, NULL::varchar AS commit_action
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'v', 'f', 'p')

--= information_schema.views
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       NULL::varchar AS view_definition, 'NONE'::varchar AS check_option, 'NO'::varchar AS is_updatable,
       'NO'::varchar AS is_insertable_into, 'NO'::varchar AS is_trigger_updatable, 'NO'::varchar AS is_trigger_deletable,
       'NO'::varchar AS is_trigger_insertable_into
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind = 'v'

--= information_schema.columns
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name,
       a.attnum::int4 AS ordinal_position, (SELECT d.adbin FROM pg_catalog.pg_attrdef d
           WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum)::varchar AS column_default,
       (CASE WHEN a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) THEN 'NO' ELSE 'YES' END)::varchar AS is_nullable,
       (CASE WHEN b.typelem <> 0 AND b.typlen = -1 THEN 'ARRAY' WHEN bn.nspname = 'pg_catalog' THEN format_type(b.oid, NULL)
             ELSE 'USER-DEFINED' END)::varchar AS data_type,
       (CASE WHEN b.typname IN ('varchar', 'bpchar') AND m.typmod > 0 THEN m.typmod - 4 END)::int4 AS character_maximum_length,
       (CASE WHEN b.typname IN ('varchar', 'bpchar') AND m.typmod > 0 THEN (m.typmod - 4) * 4
             WHEN b.typname IN ('text', 'varchar', 'bpchar') THEN 1073741824 END)::int4 AS character_octet_length,
       (CASE b.typname WHEN 'int2' THEN 16 WHEN 'int4' THEN 32 WHEN 'int8' THEN 64 WHEN 'float4' THEN 24 WHEN 'float8' THEN 53
             WHEN 'numeric' THEN CASE WHEN m.typmod > 0 THEN ((m.typmod - 4) / 65536) END END)::int4 AS numeric_precision,
       (CASE WHEN b.typname IN ('int2', 'int4', 'int8', 'float4', 'float8') THEN 2 WHEN b.typname = 'numeric' THEN 10 END)::int4
           AS numeric_precision_radix,
       (CASE WHEN b.typname IN ('int2', 'int4', 'int8') THEN 0
             WHEN b.typname = 'numeric' AND m.typmod > 0 THEN (m.typmod - 4) % 65536 END)::int4 AS numeric_scale,
       (CASE WHEN b.typname = 'date' THEN 0 WHEN b.typname IN ('time', 'timetz', 'timestamp', 'timestamptz')
             THEN CASE WHEN m.typmod < 0 THEN 6 ELSE m.typmod END END)::int4 AS datetime_precision,
       NULL::varchar AS interval_type, NULL::int4 AS interval_precision,
       NULL::name AS character_set_catalog, NULL::name AS character_set_schema, NULL::name AS character_set_name,
       NULL::name AS collation_catalog, NULL::name AS collation_schema, NULL::name AS collation_name,
       (CASE WHEN t.typtype = 'd' THEN current_database() END)::name AS domain_catalog,
       (CASE WHEN t.typtype = 'd' THEN tn.nspname END)::name AS domain_schema,
       (CASE WHEN t.typtype = 'd' THEN t.typname END)::name AS domain_name,
       current_database() AS udt_catalog, bn.nspname AS udt_schema, b.typname AS udt_name,
       NULL::name AS scope_catalog, NULL::name AS scope_schema, NULL::name AS scope_name, NULL::int4 AS maximum_cardinality,
       (a.attnum)::text::name AS dtd_identifier, 'NO'::varchar AS is_self_referencing, 'NO'::varchar AS is_identity,
       NULL::varchar AS identity_generation, NULL::varchar AS identity_start, NULL::varchar AS identity_increment,
       NULL::varchar AS identity_maximum, NULL::varchar AS identity_minimum, 'NO'::varchar AS identity_cycle,
       'NEVER'::varchar AS is_generated, NULL::varchar AS generation_expression, 'NO'::varchar AS is_updatable
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
  JOIN pg_catalog.pg_type b ON b.oid = (CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END)
  JOIN pg_catalog.pg_namespace bn ON bn.oid = b.typnamespace
  JOIN LATERAL (SELECT (CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END) AS typmod) m ON true
 WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p')

--= information_schema.table_constraints
SELECT current_database() AS constraint_catalog, cn.nspname AS constraint_schema, k.conname AS constraint_name,
       current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
       (CASE k.contype WHEN 'f' THEN 'FOREIGN KEY' WHEN 'p' THEN 'PRIMARY KEY' ELSE 'UNIQUE' END)::varchar AS constraint_type,
       (CASE WHEN k.condeferrable THEN 'YES' ELSE 'NO' END)::varchar AS is_deferrable,
       (CASE WHEN k.condeferred THEN 'YES' ELSE 'NO' END)::varchar AS initially_deferred, 'YES'::varchar AS enforced
  FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_namespace cn ON cn.oid = k.connamespace
  JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE k.contype IN ('p', 'u', 'f') AND c.relkind IN ('r', 'p')

--= information_schema.key_column_usage
SELECT current_database() AS constraint_catalog, cn.nspname AS constraint_schema, k.conname AS constraint_name,
       current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name,
       s.n::int4 AS ordinal_position,
       (CASE WHEN k.contype = 'f' THEN (SELECT u.o FROM generate_series(1, 32) AS u(o)
            WHERE i.indkey[u.o - 1] = k.confkey[s.n]) END)::int4 AS position_in_unique_constraint
  FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_namespace cn ON cn.oid = k.connamespace
  JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN generate_series(1, 32) AS s(n) ON k.conkey[s.n] IS NOT NULL
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[s.n]
  LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = k.conindid
 WHERE k.contype IN ('p', 'u', 'f') AND c.relkind IN ('r', 'p')

--= information_schema.referential_constraints
SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, k.conname AS constraint_name,
       (CASE WHEN u.conname IS NULL THEN NULL ELSE current_database() END)::name AS unique_constraint_catalog,
       un.nspname AS unique_constraint_schema, u.conname AS unique_constraint_name,
       (CASE k.confmatchtype WHEN 'f' THEN 'FULL' WHEN 'p' THEN 'PARTIAL' ELSE 'NONE' END)::varchar AS match_option,
       (CASE k.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT'
             WHEN 'r' THEN 'RESTRICT' ELSE 'NO ACTION' END)::varchar AS update_rule,
       (CASE k.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT'
             WHEN 'r' THEN 'RESTRICT' ELSE 'NO ACTION' END)::varchar AS delete_rule
  FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_namespace n ON n.oid = k.connamespace
  LEFT JOIN pg_catalog.pg_constraint u ON u.conindid = k.conindid AND u.contype IN ('p', 'u') AND u.conrelid = k.confrelid
  LEFT JOIN pg_catalog.pg_namespace un ON un.oid = u.connamespace
 WHERE k.contype = 'f'

--= information_schema.constraint_column_usage
SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name, a.attname AS column_name,
       current_database() AS constraint_catalog, cn.nspname AS constraint_schema, k.conname AS constraint_name
  FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_namespace cn ON cn.oid = k.connamespace
  JOIN pg_catalog.pg_class c ON c.oid = (CASE WHEN k.contype = 'f' THEN k.confrelid ELSE k.conrelid END)
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN generate_series(1, 32) AS s(n) ON true
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
   AND a.attnum = (CASE WHEN k.contype = 'f' THEN k.confkey[s.n] ELSE k.conkey[s.n] END)
 WHERE k.contype IN ('p', 'u', 'f') AND c.relkind IN ('r', 'p')

--= information_schema.character_sets
SELECT NULL::name AS character_set_catalog, NULL::name AS character_set_schema, 'UTF8'::name AS character_set_name,
       'UCS'::name AS character_repertoire, 'UTF8'::name AS form_of_use, current_database() AS default_collate_catalog,
       'pg_catalog'::name AS default_collate_schema, NULL::name AS default_collate_name

