//! Soundness rule 31: every way by which the finish login could reach a private row is found and named.

use super::world::Database;
use noisegate::backend::Backend;

fn table(name: &str) -> (String, String) {
    ("public".into(), name.into())
}

async fn problems(db: &Database) -> Vec<String> {
    let backend = Backend::connect(&db.policy()).await.unwrap();
    backend
        .prove_finish_login(&backend.reader().await.unwrap(), &[table("riders")], &[table("stations")], &[])
        .await
        .err()
        .unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_31_each_way_to_a_private_row_is_found_with_what_mends_it() {
    let db = Database::new().await;
    let (me, fetch) = (&db.finish, &db.fetch);
    assert_eq!(problems(&db).await, Vec::<String>::new());
    db.admin
        .batch_execute(&format!(
            "CREATE ROLE g_{me}; CREATE ROLE h_{me}; GRANT h_{me} TO g_{me};
             ALTER TABLE riders ADD \"Full Name\" text;
             CREATE VIEW v1 AS SELECT rider_id FROM riders; CREATE VIEW v2 AS SELECT * FROM v1;
             CREATE MATERIALIZED VIEW m3 AS SELECT count(*) FROM v2;
             CREATE TABLE child () INHERITS (riders);
             CREATE TABLE parent (rider_id int);
             CREATE FUNCTION f(int) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM riders';
             REVOKE EXECUTE ON FUNCTION f FROM PUBLIC;"
        ))
        .await
        .unwrap();
    assert_eq!(problems(&db).await, Vec::<String>::new());
    for (harm, mend, said) in [
        (
            format!("GRANT SELECT ON riders TO {me}"),
            None,
            format!("REVOKE SELECT ON public.riders FROM {me}"),
        ),
        (
            "GRANT SELECT ON riders TO PUBLIC".into(),
            None,
            "REVOKE SELECT ON public.riders FROM PUBLIC".into(),
        ),
        (
            format!("GRANT SELECT (\"Full Name\") ON riders TO {me}"),
            None,
            format!("REVOKE SELECT (\"Full Name\") ON public.riders FROM {me}"),
        ),
        (format!("GRANT SELECT ON child TO {me}"), None, format!("REVOKE SELECT ON public.child FROM {me}")),
        (
            format!("ALTER TABLE riders INHERIT parent; GRANT SELECT ON parent TO {me}"),
            Some(format!("ALTER TABLE riders NO INHERIT parent; REVOKE SELECT ON parent FROM {me}")),
            format!("REVOKE SELECT ON public.parent FROM {me}"),
        ),
        (format!("GRANT SELECT ON v2 TO {me}"), None, format!("REVOKE SELECT ON public.v2 FROM {me}")),
        (format!("GRANT SELECT ON m3 TO {me}"), None, format!("REVOKE SELECT ON public.m3 FROM {me}")),
        (
            format!("GRANT EXECUTE ON FUNCTION f TO {me}"),
            Some(format!("REVOKE EXECUTE ON FUNCTION f FROM {me}")),
            format!("REVOKE EXECUTE ON ROUTINE public.f(integer) FROM PUBLIC, {me}"),
        ),
        (
            format!("GRANT {fetch} TO {me}"),
            Some(format!("REVOKE {fetch} FROM {me}")),
            format!("REVOKE {fetch} FROM"),
        ),
        (
            format!("GRANT pg_read_all_data TO {me}"),
            Some(format!("REVOKE pg_read_all_data FROM {me}")),
            "REVOKE pg_read_all_data FROM".into(),
        ),
        (
            format!("GRANT g_{me} TO {me}; ALTER ROLE {me} NOINHERIT; GRANT SELECT ON riders TO h_{me}"),
            Some(format!(
                "REVOKE g_{me} FROM {me}; ALTER ROLE {me} INHERIT; REVOKE SELECT ON riders FROM h_{me}"
            )),
            format!("REVOKE h_{me} FROM"),
        ),
        (
            format!("ALTER TABLE riders OWNER TO {me}; REVOKE ALL ON riders FROM {me}"),
            Some(format!(
                "ALTER TABLE riders OWNER TO postgres; GRANT ALL ON riders TO postgres; GRANT SELECT ON riders TO {fetch}"
            )),
            "ALTER TABLE public.riders OWNER TO".into(),
        ),
        (
            format!("ALTER ROLE {me} SUPERUSER"),
            Some(format!("ALTER ROLE {me} NOSUPERUSER")),
            "NOSUPERUSER".into(),
        ),
        (
            format!("ALTER ROLE {me} BYPASSRLS"),
            Some(format!("ALTER ROLE {me} NOBYPASSRLS")),
            "NOBYPASSRLS".into(),
        ),
        (
            format!("ALTER ROLE {me} CREATEROLE"),
            Some(format!("ALTER ROLE {me} NOCREATEROLE")),
            "NOCREATEROLE".into(),
        ),
        (
            format!("REVOKE SELECT ON stations FROM {me}"),
            Some(format!("GRANT SELECT ON stations TO {me}")),
            format!("GRANT SELECT ON public.stations TO {me}"),
        ),
        (
            "REVOKE USAGE ON SCHEMA public FROM PUBLIC".into(),
            Some("GRANT USAGE ON SCHEMA public TO PUBLIC".into()),
            format!("GRANT USAGE ON SCHEMA public TO {me}"),
        ),
        (
            format!("REVOKE SELECT ON riders FROM {fetch}"),
            Some(format!("GRANT SELECT ON riders TO {fetch}")),
            format!("GRANT SELECT ON public.riders TO {fetch}"),
        ),
    ] {
        db.admin.batch_execute(&harm).await.unwrap();
        let found = problems(&db).await;
        assert!(found.iter().any(|p| p.contains(&said)), "{harm}: {found:#?}");
        // What the sentence says mends it; where it leaves a choice, the test's own words do.
        let mend = mend.unwrap_or_else(|| said.clone());
        db.admin.batch_execute(&mend).await.unwrap();
        assert_eq!(problems(&db).await, Vec::<String>::new(), "after {mend}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_31_the_finish_login_is_a_login_of_its_own_on_the_same_tables() {
    let db = Database::new().await;
    let mut same = db.policy();
    same.finish_url = same.url.clone();
    let backend = Backend::connect(&same).await.unwrap();
    let found = backend
        .prove_finish_login(&backend.reader().await.unwrap(), &[table("riders")], &[], &[])
        .await
        .unwrap_err();
    assert!(found[0].contains("CREATE ROLE"), "{found:?}");

    let backend = Backend::connect(&db.policy()).await.unwrap();
    let found = backend
        .prove_finish_login(&backend.reader().await.unwrap(), &[table("no'such")], &[], &[])
        .await
        .unwrap_err();
    assert!(found[0].contains("does not exist"), "{found:?}");
    backend.prove_finish_login(&backend.reader().await.unwrap(), &[], &[], &[]).await.unwrap();
}
