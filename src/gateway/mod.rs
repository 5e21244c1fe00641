//! The way of a query, in order: parse, resolve, plan, type, charge, fetch, release, finish.
//!
//! [`Session::run`] is that way, and `answer` its second half; each step is a line of it, and the order is the
//! guarantee: nothing is debited before the database has typed the statement, nothing private is read before the debit
//! is on disk, and nothing leaves but what was perturbed against a receipt, now or when it was asked first.
//!
//! `planning` resolves and plans, with constants from `constant_folding` and `public_rows`, `typing` has PostgreSQL type, `execution` looks for stored answers and has `pay` charge,
//! fetch and release the others, `finish` finishes; `advice` says of a refusal at what price it would not be one; `stream` is
//! the way of a question to a stream. The extended protocol
//! walks the same way in pieces: [`Session::describe`], [`Session::bind`], [`Session::execute`].

mod active;
mod advice;
pub mod audit;
mod bounds;
mod budget_split;
mod catalogs;
mod certificates;
mod collect;
mod constant_folding;
mod databases;
mod domain_sizes;
mod execution;
mod explanation;
mod fingerprints;
pub mod finish;
mod health;
pub mod help;
mod history;
mod lasting;
mod parameters;
mod passthrough;
mod pay;
mod planning;
mod present;
mod price;
pub mod private_groups;
pub mod public_rows;
mod reached;
mod reading;
mod reads;
mod recording;
mod refine;
mod remembered;
pub mod rounds;
mod session;
pub mod settings;
mod shared;
mod snapping;
pub mod stages;
mod startup;
mod statement;
pub mod straight;
mod stream;
mod synthetic;
mod type_cache;
mod typing;
mod views;
mod virtual_relations;
mod words;

pub use active::ActiveGateway;
pub use collect::Analyser;
pub use databases::{Database, Databases};
pub use history::History;
pub use present::{Connected, Present};
pub use reached::{Reached, same_books};
pub use session::Session;
pub use shared::Gateway;
pub use startup::{Checked, OpenError, Reopened};
pub use statement::{Portal, Statement, Watched};
pub use stream::StreamStanding;
pub use synthetic::Texts;
pub use typing::typing_error;

use crate::beside::off_sockets;
use answer::{ClientError, Description, Notice, Outcome, SqlState, Values};
use explanation::Explained;
use futures::TryStreamExt;
use plan::reach::columns::{Beside, Intervals};
use policy::Mode;
use record::{Outcome as Answered, answered};
use remembered::may_be_outdated;
use settings::statements::show_fields;
use sql::{Kind, parse::Parsed};
use stages::Asked;
use statement::{Columns, Planned, control_here};
use std::sync::Arc;

/// 42P02: a parameter that nothing brings a value for.
const UNDEFINED_PARAMETER: SqlState = SqlState(*b"42P02");

impl Session {
    /// Parses a message into its statements; what writes is refused here.
    pub fn parse(&mut self, sql: &str) -> Result<Vec<Statement>, ClientError> {
        self.follow()?;
        if let Some(known) = self.gateway.known.parsed.get(sql) {
            return Ok(known);
        }
        let _under_way = self.under_way(self.shape(sql), false)?;
        let parsed = off_sockets(|| sql::parse::parse(sql, &self.gateway.policy.limits))?;
        let statement = |p: Parsed| {
            let (text, tokens) = (p.text.clone(), p.tokens);
            let sql::Classified { kind, control } = sql::classify(p)?;
            let mut text = text;
            if let Kind::Insert(insert) = &kind {
                if self.gateway.policy.collects.is_empty() {
                    return Err(insert.read_only());
                }
                // What somebody says of themselves is kept nowhere.
                text = insert.verb.into();
            }
            Ok(Statement {
                kind: Arc::new(kind),
                control,
                text,
                tokens,
                others: Arc::default(),
                watched: Watched::default(),
            })
        };
        let statements: Vec<Statement> =
            parsed.into_iter().map(statement).collect::<Result<_, ClientError>>()?;
        let mut statements = budget_split::gathered(statements)?;
        statements.iter_mut().for_each(|s| s.watched.shape = self.shape(&s.text));
        if !statements.iter().any(|s| matches!(&*s.kind, Kind::Insert(_))) {
            self.gateway.known.parsed.keep(sql, &statements);
        }
        Ok(statements)
    }

