//! Proof from a plan: EXPLAIN's, of the coordinator, in JSON.

use serde_json::Value;
use std::collections::BTreeSet;

/// The name of the node that runs one statement on each of a table's shards.
const ADAPTIVE: &str = "Citus Adaptive";

/// Nodes that may stand between the rows of the shards and the answer, or what a later subplan reads: they add up, sort, cut.
const ABOVE: [&str; 5] = ["Aggregate", "Sort", "Incremental Sort", "Limit", "Result"];

/// Proves that one subplan reads private rows, and that its answers are added up once, by no more than `keys` keys: a
/// unit's parts are not among what is added up. `whole` are the shards of reference tables.
///
/// # Errors
/// The reason why it proves nothing, which depends on the text, the schema and where tables are.
pub(super) fn proves(plan: &Value, whole: &BTreeSet<i64>, keys: usize) -> Result<(), &'static str> {
    let mut found = Found { whole, keys, private: 0 };
    match plan.as_array().and_then(|all| all.first()).and_then(|one| one.get("Plan")) {
        Some(top) => found.node(top, &mut Vec::new()),
        None => Err("the plan of the coordinator cannot be read"),
    }
}

struct Found<'w> {
    whole: &'w BTreeSet<i64>,
    keys: usize,
    /// Subplans that read private rows.
    private: usize,
}

impl Found<'_> {
    /// A node of the coordinator, below those of `above` in one plan.
    fn node<'p>(&mut self, node: &'p Value, above: &mut Vec<&'p Value>) -> Result<(), &'static str> {
        if node.get("Relation Name").is_some() {
            return Err("a table is read on the coordinator alone");
        }
        if let Some(provider) = text(node, "Custom Plan Provider") {
            if provider != ADAPTIVE {
                return Err("the coordinator's plan has a part of another kind than statements over shards");
            }
            return self.distributed(node, above);
        }
        above.push(node);
        for child in list(node, "Plans") {
            self.node(child, above)?;
        }
        above.pop();
        Ok(())
    }

    /// A statement that is run on shards, and the subplans that go before it, each with a plan of its own.
    fn distributed(&mut self, node: &Value, above: &[&Value]) -> Result<(), &'static str> {
        let query = node.get("Distributed Query").ok_or("a statement over shards is not told")?;
        for subplan in list(query, "Subplans") {
            for planned in list(subplan, "PlannedStmt") {
                self.node(planned.get("Plan").ok_or("a subplan is not told")?, &mut Vec::new())?;
            }
        }
        let job = query.get("Job").ok_or("a statement over shards is not told")?;
        if !self.is_private(job)? {
            return Ok(());
        }
        self.private += 1;
        if self.private > 1 {
            return Err("private rows are read in more than one subplan, each in a snapshot of its own");
        }
        let mut sums = 0;
        for node in above {
            let kind = text(node, "Node Type").unwrap_or_default();
            if !ABOVE.contains(&kind) {
                return Err("rows of shards are joined or ranked on the coordinator");
            }
            sums += usize::from(kind == "Aggregate");
            if list(node, "Group Key").count() > self.keys {
                return Err("what single units add is added up on the coordinator");
            }
        }
        if sums > 1 {
            Err("what shards answer is added up more than once on the coordinator")
        } else {
            Ok(())
        }
    }

    /// Whether a statement reads other shards than those of reference tables. One that names no table is taken to, unless it
    /// reads what a subplan before it gave.
    fn is_private(&self, job: &Value) -> Result<bool, &'static str> {
        let tasks =
            job.get("Task Count").and_then(Value::as_u64).ok_or("a statement over shards is not told")?;
        let mut names = Vec::new();
        let mut reads = Reads { tables: &mut names, subplans: false };
        list(job, "Tasks").for_each(|task| reads.look(task));
        let subplans = reads.subplans;
        let is_whole = |name: &&str| {
            let shard = name.rsplit_once('_').and_then(|(_, id)| id.parse::<i64>().ok());
            shard.is_some_and(|id| self.whole.contains(&id))
        };
        Ok(tasks != 1 || !names.iter().all(is_whole) || (names.is_empty() && !subplans))
    }
}

/// Tables and results of subplans that a server's plan reads.
struct Reads<'n, 'p> {
    tables: &'n mut Vec<&'p str>,
    /// A result of a subplan is read.
    subplans: bool,
}

