//! tokio-postgres, which speaks nothing but the extended protocol when it has a choice.

use crate::fake::Harness;
use futures::{TryStreamExt, future};
use std::future::Future;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, NoTls};

fn connected<F: Future<Output = ()>>(server: &Harness, work: impl FnOnce(Client) -> F) {
    server.runtime.block_on(async {
        let mut config = Config::new();
        config.host("127.0.0.1").port(server.address.port()).user("ana");
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        work(client).await;
    });
}

#[test]
fn prepared_statements_parameters_and_binary_results() {
    let server = Harness::new();
    connected(&server, |client| async move {
        let statement = client.prepare("select $1::int4, $2::text").await.unwrap();
        assert_eq!(statement.params(), [Type::INT4, Type::TEXT]);
        for n in 0..3i32 {
            let row = client.query_one(&statement, &[&n, &"x"]).await.unwrap();
            assert_eq!((row.get::<_, i32>(0), row.get::<_, &str>(1)), (n, "x"));
        }
        let row = client.query_one(&statement, &[&None::<i32>, &None::<&str>]).await.unwrap();
        assert_eq!((row.get::<_, Option<i32>>(0), row.get::<_, Option<&str>>(1)), (None, None));
        let row = client.query_typed("select $1::text", &[(&"typed", Type::TEXT)]).await.unwrap().remove(0);
        assert_eq!(row.get::<_, &str>(0), "typed");
        let e = client.query("nonsense", &[]).await.unwrap_err();
        assert_eq!(e.as_db_error().unwrap().hint(), Some("Ask for another."));
        assert_eq!(client.execute("set x", &[]).await.unwrap(), 0);
        assert_eq!(client.execute("rows 5", &[]).await.unwrap(), 5);
    });
}

#[test]
fn portals_in_a_transaction() {
    let server = Harness::new();
    connected(&server, |mut client| async move {
        let statement = client.prepare("rows 10").await.unwrap();
        let transaction = client.transaction().await.unwrap();
        let portal = transaction.bind(&statement, &[]).await.unwrap();
        let other = transaction.bind(&statement, &[]).await.unwrap();
        let mut all = Vec::new();
        loop {
            let rows = transaction.query_portal(&portal, 4).await.unwrap();
            if rows.is_empty() {
                break;
            }
            assert!(rows.len() <= 4);
            all.extend(rows.iter().map(|row| row.get::<_, String>(0).trim_start_matches('0').to_owned()));
            let rows = transaction.query_portal(&other, 1).await.unwrap();
            assert_eq!(rows.len(), 1, "two portals take turns");
        }
        assert_eq!(all, ["", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        transaction.commit().await.unwrap();
        let mut outer = client.transaction().await.unwrap();
        let inner = outer.savepoint("a").await.unwrap();
        assert!(inner.query("nonsense", &[]).await.is_err());
        inner.rollback().await.unwrap();
        assert_eq!(outer.query("select 1", &[]).await.unwrap().len(), 1);
        outer.rollback().await.unwrap();
    });
    assert_eq!(server.seen.ran().iter().filter(|s| *s == "rows 10").count(), 2);
}

#[test]
fn requests_in_flight_together() {
    let server = Harness::new();
    connected(&server, |client| async move {
        let statement = client.prepare("select $1::int4").await.unwrap();
        let (client, statement) = (&client, &statement);
        let queries = (0..500i32).map(|n| async move {
            let row = client.query_one(statement, &[&n]).await.unwrap();
            assert_eq!(row.get::<_, i32>(0), n);
        });
        future::join_all(queries).await;
        let rows = client.query_raw("rows 2000", Vec::<i32>::new()).await.unwrap();
        assert_eq!(rows.try_fold(0, |n, _| future::ok(n + 1)).await.unwrap(), 2_000);
    });
}