    /// The way of a statement of the simple protocol: no parameters, text results.
    pub async fn run(
        &mut self,
        statement: Statement,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        self.follow()?;
        let (query, lines) = match &*statement.kind {
            Kind::Query(query, lines) | Kind::Explain(query, lines, _) => (query, lines),
            Kind::Session(s) => return self.session_statement(s, notices).await,
            Kind::Insert(insert) => return self.insert(insert, &[], &Values::default()).await,
            Kind::Control | Kind::Arguments(..) => return Err(control_here()),
        };
        self.queried = true;
        let gateway = self.gateway.clone();
        if let Some(owner) = self.owner(&gateway)? {
            sql::text_size::pulled_up(query, lines, &gateway.policy.limits)?;
            let none = Values::default();
            let asked = owner.run(&statement.kind, &statement.text, None, &none, notices);
            return asked.await?.ok_or_else(control_here);
        }
        if let Kind::Explain(_, _, explain) = &*statement.kind
            && let Some(budget) = explain.budget
        {
            return self.split(&gateway, &statement, *explain, budget).await;
        }
        let key = self.key(&statement.kind, &statement.text, &[], &Values::default());
        if let Some((key, known)) = key.as_ref().and_then(|k| Some((k, gateway.known.public.get(k)?))) {
            // Nobody was told of columns yet: if they or the names are others now, it is planned and typed after all.
            let columns = Columns::text(known.fields.clone());
            match self.public_rows(&gateway, &known.sql, &[], columns).await {
                Err(e) if may_be_outdated(&e) => gateway.known.public.forget(key),
                done => return done,
            }
        }
        if let Some((planned, fields)) = self.planned_before(&gateway, key.as_ref()) {
            return self.answer(&gateway, planned, &statement.text, Columns::text(fields), notices).await;
        }
        sql::text_size::check(query, lines, None, &gateway.policy.limits)?;
        if let Some(rewritten) = self.over_catalogs(&gateway, query, lines, &statement.kind).await? {
            let none = Values::default();
            let Kind::Explain(_, _, explain) = &*statement.kind else {
                return self.run_catalogs(&gateway, rewritten, None, &none, notices).await;
            };
            self.describe_catalogs(&gateway, &rewritten, &[]).await?;
            let explained = self.explain_catalogs(&gateway, rewritten, *explain, &[], &none, notices);
            return Ok(explained.await?.rows(explanation::fields(explain.json)));
        }
        let resolved = self.resolve(&gateway, query, lines)?;
        let (highest, pos) = sql::constants::parameters(&mut resolved.clone());
        if highest > 0 {
            return Err(ClientError::new(UNDEFINED_PARAMETER, format!("there is no parameter ${highest}"))
                .hint("Parameters come with the extended query protocol: bind values to the statement.")
                .at(pos));
        }
        let constants = self.constants();
        let mut planned = self.plan(&gateway, resolved.clone(), constants, &[], &Values::default()).await?;
        let private = planned.plan.charge.is_some();
        planned.key = key.clone();
        if let Kind::Query(..) = &*statement.kind
            && !private
            && let Some(fields) = self.typed_before(&gateway, &planned.columns(&resolved), &planned.constants)
        {
            // Nobody was told of columns yet: if they or the names are others now, it is typed after all.
            let told = notices.len();
            let text = &statement.text;
            match self.answer(&gateway, planned, text, Columns::text(fields), notices).await {
                Err(e) if may_be_outdated(&e) => notices.truncate(told),
                done => return done,
            }
            planned =
                self.plan(&gateway, resolved.clone(), self.constants(), &[], &Values::default()).await?;
            planned.key = key.clone();
        }
        let asked = planned.columns(&resolved);
        let typed = self.type_check(&gateway, &asked, private, &[], &planned.constants).await?;
        match &*statement.kind {
            Kind::Explain(_, _, explain) => {
                let fields = explanation::fields(explain.json);
                let explained = self.explained(&gateway, planned, *explain).await?;
                if !explain.analyze {
                    return Ok(explained.rows(fields));
                }
                let again = self.plan(&gateway, resolved, self.constants(), &[], &Values::default()).await?;
                let columns = Columns::text(typed.fields);
                let asked = self.asked(&gateway, explained, again, &statement.text, columns, notices);
                Ok(asked.await?.rows(fields))
            }
            _ => {
                if let Some(key) = key.filter(|_| private) {
                    let bytes = statement.plan_bytes();
                    gateway.known.plans.keep(
                        key,
                        &planned,
                        gateway.known.sizes.known(),
                        &typed.fields,
                        bytes,
                    );
                }
                self.answer(&gateway, planned, &statement.text, Columns::text(typed.fields), notices).await
            }
        }
    }

