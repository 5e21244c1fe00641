//! Rights of both logins to change the policy's tables. They read, and nothing of theirs ever writes; whoever gets hold of
//! a password, or finds a way past the proxy, must not be able to.

use super::error::cause;
use super::finish_login::{Name, names};
use super::pool::{Backend, Reader};
use std::collections::BTreeSet;

impl Backend {
    /// Rights to write to a table of the policy, or to own it, that a login has and does not need: each with what takes
    /// it away. A superuser is warned of elsewhere, and has none of its own.
    ///
    /// # Errors
    /// The database's words, for the operator.
    pub async fn needless_rights(
        &self,
        reader: &Reader,
        private: &[Name],
        public: &[Name],
    ) -> Result<Vec<String>, String> {
        let given = names(private, public, &[]);
        let sql = format!("WITH given(nspname, relname, private, published) AS ({given}), {RIGHTS}");
        let (fetch, finish) = (&self.fetch.manager().0.shown, &self.finish.manager().0.shown);
        let rows = reader.query(&sql, &[]).await.map_err(|e| cause(&e))?;
        let of_fetch: BTreeSet<String> =
            rows.iter().map(|r| r.try_get(0).map_err(|e| cause(&e))).collect::<Result<_, _>>()?;
        let of_finish = self.texts(&sql).await?;
        let fetch = of_fetch.into_iter().map(|text| format!("backend.url, {fetch}: the fetch login {text}"));
        let finish = of_finish
            .into_keys()
            .map(|text| format!("backend.finish_url, {finish}: the finish login {text}"));
        Ok(fetch.chain(finish).collect())
    }
}

/// One sentence, twice in each row, for the ownership of each table and for each grantee and list of rights.
const RIGHTS: &str = "\
me AS (SELECT oid, rolname FROM pg_catalog.pg_roles WHERE rolname = SESSION_USER AND NOT rolsuper),
tables AS (
  SELECT c.oid, c.relowner, c.relacl, format('%I.%I', n.nspname, c.relname) AS name
    FROM given g
    JOIN pg_catalog.pg_namespace n ON n.nspname = g.nspname
    JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = g.relname),
owned AS (
  SELECT r.oid AS owner, r.rolname, string_agg(t.name, ', ' ORDER BY t.name) AS names, min(t.name) AS first
    FROM tables t JOIN pg_catalog.pg_roles r ON r.oid = t.relowner
   GROUP BY r.oid, r.rolname),
granted AS (
  SELECT t.oid, t.name, a.grantee, a.privilege_type
    FROM tables t, LATERAL aclexplode(t.relacl) a WHERE a.grantee <> t.relowner
  UNION
  SELECT t.oid, t.name, a.grantee, a.privilege_type
    FROM tables t JOIN pg_catalog.pg_attribute c ON c.attrelid = t.oid AND NOT c.attisdropped, LATERAL aclexplode(c.attacl) a
   WHERE a.grantee <> t.relowner),
needless AS (
  SELECT g.oid, g.name, g.grantee, string_agg(p.word, ', ' ORDER BY p.place) AS words
    FROM granted g
    JOIN (VALUES (1, 'INSERT'), (2, 'UPDATE'), (3, 'DELETE'), (4, 'TRUNCATE'), (5, 'REFERENCES'), (6, 'TRIGGER'))
      AS p(place, word) ON p.word = g.privilege_type
   GROUP BY g.oid, g.name, g.grantee),
together AS (
  SELECT grantee, words, string_agg(name, ', ' ORDER BY name) AS names FROM needless GROUP BY grantee, words),
said(text) AS (
  SELECT format('owns %1$s, and so may change and drop it; ALTER TABLE %2$s OWNER TO a role that nobody logs in by%3$s', o.names,
                o.first, CASE WHEN o.names = o.first THEN '' ELSE ', and the others' END)
    FROM owned o, me WHERE o.owner = me.oid
  UNION ALL
  SELECT format('owns tables that the policy does not name; use a role that owns nothing and has SELECT on the tables')
    FROM me WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relowner = me.oid AND c.relkind IN ('r', 'p'))
              AND NOT EXISTS (SELECT FROM owned o WHERE o.owner = me.oid)
  UNION ALL
  SELECT format('is a member of %2$I, which owns %1$s; REVOKE %2$I FROM %3$I', o.names, o.rolname, me.rolname)
    FROM owned o, me WHERE o.owner <> me.oid AND pg_has_role(me.oid, o.owner, 'MEMBER')
  UNION ALL
  SELECT format('is a member of %1$I, which writes to every table; REVOKE %1$I FROM %2$I', r.rolname, me.rolname)
    FROM pg_catalog.pg_roles r, me WHERE r.rolname = 'pg_write_all_data' AND pg_has_role(me.oid, r.oid, 'MEMBER')
  UNION ALL
  SELECT format('has %1$s on %2$s, and only reads; REVOKE %1$s ON %2$s FROM %3$s', t.words, t.names,
                CASE WHEN t.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(t.grantee)) END)
    FROM together t, me
   WHERE t.grantee = 0 OR t.grantee = me.oid OR pg_has_role(me.oid, t.grantee, 'MEMBER'))
SELECT text, text FROM said ORDER BY text";
