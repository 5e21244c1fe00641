//! The policy as its text alone says it: all that can be checked without the database is checked here.

use super::access;
use super::answers;
use super::budget;
use super::cache;
use super::collect::{self, RawCollect};
use super::console;
use super::error::{At, Findings, PolicyError, PolicyErrors};
use super::keys::{Key, Keys, REQUIRED};
use super::metrics;
use super::model::{
    AccessRule, Answers, Backend, Budget, Cache, Collect, Console, LedgerLocation, Limits, Log, Metrics,
    Role, Server, StatementDefaults, Stream, Traces, User, View,
};
use super::raw_table::RawTable;
use super::reader::Section;
use super::role;
use super::stream;
use super::tables::tables;
use super::traces;
use super::users;
use super::view;
use super::{backend, ledger, limits, listen, log};
use std::path::Path;
use toml::de::DeTable;

/// A policy that is TOML. Its mistakes, if any, are reported by [`RawPolicy::check`] together with those that
/// only the schema shows.
#[derive(Clone, Debug)]
pub struct RawPolicy {
    pub(super) findings: Findings,
    pub(super) server: Server,
    pub(super) access: Vec<AccessRule>,
    pub(super) log: Log,
    pub(super) console: Option<Console>,
    pub(super) metrics: Option<Metrics>,
    pub(super) traces: Option<Traces>,
    pub(super) backend: Option<Backend>,
    pub(super) ledger: Option<LedgerLocation>,
    pub(super) ledger_text: bool,
    pub(super) unit: Option<At<String>>,
    pub(super) statement: StatementDefaults,
    pub(super) budgets: Vec<Budget>,
    pub(super) streams: Vec<Stream>,
    pub(super) views: Vec<View>,
    pub(super) collects: Vec<RawCollect>,
    pub(super) users: Vec<User>,
    pub(super) roles: Vec<Role>,
    pub(super) limits: Limits,
    pub(super) cache: Cache,
    pub(super) answers: Answers,
    pub(super) tables: Vec<RawTable>,
}

/// Sections of a policy.
pub(super) const ROOT: Keys = Keys {
    section: "policy",
    list: &[
        Key::of("server", "section", "listens on 127.0.0.1:6432", "")
            .says("Where clients arrive, and how they log in."),
        Key::of("access", "list of sections", "everybody who can log in", "")
            .says("Who may connect from where."),
        Key::of("log", "section", "all defaults", "")
            .says("What the operator hears."),
        Key::of("console", "section", "no pages", "")
            .says("Pages for owners and auditors: what was promised, to whom, and what is left."),
        Key::of("metrics", "section", "none", "")
            .says("What monitoring reads, by HTTP."),
        Key::of("traces", "section", "none", "")
            .says("Where statements are sent as OpenTelemetry traces."),
        Key::of("backend", "section", REQUIRED, "").says("The database."),
        Key::of("ledger", "section", REQUIRED, "")
            .says("Where the budgets are kept."),
        Key::of("privacy", "section", REQUIRED, "").says("Who is protected."),
        Key::of("statement", "section", "all defaults", "")
            .says("What one statement costs and may touch, unless the session says otherwise."),
        Key::of("budget", "list of sections", REQUIRED, "")
            .says("What all statements together may cost."),
        Key::of("cache", "section", "all defaults", "")
            .says("How answers are kept, to be given again."),
        Key::of("answers", "section", "all defaults", "")
            .says("What is answered without rows."),
        Key::of("stream", "list of sections", "none", "")
            .says("Streams of questions that are paid for once, by the sparse vector technique."),
        Key::of("view", "list of sections", "none", "")
            .says("Queries that analysts find as tables."),
        Key::of("collect", "section for each", "none", "")
            .says("What is collected by local differential privacy: written through noisegate, and stored as randomised reports."),
        Key::of("user", "list of sections", "nobody", "")
            .says("Who may log in."),
        Key::of("role", "list of sections", "all are private", "")
            .says("What the users of a role are answered."),
        Key::of("table", "section for each table", REQUIRED, "")
            .says("The tables that exist for analysts."),
        Key::of("limits", "section", "all defaults", "")
            .says("How large things may grow."),
    ],
    later: &[],
};

/// Keys of `[privacy]`.
pub(super) const PRIVACY: Keys = Keys {
    section: "[privacy]",
    list: &[
        Key::of("unit", "table.column", REQUIRED, "\"riders.rider_id\"")
            .says("Who is protected: a column that is a key of a private table. A policy that collects and has no private table needs none."),
        Key::of("allow_no_total", "boolean", "false", "true")
            .says("Accept a policy without a budget over the whole data set, that is, without a guarantee."),
    ],
    later: &[],
};

