//! The schema's tables, its statements, and who may do what in it.

use schema::quoted::ident;

/// Of the tables below.
pub(super) const VERSION: i32 = 2;

/// Rows that are read at once.
pub(super) const PAGE: i64 = 10_000;

/// The schema's name, quoted.
pub(super) struct Names {
    schema: String,
}

impl Names {
    pub(super) fn new(schema: &str) -> Self {
        Self { schema: ident(schema) }
    }

    /// Whether schema and ledger are there. `$1` is the schema's name.
    pub(super) fn found() -> &'static str {
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1),
                EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                         WHERE n.nspname = $1 AND c.relname = 'head')"
    }

    pub(super) fn create_schema(&self) -> String {
        format!("CREATE SCHEMA {}", self.schema)
    }

    /// The triggers stop accidents, and stop everybody but the owner. The chain shows what an owner did.
    pub(super) fn tables(&self) -> String {
        let (s, reads) = (&self.schema, self.reads_table());
        format!(
            "
REVOKE ALL ON SCHEMA {s} FROM PUBLIC;
CREATE TABLE {s}.entries (
    id   bigint PRIMARY KEY,
    body text NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32)
);
-- One row: the last entry, and the bytes of all stored releases. Whoever appends holds its lock.
CREATE TABLE {s}.head (
    one     integer PRIMARY KEY CHECK (one = 1),
    version integer NOT NULL,
    id      bigint NOT NULL,
    hash    bytea NOT NULL CHECK (octet_length(hash) = 32),
    stored  bigint NOT NULL
) WITH (fillfactor = 10);
-- Stored releases. They may be removed: asking again is charged then.
CREATE TABLE {s}.shelf (
    key   bytea PRIMARY KEY CHECK (octet_length(key) = 32),
    entry bigint NOT NULL,
    epoch bigint NOT NULL,
    bytes bytea NOT NULL
);
-- What is encrypted does not compress.
ALTER TABLE {s}.shelf ALTER bytes SET STORAGE EXTERNAL;
CREATE INDEX shelf_by_entry ON {s}.shelf (entry, key);
REVOKE ALL ON {s}.entries, {s}.head, {s}.shelf FROM PUBLIC;
{reads}

CREATE FUNCTION {s}.stays() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'insufficient_privilege'; END $$;
CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON {s}.entries
    FOR EACH STATEMENT EXECUTE FUNCTION {s}.stays();
-- What gives budget back is for owners: proxies come as another role. Entries have one spelling, or are refused.
CREATE FUNCTION {s}.is_owners() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF (NEW.body ~ '^..v..[0-9]+,.at..[0-9]+,.what.:[{{].(grant|close|restore|opening).:'
        OR NEW.body ~ '^..v..[0-9]+,.at..[0-9]+,.what.:[{{].policy.:' AND NEW.body ~ '.forgets.:true')
        AND NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
        RAISE EXCEPTION 'this entry is one that only the owner of the ledger writes'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER entries_of_owners BEFORE INSERT ON {s}.entries
    FOR EACH ROW EXECUTE FUNCTION {s}.is_owners();
CREATE TRIGGER head_stays BEFORE DELETE OR TRUNCATE ON {s}.head
    FOR EACH STATEMENT EXECUTE FUNCTION {s}.stays();
CREATE TRIGGER head_moves_on BEFORE UPDATE ON {s}.head
    FOR EACH ROW WHEN (NEW.id < OLD.id) EXECUTE FUNCTION {s}.stays();
"
        )
    }

    /// Ledgers of this format were made before this table was.
    pub(super) fn reads_table(&self) -> String {
        let s = &self.schema;
        format!(
            "-- Reads of private rows that are under way or have failed.
CREATE TABLE IF NOT EXISTS {s}.reads (
    id        text PRIMARY KEY,
    user_name text NOT NULL,
    began     bigint NOT NULL,
    until     bigint NOT NULL,
    failed    boolean NOT NULL
);
REVOKE ALL ON {s}.reads FROM PUBLIC;"
        )
    }

    /// Whether it is there. `$1` is the schema's name.
    pub(super) fn has_reads() -> &'static str {
        "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                         WHERE n.nspname = $1 AND c.relname = 'reads')"
    }

    pub(super) fn reads(&self) -> String {
        format!("SELECT id, user_name, began, until, failed FROM {}.reads", self.schema)
    }

    pub(super) fn reserve(&self) -> String {
        format!(
            "INSERT INTO {}.reads (id, user_name, began, until, failed) VALUES ($1, $2, $3, $4, $5)",
            self.schema
        )
    }

    pub(super) fn fail(&self) -> String {
        format!("UPDATE {}.reads SET failed = true WHERE id = $1", self.schema)
    }

    pub(super) fn remove(&self) -> String {
        format!("DELETE FROM {}.reads WHERE id = $1", self.schema)
    }

    /// The first row of the head, by `$1` … `$3`.
    pub(super) fn first_head(&self) -> String {
        format!("INSERT INTO {}.head (one, version, id, hash, stored) VALUES (1, $1, $2, $3, 0)", self.schema)
    }

    pub(super) fn version(&self) -> String {
        format!("SELECT version FROM {}.head", self.schema)
    }

    /// From here to the end of the transaction nobody else appends. If it is relaxed, a commit does not wait for the disk.
    pub(super) fn begin(&self, relaxed: bool) -> String {
        let relax = if relaxed { "SET LOCAL synchronous_commit = off; " } else { "" };
        format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {relax}SELECT FROM {}.head FOR UPDATE",
            self.schema
        )
    }

    /// Head, clock, and the hash of row `$1`.
    pub(super) fn head(&self) -> String {
        let s = &self.schema;
        format!(
            "SELECT id, hash, stored, (EXTRACT(epoch FROM clock_timestamp()) * 1000000)::bigint,
                    (SELECT hash FROM {s}.entries WHERE id = $1)
               FROM {s}.head"
        )
    }

    /// A page of the rows after `$1`.
    pub(super) fn rows(&self) -> String {
        format!("SELECT id, body, hash FROM {}.entries WHERE id > $1 ORDER BY id LIMIT {PAGE}", self.schema)
    }

    pub(super) fn append(&self) -> String {
        format!(
            "INSERT INTO {}.entries (id, body, hash) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[])",
            self.schema
        )
    }

    /// From row `$3` to row `$1`.
    pub(super) fn move_head(&self) -> String {
        format!("UPDATE {}.head SET id = $1, hash = $2 WHERE id = $3", self.schema)
    }

    pub(super) fn put(&self) -> String {
        let s = &self.schema;
        format!(
            "WITH added AS (INSERT INTO {s}.shelf (key, entry, epoch, bytes) VALUES ($1, $2, $3, $4)
                            ON CONFLICT (key) DO NOTHING RETURNING octet_length(bytes) AS n)
             UPDATE {s}.head SET stored = stored + added.n FROM added"
        )
    }

    pub(super) fn get(&self) -> String {
        format!("SELECT entry, epoch, bytes FROM {}.shelf WHERE key = $1", self.schema)
    }

    /// Text that looks up a list of keys.
    pub(super) fn look(&self) -> String {
        format!("SELECT entry, epoch, bytes, key FROM {}.shelf WHERE key = ANY ($1)", self.schema)
    }

    pub(super) fn stored(&self) -> String {
        format!("SELECT stored FROM {}.head", self.schema)
    }

    /// Removes what `condition` says, and gives how many that were.
    pub(super) fn forget(&self, condition: &str) -> String {
        let s = &self.schema;
        format!(
            "WITH gone AS (DELETE FROM {s}.shelf WHERE {condition} RETURNING octet_length(bytes) AS n),
                  less AS (UPDATE {s}.head SET stored = stored - (SELECT coalesce(sum(n), 0) FROM gone)::bigint)
             SELECT count(*) FROM gone"
        )
    }

    /// The oldest, of which `$1` bytes are not left room for.
    pub(super) fn make_room(&self) -> String {
        let s = &self.schema;
        self.forget(&format!(
            "key IN (SELECT key FROM (SELECT key, sum(octet_length(bytes)) OVER (ORDER BY entry DESC, key DESC) AS kept
                                        FROM {s}.shelf) AS s WHERE kept > $1::bigint)"
        ))
    }
}

/// Grants for the proxies' login where another role owns the ledger: it can add and read entries,
/// and can neither change nor remove one.
pub fn grants(schema: &str, role: &str) -> String {
    let (s, role) = (ident(schema), ident(role));
    format!(
        "GRANT USAGE ON SCHEMA {s} TO {role};\n\
         GRANT SELECT, INSERT ON {s}.entries TO {role};\n\
         GRANT SELECT, UPDATE ON {s}.head TO {role};\n\
         GRANT SELECT, INSERT, DELETE ON {s}.shelf TO {role};\n\
         GRANT SELECT, INSERT, UPDATE, DELETE ON {s}.reads TO {role};\n"
    )
}
