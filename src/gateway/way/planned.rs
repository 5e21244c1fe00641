//! Queries that have a plan: resolved, typed by PostgreSQL, and planned with the values of their parameters (soundness rule 25).

use super::written::Written;
use crate::gateway::known::remembered::Key;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::statement::{Planned, Prepared};
use crate::gateway::tell::explanation;
use answer::{ClientError, Description, Field, SqlState, Values};
use plan::reach::columns::{Beside, Intervals};
use sql::Explain;

/// 42P02: a parameter that nothing brings a value for.
pub const UNDEFINED_PARAMETER: SqlState = SqlState(*b"42P02");

/// A query whose names are resolved.
pub struct Resolved {
    statement: sql::ast::Statement,
    explain: Option<Explain>,
    arguments: bool,
}

impl Resolved {
    fn is_plain(&self) -> bool {
        self.explain.is_none() && !self.arguments
    }

    /// Refuses parameters, which the simple protocol does not bring.
    pub fn without_parameters(&self, hint: &str) -> Result<(), ClientError> {
        match sql::constants::parameters(&mut self.statement.clone()) {
            (0, _) => Ok(()),
            (n, pos) => {
                let message = format!("there is no parameter ${n}");
                Err(ClientError::new(UNDEFINED_PARAMETER, message).hint(hint).at(pos))
            }
        }
    }
}

impl Ask<'_> {
    /// A query with its names resolved.
    pub fn resolved(&self, asked: &Written<'_>) -> Result<Resolved, ClientError> {
        let statement = self.resolve(asked.query, asked.lines)?;
        Ok(Resolved { statement, explain: asked.explain, arguments: asked.arguments })
    }

    /// The types of parameters and columns: PostgreSQL types the statement, and they stay so.
    pub(super) async fn describe_planned(
        &self,
        mut resolved: Resolved,
        types: &[u32],
    ) -> Result<Description, ClientError> {
        // `unknown` is as good as none.
        let types: Vec<u32> = types.iter().map(|t| if *t == 705 { 0 } else { *t }).collect();
        self.allowed(&types).await?;
        if resolved.arguments && !resolved.statement.bindings.is_empty() {
            return Err(ClientError::unsupported("cannot use subquery in EXECUTE parameter")
                .hint("Ask it by itself, and write the answer."));
        }
        let constants = self.constants();
        let plain = resolved.is_plain();
        let statement = &mut resolved.statement;
        let parameters = sql::constants::parameters(statement).0 > 0 || !types.is_empty();
        // A statement that is refused whatever its parameters are is refused here, before PostgreSQL hears of it.
        let mut private = false;
        if !parameters {
            let planned = self.plan(statement.clone(), constants.clone(), &[], &Values::default()).await?;
            *statement = planned.columns(statement).into_owned();
            private = planned.plan.charge.is_some();
        }
        let mut description = self.type_check(statement, private, &types, &constants).await?;
        self.allowed(&description.parameters).await?;
        if parameters && plain {
            let types = &description.parameters;
            if let Beside::Told(places) = self.beside(statement, &constants, types).await
                && !places.is_empty()
            {
                Intervals::told(places, self.settings.confidence()).put(&mut statement.query);
                description = self.type_check(statement, false, types, &constants).await?;
            }
        }
        let fields = resolved.explain.map_or(description.fields, |e| explanation::fields(e.json));
        Ok(Description { parameters: description.parameters, fields: Some(fields) })
    }

    /// The plan with the values of parameters. `fields`: the columns that were told.
    pub(super) async fn bind_planned(
        &self,
        resolved: Resolved,
        key: Option<Key>,
        (types, values): (&[u32], &Values),
        fields: Option<&[Field]>,
        bytes: usize,
    ) -> Result<Planned, ClientError> {
        let plain = resolved.is_plain();
        let planned = self.plan(resolved.statement, self.constants(), types, values).await?;
        if plain {
            planned.described(fields)?;
        }
        Ok(self.remember(key, planned, fields.unwrap_or_default(), bytes))
    }

    /// The plan of a query of the simple protocol, and its columns. `fresh`: they are not those of another time.
    pub(super) async fn prepare_planned(
        &self,
        resolved: Resolved,
        key: Option<Key>,
        bytes: usize,
        fresh: bool,
    ) -> Result<Prepared, ClientError> {
        resolved.without_parameters(
            "Parameters come with the extended query protocol: bind values to the statement.",
        )?;
        let statement = resolved.statement;
        let planned = self.plan(statement.clone(), self.constants(), &[], &Values::default()).await?;
        let asked = planned.columns(&statement);
        let private = planned.plan.charge.is_some();
        let before = (!private && !fresh && resolved.explain.is_none())
            .then(|| self.typed_before(&asked, &planned.constants))
            .flatten();
        let doubtful = before.is_some();
        let fields = match before {
            Some(fields) => fields,
            None => self.type_check(&asked, private, &[], &planned.constants).await?.fields,
        };
        let planned = self.remember(key, planned, &fields, bytes);
        Ok(Prepared { planned, fields, doubtful })
    }

    /// Keeps the plan of a statement over private rows under its key.
    fn remember(&self, key: Option<Key>, planned: Planned, fields: &[Field], bytes: usize) -> Planned {
        if let Some(key) = key.clone().filter(|_| planned.plan.charge.is_some()) {
            let known = &self.gateway.known;
            known.plans.keep(key, &planned, known.sizes.known(), fields, bytes);
        }
        Planned { key, ..planned }
    }
}