    /// Parse: has PostgreSQL type the statement, and freezes its parameters and columns. `types` are the client's; 0
    /// leaves one open.
    pub async fn describe(
        &mut self,
        statement: &Statement,
        types: &[u32],
    ) -> Result<Description, ClientError> {
        self.follow()?;
        let (query, lines, explain) = match &*statement.kind {
            Kind::Query(query, lines) | Kind::Arguments(query, lines) => (query, lines, None),
            Kind::Explain(_, _, explain) if explain.budget.is_some() => {
                return Err(budget_split::simple_only());
            }
            Kind::Explain(query, lines, explain) => (query, lines, Some(explain.json)),
            Kind::Session(s) => {
                let fields = show_fields(s);
                let fields = (!fields.is_empty()).then_some(fields);
                return Ok(Description { parameters: Vec::new(), fields });
            }
            Kind::Control => return Ok(Description { parameters: Vec::new(), fields: None }),
            Kind::Insert(insert) => return self.describe_insert(insert, types),
        };
        self.queried = true;
        let gateway = &*self.gateway;
        // `unknown` is as good as none.
        let types: Vec<u32> = types.iter().map(|t| if *t == 705 { 0 } else { *t }).collect();
        if let Some(owner) = self.owner(gateway)? {
            sql::text_size::pulled_up(query, lines, &gateway.policy.limits)?;
            let described = owner.describe(&statement.kind, &statement.text, &types);
            return described.await?.ok_or_else(control_here);
        }
        sql::text_size::check(query, lines, None, &gateway.policy.limits)?;
        if let Some(rewritten) = self.over_catalogs(gateway, query, lines, &statement.kind).await? {
            let mut described = self.describe_catalogs(gateway, &rewritten, &types).await?;
            if let Some(json) = explain {
                described.fields = Some(explanation::fields(json));
            }
            return Ok(described);
        }
        self.allowed(gateway, &types).await?;
        let constants = self.constants();
        let mut resolved = self.resolve(gateway, query, lines)?;
        if matches!(&*statement.kind, Kind::Arguments(..)) && !resolved.bindings.is_empty() {
            return Err(ClientError::unsupported("cannot use subquery in EXECUTE parameter")
                .hint("Ask it by itself, and write the answer."));
        }
        let parameters = sql::constants::parameters(&mut resolved).0 > 0 || !types.is_empty();
        // What is refused whatever the parameters are is refused here, before PostgreSQL hears of the statement.
        let private = if parameters {
            false
        } else {
            let planned =
                self.plan(gateway, resolved.clone(), constants.clone(), &[], &Values::default()).await?;
            resolved = planned.columns(&resolved).into_owned();
            planned.plan.charge.is_some()
        };
        let mut description = self.type_check(gateway, &resolved, private, &types, &constants).await?;
        self.allowed(gateway, &description.parameters).await?;
        if parameters && let Kind::Query(..) = &*statement.kind {
            let types = &description.parameters;
            if let Beside::Told(places) = self.beside(gateway, &resolved, &constants, types).await
                && !places.is_empty()
            {
                Intervals::told(places, self.settings.confidence()).put(&mut resolved.query);
                description = self.type_check(gateway, &resolved, false, types, &constants).await?;
            }
        }
        let fields = explain.map_or(description.fields, explanation::fields);
        Ok(Description { parameters: description.parameters, fields: Some(fields) })
    }

