//! Catalogs beyond the schema: partitions, and what everybody may do.

use backend::introspect::{self, IntrospectError};
use schema::Schema;
use std::collections::HashSet;
use tokio_postgres::Client;

/// A database's definitions.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Name of the database.
    pub database: String,
    /// Tables, columns, keys.
    pub schema: Schema,
    /// Schema and name of partitions, which are read through their parents.
    pub partitions: HashSet<(String, String)>,
    /// Relations that everybody may read.
    pub open_relations: HashSet<(String, String)>,
    /// SECURITY DEFINER routines that everybody may execute, as REVOKE names them.
    pub open_routines: Vec<String>,
}

const USER_SCHEMAS: &str = "n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'";

impl Catalog {
    /// Reads it: catalogs only.
    pub async fn read(client: &Client) -> Result<Self, IntrospectError> {
        let schema = introspect::read_schema(client).await?;
        let database = client.query_one("SELECT pg_catalog.current_database()::pg_catalog.text", &[]).await?;
        let pairs = async |sql: String| -> Result<HashSet<(String, String)>, IntrospectError> {
            let rows = client.query(&sql, &[]).await?;
            let pairs: Result<_, tokio_postgres::Error> =
                rows.iter().map(|r| Ok((r.try_get(0)?, r.try_get(1)?))).collect();
            Ok(pairs?)
        };
        let relations = format!(
            "SELECT n.nspname::pg_catalog.text, c.relname::pg_catalog.text
               FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
              WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {USER_SCHEMAS}"
        );
        let partitions = pairs(format!("{relations} AND c.relispartition")).await?;
        let open = "EXISTS (SELECT FROM pg_catalog.aclexplode(c.relacl) a
                             WHERE a.grantee = 0 AND a.privilege_type = 'SELECT')";
        let open_relations = pairs(format!("{relations} AND {open}")).await?;
        let routines = format!(
            "SELECT pg_catalog.format('%I.%I(%s)', n.nspname, p.proname,
                                      pg_catalog.pg_get_function_identity_arguments(p.oid))
               FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
              WHERE p.prosecdef AND {USER_SCHEMAS}
                AND (p.proacl IS NULL OR EXISTS (SELECT FROM pg_catalog.aclexplode(p.proacl) a WHERE a.grantee = 0))
              ORDER BY 1"
        );
        let rows = client.query(&routines, &[]).await?;
        let open_routines = rows.iter().map(|r| r.try_get(0)).collect::<Result<_, _>>()?;
        Ok(Self { database: database.try_get(0)?, schema, partitions, open_relations, open_routines })
    }
}
