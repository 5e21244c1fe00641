//! The demo's survey: a collected relation of one question, its login, and its table.

/// Question for visitors.
pub const ASKS: &str = "How often do you wear a helmet?";
/// The collected relation.
pub const RELATION: &str = "helmets";
/// Beside what [`ROLES`](crate::logins::ROLES) makes.
pub(super) const ROLE: &str = "\
CREATE ROLE noisegate_collect LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT CONNECTION LIMIT 20 PASSWORD 'third password';
";

/// Table for the answers, as `noisegate check` prints it.
pub(super) const TABLE: &str = "\
CREATE TABLE helmets_reports (answer int4 NOT NULL);
GRANT CONNECT ON DATABASE bikes TO noisegate_collect;
GRANT USAGE ON SCHEMA public TO noisegate_collect;
GRANT INSERT ON helmets_reports TO noisegate_collect;
GRANT SELECT ON helmets_reports TO noisegate, noisegate_finish;
";

/// The table that the finish login may read for it.
pub(super) const REPORTS: &str = "helmets_reports";

/// Section of the policy.
pub(super) const POLICY: &str = "
# Answers of visitors, of which nothing is stored but randomised reports: docs/collecting.md.
[collect.helmets]
users = [\"form\"]
columns.answer = { kind = \"categorical\", values = [\"always\", \"sometimes\", \"never\"], randomiser = \"response\", epsilon = 1.0 }
";
