//! What EXPLAIN says: lines, or an object that has them among its keys.

use crate::explained;
use answer::{Field, Outcome};
use plan::Plan;
use policy::Policy;
use serde_json::{Value, json};

/// An explanation on its way to the client.
pub(super) struct Explained {
    lines: Vec<String>,
    /// Where JSON is asked for.
    object: Option<Value>,
}

impl Explained {
    /// Of a plan, in these lines.
    pub fn new(
        plan: &Plan,
        policy: &Policy,
        settings: &plan::Settings,
        lines: Vec<String>,
        json: bool,
    ) -> Self {
        let object = json.then(|| explained::told(plan, policy, settings, &lines));
        Self { lines, object }
    }

    /// With what came of asking.
    pub fn and_asked(mut self, rows: u64, charged: bool) -> Self {
        let cost =
            if charged { "what it cost is in the notice, and in noisegate.history" } else { "for nothing" };
        let line = format!("Asked: {rows} rows came back; {cost}");
        if let Some(object) = self.object.as_mut().and_then(Value::as_object_mut) {
            object.insert("asked".into(), json!({ "rows": rows, "free": !charged }));
        }
        self.lines.push(line);
        self
    }

    /// The rows: one for each line, or one with a list of one object, as PostgreSQL gives it.
    pub fn rows(self, fields: Vec<Field>) -> Outcome {
        match self.object {
            None => plan::explain::told(&self.lines, fields),
            // Maps with string keys and no number that JSON lacks: this has no way to fail.
            Some(object) => {
                let text = serde_json::to_string_pretty(&json!([object])).unwrap_or_default();
                plan::explain::told(&[text], fields)
            }
        }
    }
}
