//! Explanations: the three sentences of EXPLAIN, and with VERBOSE the numbers; or an object that
//! has them among its keys.

use crate::explained;
use answer::{Field, Outcome, text_cells};
use futures::StreamExt;
use plan::Plan;
use policy::Policy;
use serde_json::{Value, json};

/// An explanation on its way to the client.
pub struct Explained {
    lines: Vec<String>,
    /// The object, when JSON is asked for.
    object: Option<Value>,
}

impl Explained {
    /// Of a plan, in these sentences and, where they are asked for, these lines.
    pub fn new(
        plan: &Plan,
        policy: &Policy,
        settings: &plan::Settings,
        summary: Vec<String>,
        lines: Vec<String>,
        explain: sql::Explain,
    ) -> Self {
        let object = explain.json.then(|| explained::told(plan, policy, settings, &summary, &lines));
        let more = if explain.verbose { lines } else { vec![MORE.to_owned()] };
        Self { lines: [summary, more].concat(), object }
    }

    /// Of a statement over the catalogs, which PostgreSQL answers by itself.
    pub fn of_catalogs(explain: sql::Explain) -> Self {
        let lines = vec![
            "This costs nothing: no private rows are read.".to_owned(),
            "Catalogs: PostgreSQL answers, over what the policy shows.".to_owned(),
        ];
        let price = json!({ "epsilon": 0, "delta": 0, "budgets": [] });
        let object = explain
            .json
            .then(|| json!({ "summary": lines, "price": price, "releases": [], "tables": [], "plan": [] }));
        Self { lines, object }
    }

    /// Of these lines, or of the object where JSON is asked for.
    pub fn of_lines(lines: Vec<String>, object: Option<Value>) -> Self {
        Self { lines, object }
    }

    /// With what came of asking.
    pub fn and_asked(mut self, rows: u64, charged: bool) -> Self {
        let came = if rows == 1 { "1 row came".to_owned() } else { format!("{rows} rows came") };
        let cost =
            if charged { "the notice and noisegate.history say what it cost" } else { "nothing was spent" };
        if let Some(object) = self.object.as_mut().and_then(Value::as_object_mut) {
            object.insert("asked".into(), json!({ "rows": rows, "free": !charged }));
        }
        self.lines.push(format!("It was asked, and {came} back; {cost}."));
        self
    }

    /// The rows: one for each line, or one with a list of one object, as PostgreSQL gives it.
    pub fn rows(self, fields: Vec<Field>) -> Outcome {
        match self.object {
            None => told(&self.lines, fields),
            // Maps with string keys and no number that JSON lacks: this has no way to fail.
            Some(object) => {
                let text = serde_json::to_string_pretty(&json!([object])).unwrap_or_default();
                told(&[text], fields)
            }
        }
    }
}

/// The sentence that says where the numbers are.
const MORE: &str = "EXPLAIN (VERBOSE) SELECT … tells noise, bounds and price in numbers.";

/// The columns of EXPLAIN: one of text or JSON, like PostgreSQL's own.
pub fn fields(json: bool) -> Vec<Field> {
    let type_oid = if json { 114 } else { 25 };
    vec![Field { name: "QUERY PLAN".into(), type_oid, type_size: -1, type_modifier: -1, format: 0 }]
}

/// Lines as rows.
fn told(lines: &[String], fields: Vec<Field>) -> Outcome {
    let rows: Vec<Result<bytes::Bytes, answer::ClientError>> =
        lines.iter().map(|l| Ok(text_cells(&[Some(l)]))).collect();
    Outcome::Rows { fields, rows: futures::stream::iter(rows).boxed(), verb: "EXPLAIN", count: false }
}