    /// Bind: the statement planned with its parameters' values (soundness rule 25).
    pub async fn bind(
        &mut self,
        statement: &Statement,
        description: &Description,
        values: Values,
    ) -> Result<Portal, ClientError> {
        let (portal, planned) = self.bind_now(statement, description, values).await?;
        let planned = planned.map(|planned| self.bound(planned, statement.plan_bytes()));
        Ok(Portal { planned, ..portal })
    }

    /// A portal, and its plan by itself.
    async fn bind_now(
        &mut self,
        statement: &Statement,
        description: &Description,
        values: Values,
    ) -> Result<(Portal, Option<Planned>), ClientError> {
        self.follow()?;
        self.queried |= !matches!(&*statement.kind, Kind::Control | Kind::Session(_) | Kind::Insert(_));
        let gateway = self.gateway.clone();
        let key = self.key(&statement.kind, &statement.text, &description.parameters, &values);
        let key = key.filter(|_| self.mode(&gateway) != Mode::Passthrough);
        let known = key.as_ref().and_then(|k| Some((k.clone(), gateway.known.public.get(k)?)));
        let unknown = key.as_ref().filter(|_| known.is_none());
        let before = self.planned_before(&gateway, unknown).map(|(planned, _)| planned);
        if let Kind::Query(query, lines) | Kind::Explain(query, lines, _) | Kind::Arguments(query, lines) =
            &*statement.kind
            && known.is_none()
            && before.is_none()
            && self.mode(&gateway) != Mode::Passthrough
        {
            let lengths: Vec<usize> =
                values.parameters.iter().map(|v| v.as_ref().map_or(0, bytes::Bytes::len)).collect();
            sql::text_size::check(query, lines, Some(&lengths), &gateway.policy.limits)?;
        }
        let planned = match &*statement.kind {
            _ if known.is_some() => None,
            _ if before.is_some() => before,
            _ if self.mode(&gateway) == Mode::Passthrough => None,
            Kind::Query(query, lines) | Kind::Explain(query, lines, _)
                if self.over_catalogs(&gateway, query, lines, &statement.kind).await?.is_some() =>
            {
                None
            }
            Kind::Query(query, lines) | Kind::Explain(query, lines, _) | Kind::Arguments(query, lines) => {
                let resolved = self.resolve(&gateway, query, lines)?;
                let types = &description.parameters;
                let planned = self.plan(&gateway, resolved, self.constants(), types, &values).await?;
                let fields = description.fields.as_deref().unwrap_or_default();
                if matches!(&*statement.kind, Kind::Query(..)) {
                    planned.described(Some(fields))?;
                }
                if let Some(key) = key.clone().filter(|_| planned.plan.charge.is_some()) {
                    let bytes = statement.plan_bytes();
                    gateway.known.plans.keep(key, &planned, gateway.known.sizes.known(), fields, bytes);
                }
                Some(Planned { key, ..planned })
            }
            Kind::Control | Kind::Session(_) | Kind::Insert(_) => None,
        };
        let (kind, text, description) = (statement.kind.clone(), statement.text.clone(), description.clone());
        if let (Some(planned), Kind::Query(..)) = (&planned, &*kind) {
            planned.described(description.fields.as_deref())?;
        }
        let tokens = statement.tokens;
        let (planned_as, watched) = (None, statement.watched());
        let portal =
            Portal { gateway, kind, text, tokens, description, values, planned: planned_as, known, watched };
        Ok((portal, planned))
    }

