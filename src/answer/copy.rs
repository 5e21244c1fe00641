//! Options of `COPY … TO STDOUT`.

/// The format, with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Copy {
    /// `FORMAT text`.
    Text {
        /// Between cells.
        delimiter: u8,
        /// For NULL.
        null: String,
        /// A first line with the columns' names.
        header: bool,
    },
    /// `FORMAT csv`.
    Csv {
        /// Between cells.
        delimiter: u8,
        /// For NULL.
        null: String,
        /// A first line with the columns' names.
        header: bool,
        /// Around cells that need it.
        quote: u8,
        /// Before a quote, and before itself, within quotes.
        escape: u8,
        /// Columns that are quoted wherever they are not NULL.
        force_quote: ForceQuote,
    },
    /// `FORMAT binary`.
    Binary,
}

/// `FORCE_QUOTE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForceQuote {
    /// A list of columns.
    Columns(Vec<String>),
    /// `*`.
    All,
}
