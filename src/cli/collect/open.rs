//! `noisegate collect open`: what the analyser does with a batch: opens the inner layer and writes the randomised reports as CSV, for COPY
//! into the table of the reports. What it writes is private by itself: each field was randomised where it was given.

use super::encode::collection;
use super::key;
use crate::cli::print::hex;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dp::randomised::Report;
use encode::{AnalyserKey, Sealed};
use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

/// Arguments of `noisegate collect open`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  noisegate collect open --collection survey.json --key analyser.key batches/1.batch >reports.csv")]
pub struct Args {
    /// The collection's public description (JSON)
    #[arg(long, value_name = "FILE")]
    collection: PathBuf,
    /// The analyser's secret key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// A batch of `noisegate collect shuffle`
    #[arg(value_name = "FILE")]
    batch: PathBuf,
}

/// Opens one batch: all of it, or nothing where its head is not of this collection. Reports that do not open are left out, and counted
/// on standard error: who sent them made them so.
pub fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let collection = collection(&args.collection)?;
    let key = AnalyserKey::parse(&key::read(&args.key)?)?;
    let fail = |e: io::Error| format!("{}: {e}", args.batch.display());
    let mut lines = BufReader::new(std::fs::File::open(&args.batch).map_err(fail)?).lines();
    let head = lines.next().transpose().map_err(fail)?.unwrap_or_default();
    let head: serde_json::Value = serde_json::from_str(&head)
        .map_err(|_| format!("{} is no batch of noisegate collect shuffle", args.batch.display()))?;
    if head.get("collection").and_then(|c| c.as_str()) != Some(hex(collection.digest()).as_str()) {
        return Err(format!(
            "{} is a batch of another collection, or of another version of it",
            args.batch.display()
        )
        .into());
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    let names: Vec<String> =
        collection.columns().iter().map(|c| format!("\"{}\"", c.name().replace('"', "\"\""))).collect();
    writeln!(out, "{}", names.join(","))?;
    let (mut opened, mut wrong) = (0u64, 0u64);
    for line in lines {
        let sealed = URL_SAFE_NO_PAD.decode(line.map_err(fail)?.trim());
        let reports = sealed.ok().and_then(|bytes| key.open(&collection, &Sealed::from_bytes(&bytes)).ok());
        match reports {
            Some(reports) => {
                let fields: Vec<String> = reports.iter().map(field).collect();
                writeln!(out, "{}", fields.join(","))?;
                opened += 1;
            }
            None => wrong += 1,
        }
    }
    out.flush()?;
    if wrong > 0 {
        eprintln!(
            "noisegate: {opened} reports opened; {wrong} were not sealed to this key, or hold what no randomiser says, and were left out"
        );
    }
    Ok(())
}

/// As PostgreSQL reads int4 and bytea.
fn field(report: &Report) -> String {
    match report {
        Report::Symbol(symbol) => symbol.to_string(),
        Report::Bits(bits) => format!("\\x{}", hex(bits)),
    }
}
