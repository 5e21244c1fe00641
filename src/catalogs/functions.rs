//! The list of functions over catalogs. What is not here does not exist.
//!
//! Plain functions read nothing but their arguments. Those that look into catalogs, sizes or the session are templates over
//! what the policy shows: they never reach the server's own function unless the object that is asked for is shown.

/// Functions that are printed as they are, in `pg_catalog`.
pub const PLAIN: &[&str] = &[
    // Aggregates.
    "array_agg",
    "string_agg",
    "count",
    "min",
    "max",
    "sum",
    "avg",
    "bool_and",
    "bool_or",
    "every",
    "json_agg",
    "jsonb_agg",
    "json_object_agg",
    "jsonb_object_agg",
    // Window functions.
    "row_number",
    "rank",
    "dense_rank",
    "first_value",
    "last_value",
    "lag",
    "lead",
    "ntile",
    // Text.
    "lower",
    "upper",
    "initcap",
    "length",
    "char_length",
    "octet_length",
    "btrim",
    "ltrim",
    "rtrim",
    "substr",
    "substring",
    "left",
    "right",
    "replace",
    "translate",
    "concat",
    "concat_ws",
    "strpos",
    "split_part",
    "reverse",
    "md5",
    "ascii",
    "starts_with",
    "quote_ident",
    "quote_literal",
    "quote_nullable",
    "format",
    "like_escape",
    "regexp_replace",
    "regexp_match",
    "regexp_matches",
    "regexp_split_to_array",
    "regexp_split_to_table",
    "parse_ident",
    "string_to_array",
    "array_to_string",
    "to_char",
    "position",
    "host",
    "encode",
    // Arrays and rows.
    "array_length",
    "array_upper",
    "array_lower",
    "array_ndims",
    "array_position",
    "array_positions",
    "array_append",
    "array_prepend",
    "array_cat",
    "array_remove",
    "array_replace",
    "cardinality",
    "unnest",
    "generate_subscripts",
    // JSON.
    "json_build_object",
    "jsonb_build_object",
    "json_build_array",
    "jsonb_build_array",
    "to_json",
    "to_jsonb",
    // Numbers and choice.
    "abs",
    "ceil",
    "floor",
    "round",
    "trunc",
    "mod",
    "sign",
    "coalesce",
    "nullif",
    "greatest",
    "least",
    // The server's own tables of words.
    "pg_get_keywords",
    "pg_encoding_to_char",
    "pg_char_to_encoding",
    "pg_size_pretty",
    "version",
    // Locks that no session here holds.
    "pg_advisory_unlock_all",
    // Rows of what a relation shows of itself, which is NULL here.
    "pg_options_to_table",
    "aclexplode",
];

/// Functions in FROM that give several columns.
pub const COLUMNS: &[(&str, &[&str])] = &[
    ("pg_get_keywords", &["word", "catcode", "barelabel", "catdesc", "baredesc"]),
    ("_pg_expandarray", &["x", "n"]),
    ("pg_options_to_table", &["option_name", "option_value"]),
    ("aclexplode", &["grantor", "grantee", "privilege_type", "is_grantable"]),
];

/// Functions whose rows are those of a relation of `pg_catalog`; others of the server's own give none.
pub const BEHIND: &[(&str, &str)] = &[
    ("pg_show_all_settings", "pg_settings"),
    ("pg_timezone_names", "pg_timezone_names"),
    ("pg_timezone_abbrevs", "pg_timezone_abbrevs"),
];

/// Kind of a template's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// A relation, by OID or name; NULL where it is not shown.
    Relation,
    /// A type's OID; one that no type has where it is not shown.
    Type,
    /// A schema, by name.
    Schema,
    /// Anything, as it is.
    Any,
}

/// A function that is a text over its arguments.
pub struct Template {
    /// Name of the function.
    pub name: &'static str,
    /// Arguments; the last few may be missing.
    pub args: &'static [Arg],
    /// Number of arguments that there must be.
    pub least: usize,
    /// The text. `$1` is an argument; braces as in [`super::print`].
    pub text: &'static str,
}

const fn t(name: &'static str, args: &'static [Arg], least: usize, text: &'static str) -> Template {
    Template { name, args, least, text }
}

use Arg::{Any, Relation, Schema, Type};

const SIZE: &str = "CASE WHEN $1 IS NOT NULL THEN 0::pg_catalog.int8 END";
const CODE: &str = "NULL::pg_catalog.text";
const BUILT_IN: &str = "CASE WHEN $1 < 16384 THEN true END";
const COMMENT: &str =
    "(SELECT d.description FROM {pg_description} AS d WHERE d.objoid = $1 AND d.objsubid = 0 AND d.classoid = (SELECT c.oid
      FROM pg_catalog.pg_class AS c WHERE c.relname = $2 AND c.relnamespace = 11))";
/// SELECT is what analysts may.
const TABLE_RIGHT: &str =
    "CASE WHEN $1 IS NOT NULL THEN pg_catalog.upper($2) IN ('SELECT', 'SELECT WITH GRANT OPTION')
    AND pg_catalog.upper($2) NOT LIKE '%GRANT%' END";
