//! Every statement of the cookbook in `docs/sql.md` is answered, with the columns and types that PostgreSQL gives.

use crate::bikes::Bikes;

fn recipes() -> Vec<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/sql.md");
    let text = std::fs::read_to_string(path).unwrap();
    let cookbook = text.split("\n## Cookbook\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let blocks = cookbook.split("```sql\n").skip(1);
    blocks.map(|b| b.split("\n```").next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_cookbook_can_be_cooked() {
    let bikes = Bikes::new().await.without_noise();
    let (recipes, mut wrong) = (recipes(), Vec::new());
    assert!(recipes.len() >= 8, "{}", recipes.len());
    for sql in &recipes {
        let (types, expected) = bikes.exact(sql).await;
        match bikes.ask(sql).await {
            Ok(asked) => {
                let given: Vec<u32> = asked.fields.iter().map(|f| f.type_oid).collect();
                // Empty public groups may be among them.
                if given != types || asked.rows.len() < expected.len() {
                    wrong.push(format!("{sql}\n  {given:?} {:?}\n  {types:?} {expected:?}", asked.rows));
                }
            }
            Err(e) => wrong.push(format!("{sql}\n  {e:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
