//! `noisegate budget account`: the accountant by itself. Evaluates a file of cases with expected values, or says how many answers
//! fit a budget. Reads no policy, no ledger, no database.

mod capacity;
pub mod cases;
mod computed;
mod decimal;
mod formulas;
mod plot;
mod quantities;

use crate::cli::file;
use bigdecimal::BigDecimal;
use decimal::Decimal;
use std::error::Error;
use std::path::PathBuf;

/// Arguments of `noisegate budget account`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  noisegate budget account --epsilon 1 --delta 1e-6 --gaussian 0.1 --plot curve.svg
  noisegate budget account cases.json")]
pub struct Args {
    /// A file of cases (JSON) with expected values: each is computed and compared
    #[arg(value_name = "FILE.json", conflicts_with_all = ["epsilon", "delta", "laplace", "gaussian", "plot"])]
    file: Option<PathBuf>,
    /// The budget's epsilon
    #[arg(long, value_name = "E", required_unless_present = "file")]
    epsilon: Option<BigDecimal>,
    /// The budget's delta
    #[arg(long, value_name = "D", default_value = "0")]
    delta: BigDecimal,
    /// How many answers with Laplace noise of this epsilon each (sensitivity over scale) fit?
    #[arg(long, value_name = "E", conflicts_with = "gaussian", required_unless_present_any = ["file", "gaussian"])]
    laplace: Option<BigDecimal>,
    /// How many answers with Gaussian noise of this mu each (sensitivity over standard deviation) fit?
    #[arg(long, value_name = "MU")]
    gaussian: Option<BigDecimal>,
    /// Draws the trade-off curves of one answer and of the whole budget
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// Prints. An error where a case fails or is unknown.
pub fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    if let Some(file) = &args.file {
        let report = cases::evaluate(&file::text(file)?)?;
        print!("{report}");
        return if report.passed() { Ok(()) } else { Err("not all cases are as expected".into()) };
    }
    let answer = match (&args.laplace, &args.gaussian) {
        (Some(epsilon), _) => capacity::Answer::Laplace(Decimal::of(epsilon, "the answers' epsilon")?),
        (None, Some(mu)) => capacity::Answer::Gaussian(Decimal::of(mu, "the answers' mu")?),
        (None, None) => return Err("say which answers: --laplace or --gaussian".into()),
    };
    let budget = args.epsilon.as_ref().ok_or("say how large the budget is: --epsilon")?;
    let (epsilon, delta) = (Decimal::of(budget, "epsilon")?, Decimal::of(&args.delta, "delta")?);
    let table = capacity::table(epsilon, delta, answer)?;
    print!("{table}");
    if let Some(file) = &args.plot {
        let drawing = plot::draw(&table)?;
        std::fs::write(file, drawing).map_err(|e| format!("{} cannot be written: {e}", file.display()))?;
    }
    Ok(())
}
