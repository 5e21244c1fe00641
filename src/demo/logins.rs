//! The two logins of a gateway: one reads the tables of the policy, the other public tables only.

use super::Error;
use tokio_postgres::Client;

/// Statements that the owner of a database runs as superuser; the documentation quotes them.
/// Neither login owns anything, and every resource of the server that a statement can take has an
/// end: connections, time where noisegate sets no shorter one, and files that it sorts in, but for
/// those of fetches, which may not fail by how many private rows there are.
pub const ROLES: &str = "\
CREATE ROLE noisegate LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT CONNECTION LIMIT 100 PASSWORD 'first password';
CREATE ROLE noisegate_finish LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT CONNECTION LIMIT 100 PASSWORD 'second password';
ALTER ROLE noisegate SET temp_file_limit = -1;
ALTER ROLE noisegate SET statement_timeout = '10min';
ALTER ROLE noisegate_finish SET temp_file_limit = '1GB';
ALTER ROLE noisegate_finish SET statement_timeout = '10min';
";

/// Statements that the owner runs next, in the database. `noisegate_finish` gets public tables and
/// nothing else; PUBLIC loses what every login would have through it: temporary tables, and new
/// objects in schema `public`.
pub const GRANTS: &str = "\
REVOKE ALL ON DATABASE bikes FROM PUBLIC;
GRANT CONNECT ON DATABASE bikes TO noisegate, noisegate_finish;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO noisegate, noisegate_finish;
GRANT SELECT ON riders, trips, payments, stations TO noisegate;
GRANT SELECT ON stations TO noisegate_finish;
";

/// Names and passwords that stand in the place of those in [`ROLES`] and [`GRANTS`].
#[derive(Clone, Debug)]
pub(super) struct Logins {
    pub(super) database: String,
    pub(super) fetch: String,
    pub(super) finish: String,
    pub(super) fetch_password: String,
    pub(super) finish_password: String,
    pub(super) collect: String,
    pub(super) collect_password: String,
}

impl Logins {
    /// The statements with these names.
    pub(super) fn fill(&self, sql: &str) -> String {
        let mut filled = String::with_capacity(sql.len());
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        // Whole words only: one login's name begins with the other's.
        let sql = sql
            .replace("first password", &self.fetch_password)
            .replace("second password", &self.finish_password)
            .replace("third password", &self.collect_password);
        for piece in sql.split_inclusive(|c| !is_word(c)) {
            let (word, rest) = piece.split_at(piece.trim_end_matches(|c| !is_word(c)).len());
            filled.push_str(match word {
                "noisegate" => &self.fetch,
                "noisegate_finish" => &self.finish,
                "noisegate_collect" => &self.collect,
                "bikes" => &self.database,
                other => other,
            });
            filled.push_str(rest);
        }
        filled
    }
}

/// Everything of this database that the login of this connection can do beyond CONNECT, USAGE and reading `public`
/// tables. It asks PostgreSQL for effective rights, so grants to PUBLIC and inherited ones count.
const EXCESS: &str = "\
SELECT 'is a superuser or may bypass, create or replicate' FROM pg_catalog.pg_roles
 WHERE rolname = current_user AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)
UNION ALL
SELECT 'is a member of ' || roleid::regrole FROM pg_catalog.pg_auth_members
 WHERE member = current_user::regrole
UNION ALL
SELECT 'may use table ' || c.oid::regclass FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
   AND (has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
        OR has_any_column_privilege(c.oid, 'INSERT, UPDATE, REFERENCES')
        OR (has_any_column_privilege(c.oid, 'SELECT') AND c.relname <> ALL ($1)))
UNION ALL
SELECT 'may create in schema ' || nspname FROM pg_catalog.pg_namespace WHERE has_schema_privilege(oid, 'CREATE')
UNION ALL
SELECT 'may create or use temporary tables in ' || current_database()
 WHERE has_database_privilege(current_database(), 'CREATE, TEMP')
UNION ALL
SELECT 'owns ' || classid::regclass FROM pg_catalog.pg_shdepend
 WHERE refobjid = current_user::regrole AND deptype = 'o'";

/// Proves that the login of this connection reads `public` tables and can do nothing else in its database.
///
/// # Errors
///
/// [`Error::FinishLogin`] with everything that it can do beyond that.
pub async fn prove_finish_login(finish: &Client, public: &[&str]) -> Result<(), Error> {
    let rows =
        finish.query(EXCESS, &[&public]).await.map_err(Error::database("cannot examine the finish login"))?;
    let excess: Vec<String> = rows.iter().filter_map(|row| row.try_get(0).ok()).collect();
    if rows.is_empty() { Ok(()) } else { Err(Error::FinishLogin(excess.join("; it "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_as_whole_words() {
        let logins = Logins {
            database: "d".into(),
            fetch: "a".into(),
            finish: "b".into(),
            fetch_password: "p".into(),
            finish_password: "q".into(),
            collect: "c".into(),
            collect_password: "r".into(),
        };
        let sql = "GRANT CONNECT ON DATABASE bikes TO noisegate, noisegate_finish;";
        assert_eq!(logins.fill(sql), "GRANT CONNECT ON DATABASE d TO a, b;");
        assert!(
            logins.fill(ROLES).contains(
                "CREATE ROLE b LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT CONNECTION LIMIT 100 PASSWORD 'q';\n\
                 ALTER ROLE a SET temp_file_limit"
            )
        );
    }
}
