//! `noisegate collect encode`: answers in CSV or JSON lines to sealed reports, one a line. What is read is held for one record at a time,
//! and no error repeats an answer.

use crate::cli::memory;
use dp::SecureRng;
use encode::{Answer, Collection, Message};
use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// How answers are written.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// A header line, then a line for each person; an empty field is no answer, and values of a set have ; between them.
    Csv,
    /// An object for each person; null or no key is no answer, and a set is an array.
    Jsonl,
}

/// Arguments of `noisegate collect encode`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate collect encode --collection survey.json answers.csv >reports
  noisegate collect encode --collection survey.json --format jsonl <answers.jsonl >reports")]
pub struct Args {
    /// The collection's public description (JSON)
    #[arg(long, value_name = "FILE")]
    collection: PathBuf,
    /// How the answers are written
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
    /// A label, of which the shuffler sees a digest: reports wait until there are enough of their group
    #[arg(long, value_name = "LABEL", default_value = "")]
    group: String,
    /// The answers [default: standard input]
    #[arg(value_name = "FILE")]
    input: Option<PathBuf>,
}

/// Bytes of one line of JSON.
const LONGEST: usize = 1 << 20;

/// Reads a description.
pub fn collection(path: &Path) -> Result<Collection, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Collection::parse(&text).map_err(|e| format!("{}: {e}", path.display()))?)
}

/// Encodes records until there are no more, or one is wrong: reports of those before it were written.
pub fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    memory::keep_or_say();
    let collection = collection(&args.collection)?;
    let input: Box<dyn Read> = match &args.input {
        Some(path) => Box::new(std::fs::File::open(path).map_err(|e| format!("{}: {e}", path.display()))?),
        None => Box::new(io::stdin().lock()),
    };
    let mut encoder = Encoder {
        collection: &collection,
        group: &args.group,
        rng: SecureRng::new()?,
        out: io::BufWriter::new(io::stdout().lock()),
    };
    match args.format {
        Format::Csv => csv(input, &mut encoder)?,
        Format::Jsonl => json(input, &mut encoder)?,
    }
    encoder.out.flush()?;
    Ok(())
}

struct Encoder<'a, W: Write> {
    collection: &'a Collection,
    group: &'a str,
    rng: SecureRng,
    out: W,
}

impl<W: Write> Encoder<'_, W> {
    fn write(&mut self, answers: &[Answer<'_>], record: usize) -> Result<(), Box<dyn Error>> {
        let message: Message = self
            .collection
            .encode(answers, self.group, &mut self.rng)
            .map_err(|e| format!("record {record}: {e}"))?;
        Ok(writeln!(self.out, "{}", message.line())?)
    }
}

/// What is wrong in a place, without the text that stands there.
fn at(record: usize, what: &str) -> String {
    format!("record {record}: {what}")
}

fn csv<W: Write>(input: impl Read, encoder: &mut Encoder<'_, W>) -> Result<(), Box<dyn Error>> {
    let mut reader = csv::ReaderBuilder::new().from_reader(input);
    let header = reader.headers().map_err(|_| "the header line is no CSV in UTF-8")?.clone();
    let columns = encoder.collection.columns();
    let mut places = Vec::new();
    for column in columns {
        let place = header.iter().position(|name| name.trim() == column.name());
        places.push(place.ok_or_else(|| {
            format!("the header line has no column {:?}: give all columns of the description", column.name())
        })?);
    }
    if let Some(name) = header.iter().map(str::trim).find(|name| columns.iter().all(|c| c.name() != *name)) {
        return Err(format!(
            "the header line has a column {name:?} that the description does not ask for: remove it"
        )
        .into());
    }
    let mut row = csv::StringRecord::new();
    let mut record = 0;
    loop {
        record += 1;
        // The library's own words may show the field.
        if !reader
            .read_record(&mut row)
            .map_err(|_| at(record, "it is no CSV in UTF-8 with as many fields as the header"))?
        {
            return Ok(());
        }
        let fields: Vec<&str> = places.iter().map(|place| row.get(*place).unwrap_or_default()).collect();
        let sets: Vec<Vec<&str>> =
            fields.iter().map(|field| field.split(';').map(str::trim).collect()).collect();
        let answers: Vec<Answer<'_>> = columns
            .iter()
            .zip(fields.iter().zip(&sets))
            .map(|(column, (field, set))| match (*field, column.kind()) {
                ("", _) => Answer::Missing,
                (_, encode::Kind::Set) => Answer::Several(set),
                (field, _) => Answer::One(field),
            })
            .collect();
        encoder.write(&answers, record)?;
    }
}

fn json<W: Write>(input: impl Read, encoder: &mut Encoder<'_, W>) -> Result<(), Box<dyn Error>> {
    let columns = encoder.collection.columns();
    let mut reader = BufReader::new(input);
    let (mut line, mut record) = (Vec::new(), 0);
    loop {
        line.clear();
        record += 1;
        let read = reader.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if read > LONGEST {
            return Err(at(record, "it has over a mebibyte").into());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&line).map_err(|_| at(record, "it is no JSON object on one line"))?;
        if object.keys().any(|key| columns.iter().all(|column| column.name() != key)) {
            return Err(at(record, "it has a key that the description does not ask for: remove it").into());
        }
        let texts: Option<Vec<Vec<String>>> = columns.iter().map(|c| texts(object.get(c.name()))).collect();
        let texts = texts.ok_or_else(|| {
            at(record, "an answer is a string, a number, true, false, null, or an array of strings")
        })?;
        let sets: Vec<Vec<&str>> =
            texts.iter().map(|list| list.iter().map(String::as_str).collect()).collect();
        let answers: Vec<Answer<'_>> = columns
            .iter()
            .zip(&sets)
            .map(|(column, set)| match set.as_slice() {
                _ if object.get(column.name()).is_none_or(serde_json::Value::is_null) => Answer::Missing,
                [one] if column.kind() != encode::Kind::Set => Answer::One(one),
                several => Answer::Several(several),
            })
            .collect();
        encoder.write(&answers, record)?;
    }
}

/// An answer's values as text. None where it is an object.
fn texts(value: Option<&serde_json::Value>) -> Option<Vec<String>> {
    use serde_json::Value;
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(bool) => Some(bool.to_string()),
        _ => None,
    };
    match value {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(list)) => list.iter().map(one).collect(),
        Some(value) => Some(vec![one(value)?]),
    }
}