impl<'p> Reads<'_, 'p> {
    fn look(&mut self, value: &'p Value) {
        match value {
            Value::Object(fields) => {
                self.tables.extend(text(value, "Relation Name"));
                let reads =
                    text(value, "Function Name").is_some_and(|f| f.starts_with("read_intermediate_result"));
                self.subplans |= reads;
                fields.values().for_each(|v| self.look(v));
            }
            Value::Array(all) => all.iter().for_each(|v| self.look(v)),
            _ => {}
        }
    }
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A statement over shards: their number, and the table that one of them reads.
    fn over(shards: u64, table: &str, subplans: &[Value]) -> Value {
        let subplans: Vec<Value> =
            subplans.iter().map(|p| json!({ "PlannedStmt": [{ "Plan": p }] })).collect();
        let reads = match table {
            "" => json!({ "Node Type": "Function Scan", "Function Name": "read_intermediate_result" }),
            _ => json!({ "Node Type": "Seq Scan", "Relation Name": table }),
        };
        let task = json!({ "Node": "host=h port=1", "Remote Plan": [[{ "Plan": reads }]] });
        let job = json!({ "Task Count": shards, "Tasks Shown": "One", "Tasks": [task] });
        json!({ "Node Type": "Custom Scan", "Custom Plan Provider": ADAPTIVE,
                "Distributed Query": { "Subplans": subplans, "Job": job } })
    }

    fn above(kind: &str, keys: &[&str], below: &Value) -> Value {
        json!({ "Node Type": kind, "Group Key": keys, "Plans": [below] })
    }

    fn judged(top: &Value) -> Result<(), &'static str> {
        proves(&json!([{ "Plan": top }]), &BTreeSet::from([7]), 1)
    }

    #[test]
    fn rule_02_one_subplan_reads_private_rows() {
        let trips = over(12, "trips_21", &[]);
        let sums = above("Aggregate", &["remote_scan.k0"], &trips);
        assert_eq!(judged(&sums), Ok(()));
        // Domains of reference tables go before, and sums are joined with them after.
        let domain = over(1, "stations_7", &[]);
        assert_eq!(judged(&above("Sort", &[], &over(1, "", &[domain.clone(), sums.clone()]))), Ok(()));
        // A unit's rows in two snapshots.
        let twice =
            judged(&over(1, "", &[sums.clone(), above("Aggregate", &[], &over(12, "riders_9", &[]))]));
        assert_eq!(
            twice,
            Err("private rows are read in more than one subplan, each in a snapshot of its own")
        );
        assert!(judged(&over(12, "trips_21", std::slice::from_ref(&sums))).is_err());
        // One shard's alone is private, too, and so is what no name tells.
        let one = over(1, "trips_21", &[]);
        assert!(judged(&over(1, "", &[one.clone(), one])).is_err());
        let silent = json!({ "Node Type": "Custom Scan", "Custom Plan Provider": ADAPTIVE,
            "Distributed Query": { "Job": { "Task Count": 1, "Tasks": [] } } });
        assert!(judged(&over(1, "", &[silent.clone(), silent])).is_err());
    }

    #[test]
    fn nothing_above_adds_up_the_parts_of_a_unit() {
        let trips = over(12, "trips_21", &[]);
        let by_unit = above("Aggregate", &["remote_scan.u", "remote_scan.k0"], &trips);
        assert_eq!(judged(&by_unit), Err("what single units add is added up on the coordinator"));
        let twice = above("Aggregate", &[], &above("Aggregate", &["remote_scan.u"], &trips));
        assert_eq!(judged(&twice), Err("what shards answer is added up more than once on the coordinator"));
        for kind in ["WindowAgg", "Hash Join", "Append", "Unique"] {
            assert_eq!(
                judged(&above(kind, &[], &trips)),
                Err("rows of shards are joined or ranked on the coordinator"),
                "{kind}"
            );
        }
        assert!(judged(&json!({ "Node Type": "Seq Scan", "Relation Name": "trips" })).is_err());
        assert!(
            judged(&json!({ "Node Type": "Custom Scan", "Custom Plan Provider": "Citus Other" })).is_err()
        );
        assert!(proves(&Value::Null, &BTreeSet::new(), 1).is_err());
    }
}
