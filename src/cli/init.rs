//! `noisegate init`: a starter policy from the catalogs of a database.

use super::database;
use crate::init::{self, Catalog, Options};
use policy::ServerUrl;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Arguments of `noisegate init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate init --backend postgres://you@host/shop --unit customers.customer_id >shop.toml")]
pub struct Args {
    /// The database, as anybody who may connect to it
    #[arg(long, value_name = "URL")]
    backend: String,
    /// Who is protected: a key of a table, for example riders.rider_id
    #[arg(long, value_name = "TABLE.COLUMN")]
    unit: String,
    /// A table that anybody may read; may be repeated [default: none is public]
    #[arg(long, value_name = "TABLE")]
    public: Vec<String>,
    /// A schema to look at; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    schema: Vec<String>,
    /// How sure somebody may become, in percent, who suspects with 10 % that a person is in the data: what the budgets follow from
    #[arg(long, value_name = "PERCENT", default_value_t = 90, value_parser = clap::value_parser!(u8).range(11..=99))]
    at_most: u8,
    /// Where to write it; an existing file is not overwritten [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Reads the catalogs and writes the policy.
pub async fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let ServerUrl { config, .. } = args.backend.parse().map_err(|why| format!("--backend: {why}"))?;
    let connected = database::backend(&args.backend).await?;
    let catalog = Catalog::read(&connected.client).await?;
    let options = Options {
        unit: args.unit.clone(),
        public: args.public.clone(),
        schemas: args.schema.clone(),
        at_most: args.at_most,
        address: address(&config),
    };
    let starter = init::starter(&catalog, &options)?;
    let Some(path) = &args.output else {
        std::io::stdout().lock().write_all(starter.policy.as_bytes())?;
        return Ok(());
    };
    let shown = path.display();
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(|e| format!("{shown} cannot be written: {e}"))?;
    file.write_all(starter.policy.as_bytes()).map_err(|e| format!("{shown} cannot be written: {e}"))?;
    println!(
        "wrote {shown}: {} private table(s), {} public, {} left out with the reason\n\
         next: decide what is marked TODO, run the statements at its end, then noisegate check --policy {shown}",
        starter.private, starter.public, starter.left_out
    );
    Ok(())
}

/// Host and port as they stand in a URL.
fn address(config: &Config) -> String {
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) if host.contains(':') => format!("[{host}]"),
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string().replace('%', "%25").replace('/', "%2F"),
        None => "localhost".into(),
    };
    if port == 5432 { host } else { format!("{host}:{port}") }
}