const SCHEMA_RIGHT: &str = "CASE WHEN $1 = ANY({schemas}) THEN pg_catalog.upper($2) = 'USAGE' END";

/// All of them; of those with one name the one with as many arguments is taken.
pub const TEMPLATES: &[Template] = &[
    t("format_type", &[Type, Any], 2, "pg_catalog.format_type($1, ($2)::pg_catalog.int4)"),
    t(
        "pg_table_is_visible",
        &[Relation],
        1,
        "CASE WHEN $1 < 16384 THEN pg_catalog.pg_table_is_visible($1) WHEN $1 IS NOT NULL THEN $1 = ANY({in_path}) END",
    ),
    t(
        "pg_type_is_visible",
        &[Type],
        1,
        "CASE WHEN $1 <> 1 THEN pg_catalog.pg_type_is_visible($1) END",
    ),
    t("pg_function_is_visible", &[Any], 1, "CASE WHEN $1 < 16384 THEN pg_catalog.pg_function_is_visible($1) END"),
    t("pg_collation_is_visible", &[Any], 1, "CASE WHEN $1 < 16384 THEN pg_catalog.pg_collation_is_visible($1) END"),
    t("pg_operator_is_visible", &[Any], 1, "CASE WHEN $1 < 16384 THEN pg_catalog.pg_operator_is_visible($1) END"),
    t("pg_opclass_is_visible", &[Any], 1, "CASE WHEN $1 < 16384 THEN pg_catalog.pg_opclass_is_visible($1) END"),
    t("pg_statistics_obj_is_visible", &[Any], 1, BUILT_IN),
    t("pg_get_expr", &[Any, Any, Any], 2, "($1)::pg_catalog.text"),
    t(
        "pg_get_constraintdef",
        &[Any, Any],
        1,
        "CASE WHEN $1 < 16384 OR $1 = ANY({constraints}) THEN pg_catalog.pg_get_constraintdef($*) END",
    ),
    t(
        "pg_get_indexdef",
        &[Any, Any, Any],
        1,
        "CASE WHEN $1 < 16384 OR $1 = ANY({indexes}) THEN pg_catalog.pg_get_indexdef($*) END",
    ),
    t(
        "pg_index_column_has_property",
        &[Relation, Any, Any],
        3,
        "CASE WHEN $1 < 16384 OR $1 = ANY({indexes})
         THEN pg_catalog.pg_index_column_has_property($1, ($2)::pg_catalog.int4, ($3)::pg_catalog.text) END",
    ),
    t(
        "pg_index_has_property",
        &[Relation, Any],
        2,
        "CASE WHEN $1 < 16384 OR $1 = ANY({indexes})
         THEN pg_catalog.pg_index_has_property($1, ($2)::pg_catalog.text) END",
    ),
    t(
        "pg_indexam_has_property",
        &[Any, Any],
        2,
        "CASE WHEN $1 < 16384 THEN pg_catalog.pg_indexam_has_property($1, ($2)::pg_catalog.text) END",
    ),
    t("pg_get_viewdef", &[Any, Any], 1, CODE),
    t("pg_get_ruledef", &[Any, Any], 1, CODE),
    t("pg_get_triggerdef", &[Any, Any], 1, CODE),
    t("pg_get_functiondef", &[Any], 1, CODE),
    t("pg_get_statisticsobjdef", &[Any], 1, CODE),
    t("pg_get_statisticsobjdef_columns", &[Any], 1, CODE),
    t("pg_get_partkeydef", &[Any], 1, CODE),
    t("pg_get_serial_sequence", &[Any, Any], 2, CODE),
    t("pg_tablespace_location", &[Any], 1, "CASE WHEN $1 IS NOT NULL THEN ''::pg_catalog.text END"),
    t(
        "pg_get_function_result",
        &[Any],
        1,
        "CASE WHEN $1 < 16384 THEN pg_catalog.pg_get_function_result($1) END",
    ),
    t(
        "pg_get_function_arguments",
        &[Any],
        1,
        "CASE WHEN $1 < 16384 THEN pg_catalog.pg_get_function_arguments($1) END",
    ),
    t(
        "pg_get_function_identity_arguments",
        &[Any],
        1,
        "CASE WHEN $1 < 16384 THEN pg_catalog.pg_get_function_identity_arguments($1) END",
    ),
    t(
        "pg_get_userbyid",
        &[Any],
        1,
        "(CASE ($1)::pg_catalog.oid WHEN 10 THEN 'noisegate' WHEN 16383 THEN {user}
          ELSE pg_catalog.concat('unknown (OID=', $1, ')') END)::pg_catalog.name",
    ),
    t("obj_description", &[Any, Any], 2, COMMENT),
    t(
        "obj_description",
        &[Any],
        1,
        "(SELECT d.description FROM {pg_description} AS d WHERE d.objoid = $1 AND d.objsubid = 0 LIMIT 1)",
    ),
    t("shobj_description", &[Any, Any], 2, CODE),
    t(
        "col_description",
        &[Relation, Any],
        2,
        "(SELECT d.description FROM {pg_description} AS d WHERE d.objoid = $1 AND d.objsubid = $2 AND d.classoid = 1259)",
    ),
    t("pg_table_size", &[Relation], 1, SIZE),
    t("pg_relation_size", &[Relation, Any], 1, SIZE),
    t("pg_total_relation_size", &[Relation], 1, SIZE),
    t("pg_indexes_size", &[Relation], 1, SIZE),
    t("pg_database_size", &[Any], 1, "0::pg_catalog.int8"),
    t("pg_tablespace_size", &[Any], 1, "0::pg_catalog.int8"),
    t("pg_relation_is_publishable", &[Relation], 1, "($1 >= 16384 AND $1 IS NOT NULL)"),
    t("pg_partition_ancestors", &[Relation], 1, "pg_catalog.unnest('{}'::pg_catalog.oid[])"),
    t("acldefault", &[Any, Any], 2, "NULL::pg_catalog.aclitem[]"),
    t("has_table_privilege", &[Relation, Any], 2, TABLE_RIGHT),
    t("has_any_column_privilege", &[Relation, Any], 2, TABLE_RIGHT),
    t(
        "has_column_privilege",
        &[Relation, Any, Any],
        3,
        "CASE WHEN ($1, ($2)::pg_catalog.text) IN (SELECT c.relid, m.name FROM {columns} AS c(relid, num, name),
           LATERAL (VALUES (c.name), (c.num::pg_catalog.text)) AS m(name)) THEN pg_catalog.upper($3) = 'SELECT' END",
    ),
    t("has_schema_privilege", &[Schema, Any], 2, SCHEMA_RIGHT),
    t("has_database_privilege", &[Any, Any], 2, "pg_catalog.upper($2) = 'CONNECT'"),
    t("has_function_privilege", &[Any, Any], 2, "false"),
    t("has_sequence_privilege", &[Any, Any], 2, "false"),
    t("has_type_privilege", &[Any, Any], 2, "true"),
    t("pg_has_role", &[Any, Any], 2, "false"),
    t("pg_my_temp_schema", &[], 0, "0::pg_catalog.oid"),
    t("pg_is_other_temp_schema", &[Any], 1, "false"),
    t("pg_is_in_recovery", &[], 0, "false"),
    t("pg_is_wal_replay_paused", &[], 0, "false"),
    t("pg_current_wal_lsn", &[], 0, "NULL::pg_catalog.pg_lsn"),
    t("pg_last_wal_receive_lsn", &[], 0, "NULL::pg_catalog.pg_lsn"),
    t("pg_last_wal_replay_lsn", &[], 0, "NULL::pg_catalog.pg_lsn"),
    t("pg_last_xact_replay_timestamp", &[], 0, "NULL::pg_catalog.timestamptz"),
    t("pg_conf_load_time", &[], 0, "NULL::pg_catalog.timestamptz"),
    t("pg_postmaster_start_time", &[], 0, "NULL::pg_catalog.timestamptz"),
    t("pg_listening_channels", &[], 0, "pg_catalog.unnest('{}'::pg_catalog.text[])"),
    t("pg_backend_pid", &[], 0, "{pid}::pg_catalog.int4"),
    t("current_database", &[], 0, "{database}::pg_catalog.name"),
    t("current_catalog", &[], 0, "{database}::pg_catalog.name"),
    t("current_user", &[], 0, "{user}::pg_catalog.name"),
    t("session_user", &[], 0, "{user}::pg_catalog.name"),
    t("user", &[], 0, "{user}::pg_catalog.name"),
    t("current_role", &[], 0, "{user}::pg_catalog.name"),
    t("current_schema", &[], 0, "{schema}::pg_catalog.name"),
    t(
        "current_schemas",
        &[Any],
        1,
        "(CASE WHEN $1 THEN ARRAY['pg_catalog'::pg_catalog.name] ELSE ARRAY[]::pg_catalog.name[] END
          || {path}::pg_catalog.name[])",
    ),
    t(
        "current_setting",
        &[Any, Any],
        1,
        "(SELECT s.setting FROM {pg_settings} AS s WHERE pg_catalog.lower(s.name) = pg_catalog.lower(($1)::pg_catalog.text))",
    ),
];

/// The template of a function.
pub fn template(name: &str, args: usize) -> Option<&'static Template> {
    TEMPLATES.iter().find(|t| t.name == name && (t.least..=t.args.len()).contains(&args))
}

/// Whether a name is a function's here, whatever its arguments.
pub fn known(name: &str) -> bool {
    PLAIN.contains(&name)
        || TEMPLATES.iter().any(|t| t.name == name)
        || matches!(
            name,
            "generate_series" | "_pg_expandarray" | "set_config" | "pg_typeof" | "array" | "now"
        )
}
