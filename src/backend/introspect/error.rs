//! Reasons why the schema could not be read.

/// Why the schema could not be read.
#[derive(Debug, thiserror::Error)]
pub enum IntrospectError {
    /// A catalog query failed, or the connection did.
    #[error("cannot read the catalogs: {}", describe(.0))]
    Query(#[from] tokio_postgres::Error),
    /// The server is not PostgreSQL 13 to 18.
    #[error("the server says it is version {0}; noisegate works with PostgreSQL 13 to 18")]
    Version(String),
    /// The database is not UTF8.
    #[error("the database's encoding is {0}; noisegate works with UTF8 (createdb -E UTF8 -T template0)")]
    Encoding(String),
    /// A catalog query returned what its text does not allow.
    #[error("a catalog query returned something unexpected: {0}")]
    Decode(#[from] serde_json::Error),
}

/// The server's own message where there is one: `tokio_postgres::Error` prints only "db error".
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} (SQLSTATE {})", db.message(), db.code().code()),
        None => error.to_string(),
    }
}
