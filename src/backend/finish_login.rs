//! The proof, at start-up, that the finish login cannot reach a private row (soundness rule 31).
//!
//! Finish runs text that began as an analyst's. The planner keeps private tables out of it; this makes sure that a
//! mistake there meets a second wall. The server itself is asked, as that login, and each problem comes with the
//! statement that mends it.

use super::error::cause;
use super::pool::{Backend, Reader};
use super::settings::Settings;
use schema::quoted::string;
use std::collections::BTreeMap;

/// A table by schema and name.
pub(super) type Name = (String, String);

impl Backend {
    /// Proves that the finish login is separate and has no privilege, membership, view or SECURITY DEFINER function
    /// that reaches a private table, that no public view reads one, and that both logins can do their work on the policy's
    /// tables. `published` are public views of which the owner has said that they may.
    ///
    /// # Errors
    /// Every problem, as a sentence with what mends it.
    pub async fn prove_finish_login(
        &self,
        reader: &Reader,
        private: &[Name],
        public: &[Name],
        published: &[Name],
    ) -> Result<(), Vec<String>> {
        let fetch = &self.fetch.manager().0.user;
        let finish = &self.finish.manager().0.user;
        if fetch == finish {
            return Err(vec![format!(
                "backend.finish_url uses the login {finish} of backend.url, which reads private tables; make one that \
                 reads public tables only: CREATE ROLE noisegate_finish LOGIN"
            )]);
        }
        let names = names(private, public, published);
        let rank = self
            .texts(&format!("{RANK} WHERE r.rolname = SESSION_USER AND p.holds"))
            .await
            .map_err(|e| vec![e])?;
        if !rank.is_empty() {
            // Nothing else that could be asked would mean anything.
            return Err(rank.into_values().collect());
        }
        let sql = format!(
            "WITH RECURSIVE given(nspname, relname, private, published) AS ({names}), {}",
            reach(fetch)
        );
        let mut problems: Vec<String> = self.texts(&sql).await.map_err(|e| vec![e])?.into_values().collect();
        problems.extend(self.compare_tables(reader, &names).await.map_err(|e| vec![e])?);
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Both logins must mean the same tables by the same names; and the fetch login must be able to read them.
    async fn compare_tables(&self, reader: &Reader, names: &str) -> Result<Vec<String>, String> {
        let sql = format!("WITH given(nspname, relname, private, published) AS ({names}) {TABLES}");
        let finish = self.texts(&sql).await?;
        let rows = reader.query(&sql, &[]).await.map_err(|e| cause(&e))?;
        let mut problems = Vec::new();
        for row in &rows {
            let cell = |n: usize| row.try_get::<_, Option<String>>(n).map_err(|e| cause(&e));
            let name = cell(0)?.unwrap_or_default();
            match (cell(1)?, finish.get(&name)) {
                (None, _) => problems.push(format!("the table {name} does not exist")),
                (Some(oid), Some(other)) if oid == *other => {}
                _ => problems.push(format!(
                    "the table {name} is not the same one for backend.url and backend.finish_url; both must lead to \
                     one database"
                )),
            }
            problems.extend(cell(2)?);
        }
        Ok(problems)
    }

    /// Runs a query of ours as the finish login; its rows are a key and a text.
    pub(super) async fn texts(&self, sql: &str) -> Result<BTreeMap<String, String>, String> {
        let unable = |e: super::RelayError| format!("the finish login's rights could not be checked: {e}");
        let rows = self.query(&Settings::default(), sql, &[], &[]).await.map_err(unable)?;
        let rows = rows.into_texts().await.map_err(unable)?;
        let pairs = rows.into_iter().filter_map(|row| {
            let mut cells = row.into_iter().flatten();
            Some((cells.next()?, cells.next().unwrap_or_default()))
        });
        Ok(pairs.collect())
    }
}

/// The policy's tables as a VALUES list.
pub(super) fn names(private: &[Name], public: &[Name], published: &[Name]) -> String {
    let row = |name: &Name, private: bool| {
        let published = !private && published.contains(name);
        let (schema, name) = name;
        format!("({}::name, {}::name, {private}, {published})", string(schema), string(name))
    };
    let rows = private.iter().map(|n| row(n, true)).chain(public.iter().map(|n| row(n, false)));
    let rows: Vec<String> = rows.collect();
    match rows.is_empty() {
        true => "SELECT NULL::name, NULL::name, false, false WHERE false".into(),
        false => format!("VALUES {}", rows.join(", ")),
    }
}

/// Attributes of the role itself.
const RANK: &str = "\
SELECT problem, format(problem, SESSION_USER)
  FROM pg_catalog.pg_roles r, LATERAL (VALUES
       (r.rolsuper, 'the finish login %1$I is a superuser; ALTER ROLE %1$I NOSUPERUSER'),
       (r.rolbypassrls, 'the finish login %1$I bypasses row-level security; ALTER ROLE %1$I NOBYPASSRLS'),
       (r.rolcreaterole, 'the finish login %1$I may grant itself roles; ALTER ROLE %1$I NOCREATEROLE'),
       (r.rolreplication, 'the finish login %1$I may copy the whole server; ALTER ROLE %1$I NOREPLICATION'),
       (CURRENT_USER <> SESSION_USER,
        'the finish login %1$I takes another role when it connects; ALTER ROLE %1$I RESET role')
     ) AS p(holds, problem)";

/// The policy's tables, their OIDs, and whether this login lacks the right to read them.
const TABLES: &str = "\
SELECT format('%I.%I', g.nspname, g.relname), c.oid::text,
       CASE WHEN NOT has_schema_privilege(n.oid, 'USAGE')
            THEN format('the fetch login %I may not look into the schema %I; GRANT USAGE ON SCHEMA %2$I TO %1$I',
                        SESSION_USER, n.nspname)
            WHEN NOT has_any_column_privilege(c.oid, 'SELECT')
            THEN format('the fetch login %I may not read the table %I.%I; GRANT SELECT ON %2$I.%3$I TO %1$I',
                        SESSION_USER, n.nspname, c.relname)
       END
  FROM given g
  LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = g.nspname
  LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = g.relname
   AND c.relkind IN ('r', 'p', 'v', 'm', 'f')";

/// Everything by which this login could reach a private row, one sentence each, and what it lacks for its own work.
///
/// Private are the named tables, their partitions and inheritance children (which hold the rows) and their
/// inheritance ancestors (reading those reads the children without asking for rights on them). A view or a
/// materialised view reads with its owner's rights, so one that depends on them, over any number of steps, counts
/// like them.
fn reach(fetch_login: &str) -> String {
    let fetch_login = string(fetch_login);
    let public_view = policy::PUBLIC_VIEW;
    format!(
        "
tables AS (
  SELECT c.oid, c.relowner, n.nspname, c.relname, c.relacl, n.oid AS nspoid, g.private, g.published
    FROM given g
    JOIN pg_catalog.pg_namespace n ON n.nspname = g.nspname
    JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = g.relname),
below(oid) AS (
  SELECT oid FROM tables WHERE private
  UNION SELECT i.inhrelid FROM below b JOIN pg_catalog.pg_inherits i ON i.inhparent = b.oid),
above(oid) AS (
  SELECT oid FROM tables WHERE private
  UNION SELECT i.inhparent FROM above a JOIN pg_catalog.pg_inherits i ON i.inhrelid = a.oid),
stored(oid) AS (SELECT oid FROM below UNION SELECT oid FROM above),
seen(oid) AS (
  SELECT oid FROM stored
  UNION
  SELECT w.ev_class
    FROM seen s
    JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = s.oid
     AND d.classid = 'pg_catalog.pg_rewrite'::regclass
    JOIN pg_catalog.pg_rewrite w ON w.oid = d.objid AND w.ev_type = '1'),
reached AS (
  SELECT c.oid, c.relowner, c.relacl, c.relkind, format('%I.%I', n.nspname, c.relname) AS name,
         EXISTS (SELECT FROM stored t WHERE t.oid = c.oid) AS stored
    FROM seen s
    JOIN pg_catalog.pg_class c ON c.oid = s.oid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
   -- Public views are judged by what the owner says of them.
   WHERE NOT (c.relkind IN ('v', 'm') AND EXISTS (SELECT FROM tables t WHERE t.oid = c.oid AND NOT t.private))),
what AS (
  SELECT *, CASE WHEN stored THEN 'the private table ' ELSE 'the view ' END || name
         || CASE WHEN stored THEN '' ELSE ', which reads private tables' END AS text
    FROM reached),
grants AS (
  SELECT w.text, w.name, a.grantee, NULL::name AS attname
    FROM what w, LATERAL aclexplode(w.relacl) a
   WHERE a.privilege_type = 'SELECT'
  UNION ALL
  SELECT w.text, w.name, a.grantee, t.attname
    FROM what w
    JOIN pg_catalog.pg_attribute t ON t.attrelid = w.oid AND NOT t.attisdropped, LATERAL aclexplode(t.attacl) a
   WHERE a.privilege_type = 'SELECT'),
rights AS (SELECT text, grantee FROM grants UNION ALL SELECT text, relowner FROM what),
me AS (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = SESSION_USER),
ways(text) AS (
  SELECT format('the finish login %I may read %s; REVOKE SELECT%s ON %s FROM %s', SESSION_USER, g.text,
                CASE WHEN g.attname IS NULL THEN '' ELSE format(' (%I)', g.attname) END, g.name,
                CASE WHEN g.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(SESSION_USER) END)
    FROM grants g, me WHERE g.grantee IN (0, me.oid)
  UNION ALL
  SELECT format('the finish login %I owns %s; ALTER TABLE %s OWNER TO another role', SESSION_USER, w.text, w.name)
    FROM what w, me WHERE w.relowner = me.oid
  UNION ALL
  SELECT format('the finish login %I is a member of %I, %s; REVOKE %2$I FROM %1$I or from the role between them',
                SESSION_USER, r.rolname,
                CASE WHEN r.rolname = {fetch_login} THEN 'the login that reads private tables'
                     WHEN r.rolsuper THEN 'a superuser'
                     WHEN r.rolbypassrls THEN 'which bypasses row-level security'
                     WHEN r.rolname LIKE 'pg\\_%' THEN 'which reads data, activity or files of the whole server'
                     ELSE 'which may read ' || (SELECT min(w.text) FROM rights w WHERE w.grantee = r.oid) END)
    FROM pg_catalog.pg_roles r, me
   WHERE r.oid <> me.oid AND pg_has_role(me.oid, r.oid, 'MEMBER')
     AND (r.rolname = {fetch_login} OR r.rolsuper OR r.rolbypassrls
          OR r.rolname IN ('pg_read_all_data', 'pg_monitor', 'pg_read_all_stats', 'pg_stat_scan_tables',
                           'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
          OR EXISTS (SELECT FROM rights w WHERE w.grantee = r.oid))
),
problems(text) AS (
  SELECT text FROM ways
  UNION ALL
  SELECT format('the public view %I.%I reads private tables, and everybody would get its rows exactly; remove [table.%s] '
                'from the policy, or write in it: {public_view}', t.nspname, t.relname, t.relname)
    FROM tables t JOIN pg_catalog.pg_class c ON c.oid = t.oid
   WHERE c.relkind IN ('v', 'm') AND NOT t.private AND NOT t.published AND EXISTS (SELECT FROM seen s WHERE s.oid = t.oid)
  UNION ALL
  -- Should there be a way that is not listed above.
  SELECT format('the finish login %I may read %s; revoke that', SESSION_USER, w.text)
    FROM what w WHERE has_any_column_privilege(w.oid, 'SELECT') AND NOT EXISTS (SELECT FROM ways)
  UNION ALL
  SELECT format('the finish login %I may execute %s, which runs with its owner''s rights; '
                'REVOKE EXECUTE ON ROUTINE %2$s FROM PUBLIC, %1$I', SESSION_USER, p.oid::regprocedure)
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
   WHERE p.prosecdef AND n.nspname NOT IN ('pg_catalog', 'information_schema')
     AND has_function_privilege(p.oid, 'EXECUTE')
  UNION ALL
  SELECT format('the finish login %I may not look into the schema %I; GRANT USAGE ON SCHEMA %2$I TO %1$I',
                SESSION_USER, t.nspname)
    FROM tables t WHERE NOT has_schema_privilege(t.nspoid, 'USAGE')
  UNION ALL
  SELECT format('the finish login %I may not read the public table %I.%I; GRANT SELECT ON %2$I.%3$I TO %1$I',
                SESSION_USER, t.nspname, t.relname)
    FROM tables t WHERE NOT t.private AND NOT has_table_privilege(t.oid, 'SELECT'))
SELECT text, text FROM problems ORDER BY text"
    )
}