    /// Execute: charges, and runs.
    pub async fn execute(
        &mut self,
        mut portal: Portal,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        self.follow()?;
        if let Kind::Session(s) = &*portal.kind {
            // These give text, which looks the same in both formats.
            return Ok(match self.session_statement(s, notices).await? {
                Outcome::Rows { fields, rows, verb, count } => {
                    let fields = Columns::bound(fields, &portal.values).fields;
                    Outcome::Rows { fields, rows, verb, count }
                }
                done => done,
            });
        }
        if let Kind::Insert(insert) = &*portal.kind {
            let (types, values) = (&portal.description.parameters, &portal.values);
            return self.insert(insert, types, values).await;
        }
        let mut plan = portal.planned.and_then(|number| self.plan_of(number));
        // Another policy came into force since Bind, or another portal was bound.
        if !Arc::ptr_eq(&portal.gateway, &self.gateway) || plan.is_none() && portal.planned.is_some() {
            (portal, plan) = self.bound_again(portal).await?;
        }
        if let Some((key, known)) = portal.known.take() {
            let fields = portal.description.fields.clone().unwrap_or_default();
            let columns = Columns::bound(fields, &portal.values);
            match self.public_rows(&portal.gateway, &known.sql, &[], columns).await {
                Err(e) if may_be_outdated(&e) => portal.gateway.known.public.forget(&key),
                done => return done,
            }
            (portal, plan) = self.bound_again(portal).await?;
        }
        let Portal { gateway, kind, text, description, values, .. } = portal;
        if let Some(owner) = self.owner(&gateway)? {
            let asked = owner.run(&kind, &text, Some(&description), &values, notices);
            return asked.await?.ok_or_else(control_here);
        }
        let Some(planned) = plan else {
            let (query, lines, explain) = match &*kind {
                Kind::Query(query, lines) => (query, lines, None),
                Kind::Explain(query, lines, explain) => (query, lines, Some(*explain)),
                _ => return Err(control_here()),
            };
            let rewritten =
                self.over_catalogs(&gateway, query, lines, &kind).await?.ok_or_else(control_here)?;
            if let Some(explain) = explain {
                let columns = Columns::bound(description.fields.unwrap_or_default(), &values);
                let types = &description.parameters;
                let explained = self.explain_catalogs(&gateway, rewritten, explain, types, &values, notices);
                return Ok(explained.await?.rows(columns.fields));
            }
            return self.run_catalogs(&gateway, rewritten, Some(&description), &values, notices).await;
        };
        let columns = Columns::bound(description.fields.unwrap_or_default(), &values);
        if let Kind::Explain(query, lines, explain) = &*kind {
            let private = planned.plan.charge.is_some();
            let explained = self.explained(&gateway, planned, *explain).await?;
            if !explain.analyze {
                return Ok(explained.rows(columns.fields));
            }
            let (constants, types) = (self.constants(), &description.parameters);
            let resolved = self.resolve(&gateway, query, lines)?;
            let again = self.plan(&gateway, resolved.clone(), constants, types, &values).await?;
            let asked = again.columns(&resolved);
            let typed = self.type_check(&gateway, &asked, private, types, &again.constants);
            let asked = Columns::text(typed.await?.fields);
            let asked = self.asked(&gateway, explained, again, &text, asked, notices);
            return Ok(asked.await?.rows(columns.fields));
        }
        self.answer(&gateway, planned, &text, columns, notices).await
    }

    /// A portal bound anew, and its plan.
    async fn bound_again(&mut self, portal: Portal) -> Result<(Portal, Option<Planned>), ClientError> {
        let Portal { kind, text, tokens, watched, .. } = portal;
        let statement = Statement { kind, control: None, text, tokens, others: Arc::default(), watched };
        // However large its plan is, it is not kept: it runs now.
        self.bind_now(&statement, &portal.description, portal.values).await
    }

    /// EXPLAIN of a statement over the catalogs; ANALYZE asks it as well. `types` are those of its parameters.
    async fn explain_catalogs(
        &mut self,
        gateway: &Gateway,
        rewritten: ::catalogs::Rewritten,
        explain: sql::Explain,
        types: &[u32],
        values: &Values,
        notices: &mut Vec<Notice>,
    ) -> Result<Explained, ClientError> {
        let explained = Explained::of_catalogs(explain);
        if !explain.analyze {
            return Ok(explained);
        }
        let asked = Description { parameters: types.to_vec(), fields: None };
        let answered = self.run_catalogs(gateway, rewritten, Some(&asked), values, notices).await?;
        Ok(explained.and_asked(rows_of(answered).await?, false))
    }

