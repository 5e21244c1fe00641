//! Views of the policy: each is resolved, and typed by PostgreSQL, before it is in force.

use answer::ClientError;
use backend::{Backend, Settings};
use emit::print::{self, Constants};
use policy::{Policy, View};
use schema::SqlType;

/// Types of every view's columns, or what is wrong with which view.
pub async fn columns(policy: &Policy, backend: &Backend) -> Result<Vec<Vec<(String, SqlType)>>, String> {
    let mut all = Vec::with_capacity(policy.views.len());
    for view in &policy.views {
        let found = one(view, policy, backend).await;
        all.push(found.map_err(|e| {
            let hint = e.hint.map(|h| format!(" ({h})")).unwrap_or_default();
            format!("the view \"{}\": {}{hint}", view.name, e.message)
        })?);
    }
    Ok(all)
}

async fn one(view: &View, policy: &Policy, backend: &Backend) -> Result<Vec<(String, SqlType)>, ClientError> {
    let statement = sql::resolve::view(&view.name, policy, &policy.limits)?;
    // None of it is asked for: what a session would have decides no type.
    let constants = Constants {
        now: "2000-01-01 00:00:00+00".into(),
        user: String::new(),
        database: String::new(),
        schema: Some(View::SCHEMA.into()),
        own: Vec::new(),
    };
    let text = print::typed(&statement, policy, &constants);
    let described = backend.describe(&Settings::default(), &text.sql, &[]).await;
    let described = described.map_err(|e| crate::gateway::typing_error(e, &text, &statement.bindings))?;
    let columns = described.fields.into_iter();
    Ok(columns.map(|f| (f.name, SqlType::from_oid(f.type_oid, f.type_modifier, "text"))).collect())
}