impl RawPolicy {
    /// Reads a policy's text; only what is not TOML is an error at once.
    pub(super) fn parse(
        mut findings: Findings,
        source: &str,
        file: &str,
        base: &Path,
    ) -> Result<Self, PolicyErrors> {
        let f = &mut findings;
        let document = match DeTable::parse(source) {
            Ok(document) => document,
            Err(e) => {
                let span = e.span().unwrap_or(0..0);
                f.error(&span, format!("not TOML: {}", e.message()), "");
                return Err(findings.errors().unwrap_or(PolicyErrors(Vec::new())));
            }
        };
        let root = Section::root(&document);
        root.keys(&ROOT, f);
        let server = listen::server(&root, base, f);
        let log = log::log(&root, f);
        let console = console::console(&root, server.tls.is_some(), f);
        let metrics = metrics::metrics(&root, server.tls.is_some(), f);
        let backend = backend::backend(&root, file, base, f);
        let ledger = ledger::ledger(&root, base, f);
        let ledger_text = ledger::ledger_text(&root, f);
        let traces = traces::traces(&root, ledger_text, f);
        let statement = budget::statement(&root, f);
        let budgets = budget::budgets(&root, &statement, f);
        let streams = stream::streams(&root, &budgets, &statement.min_epsilon, f);
        let users = users::users(&root, base, &server, f);
        let roles = role::roles(&root, backend.as_ref(), &server, f);
        let access = access::access(&root, &users, f);
        let limits = limits::limits(&root, f);
        let cache = cache::cache(&root, base, f);
        let answers = answers::answers(&root, f);
        let tables = tables(&root, f);
        let views = view::views(&root, &tables, f);
        let collects = collect::collects(&root, &tables, &views, backend.as_ref(), base, f);
        collect::writers_read_nothing(&collects, &users, &roles, f);
        // Where nobody's rows are read there is nobody to protect.
        let private = collects.is_empty() || tables.iter().any(|t| !t.public);
        let (unit, allow_no_total) = privacy(&root, private, f);
        budget::coverage(&root, allow_no_total || !private, &tables, f);
        Ok(Self {
            findings,
            server,
            access,
            log,
            console,
            metrics,
            traces,
            backend,
            ledger,
            ledger_text,
            unit,
            statement,
            budgets,
            streams,
            views,
            collects,
            users,
            roles,
            limits,
            cache,
            answers,
            tables,
        })
    }

    /// The database, if the policy says where it is: needed to read the schema that [`Self::check`]
    /// asks for.
    pub fn backend(&self) -> Option<&Backend> {
        self.backend.as_ref()
    }

    /// The place of the books, if the policy says so.
    pub fn ledger(&self) -> Option<&LedgerLocation> {
        self.ledger.as_ref()
    }

    /// Collected relations, mistakes or not: their descriptions need no database.
    pub fn collects(&self) -> impl Iterator<Item = &Collect> {
        self.collects.iter().map(|raw| &raw.collect)
    }

    /// Settings of the log, mistakes or not.
    pub fn log(&self) -> Log {
        self.log
    }

    /// Schema and name of the tables that the policy names, in its order.
    pub fn table_names(&self) -> Vec<(&str, &str)> {
        let tables = self.tables.iter().map(|t| (t.schema.value.as_str(), t.name.value.as_str()));
        let reports = self.collects.iter().map(|c| (c.collect.schema.as_str(), c.collect.table.as_str()));
        tables.chain(reports).collect()
    }

    /// Place of the books, and the budgets that they hold.
    ///
    /// # Errors
    /// The mistakes that the text alone shows.
    pub fn books(&self) -> Result<(&LedgerLocation, &[Budget]), PolicyErrors> {
        let ledger = self.ledger.as_ref().filter(|_| self.findings.errors().is_none());
        ledger.map(|ledger| (ledger, self.budgets.as_slice())).ok_or_else(|| PolicyErrors(self.mistakes()))
    }

    /// Table and column that `privacy.unit` names.
    pub fn unit_name(&self) -> Option<&str> {
        self.unit.as_ref().map(|unit| unit.value.as_str())
    }

    /// The mistakes that show without a schema. Empty does not mean that the policy is right: [`Self::check`]
    /// decides.
    pub fn mistakes(&self) -> Vec<PolicyError> {
        self.findings.errors().map_or_else(Vec::new, |e| e.0)
    }
}

/// `privacy.unit`, which is needed where tables are private, and whether a policy without a dataset-wide budget is meant.
fn privacy(root: &Section<'_, '_>, private: bool, f: &mut Findings) -> (Option<At<String>>, bool) {
    let Some(section) = root.section("privacy", f) else {
        if root.get("privacy").is_none() && private {
            let hint =
                "write [privacy] with unit = \"riders.rider_id\": the column that names who is protected";
            f.error_in_file("the policy has no [privacy]", hint);
        }
        return (None, false);
    };
    section.keys(&PRIVACY, f);
    let example = "unit = \"riders.rider_id\"";
    let unit = match private {
        true => section.required_string("unit", example, f),
        false => section.string("unit", example, f),
    };
    (unit, section.boolean("allow_no_total", f).is_some_and(|b| b.value))
}