    /// EXPLAIN ANALYZE of a statement that was explained as it stood: asks, and says that it cost.
    async fn asked(
        &self,
        gateway: &Arc<Gateway>,
        explained: Explained,
        planned: Planned,
        text: &Arc<str>,
        columns: Columns,
        notices: &mut Vec<Notice>,
    ) -> Result<Explained, ClientError> {
        let private = planned.plan.charge.is_some() && self.mode(gateway) == Mode::Private;
        let answered = self.answer(gateway, planned, text, columns, notices).await?;
        Ok(explained.and_asked(rows_of(answered).await?, private))
    }

    /// The second half of the way, for a statement that is planned and typed.
    async fn answer(
        &self,
        gateway: &Arc<Gateway>,
        planned: Planned,
        text: &Arc<str>,
        columns: Columns,
        notices: &mut Vec<Notice>,
    ) -> Result<Outcome, ClientError> {
        let Planned { mut plan, constants, mut settings, snapped, key, auto, .. } = planned;
        let key = key.filter(|_| snapped.is_none());
        if let Some(snapped) = snapped.filter(|_| self.settings.notices() && plan.charge.is_some()) {
            notices.push(snapping::notice(&snapped, &gateway.policy));
        }
        if plan.charge.is_some() {
            let finish = emit::print::finish(&plan, &gateway.policy, &constants);
            self.prove_finish(gateway, &plan, finish, columns.once()).await?;
            self.prove_stages(gateway, &plan, &constants).await?;
        }
        let synthetic = plan.charge.is_some() && self.mode(gateway) == Mode::Synthetic;
        if let Some(question) = plan.question.clone() {
            if synthetic {
                return Err(synthetic::no_stream());
            }
            return self.ask_stream(gateway, &plan, &question, constants, columns, notices).await;
        }
        if plan.free.is_some() {
            answered(Answered::Free);
        }
        let (noisy, told) = match plan.charge.clone() {
            None => (Vec::new(), Vec::new()),
            Some(mut charge) => {
                if !synthetic {
                    gateway.check_failures(&self.identity.user)?;
                }
                if let Some(auto) = auto {
                    let asked =
                        Asked { gateway, charge: &charge, text, settings: &settings, constants: &constants };
                    if let Some(chosen) = self.with_chosen_bound(&asked, &plan, &auto, notices).await? {
                        (plan, settings) = chosen;
                        charge = plan.charge.clone().unwrap_or(charge);
                        let finish = emit::print::finish(&plan, &gateway.policy, &constants);
                        self.prove_finish(gateway, &plan, finish, columns.once()).await?;
                    }
                }
                // Charge, fetch, release, in the order of its stages; nothing of it where the answers are kept.
                let asked =
                    Asked { gateway, charge: &charge, text, settings: &settings, constants: &constants };
                match self.settings.relative_accuracy().filter(|_| !synthetic) {
                    None => self.answers(&asked, &mut plan, notices).await?,
                    Some(part) => self.refined(&asked, &mut plan, part, notices).await?,
                }
            }
        };
        if let Some(message) =
            plan.free.as_ref().and_then(plan::Free::notice).filter(|_| self.settings.notices())
        {
            notices.push(Notice::new(message));
        }
        if self.settings.notices() {
            let collected = plan::explain::collected::of(&plan, &gateway.policy);
            notices.extend(
                plan::explain::collected::notice(&collected, self.settings.consistent()).map(Notice::new),
            );
            let biased = plan.releases.iter().filter_map(plan::explain::bias);
            notices.extend(biased.map(Notice::new));
        }
        if self.settings.notices() {
            notices.extend(told);
        }
        self.finish(gateway, &plan, constants, &noisy, columns, key).await
    }
}

/// How many rows came back.
async fn rows_of(answered: Outcome) -> Result<u64, ClientError> {
    match answered {
        Outcome::Rows { rows, .. } => rows.try_fold(0u64, |n, _| async move { Ok(n + 1) }).await,
        Outcome::Complete(_) | Outcome::Empty => Ok(0),
    }
}
