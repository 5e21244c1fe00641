//! Mistakes in a policy: where, what is wrong, what would be right. All of them at once.

use std::fmt;
use std::ops::Range;

/// A mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The policy's file name, as it was given.
    pub file: String,
    /// Line (from 1) and column (characters, from 1); None where the mistake is about the file as a whole.
    pub position: Option<(usize, usize)>,
    /// The mistake, in a sentence.
    pub message: String,
    /// The remedy, in a sentence.
    pub hint: Option<String>,
    /// No mistake, and nothing that can be mended: worth knowing all the same.
    pub note: bool,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n    {hint}")?;
        }
        Ok(())
    }
}

/// Every mistake found, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyErrors(pub Vec<PolicyError>);

impl fmt::Display for PolicyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PolicyErrors {}

/// A place in the policy's text, in bytes.
pub(super) type Span = Range<usize>;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct At<T> {
    pub value: T,
    pub span: Span,
}

/// The file's name and text: turns places into lines, and collects mistakes and warnings.
#[derive(Clone, Debug)]
pub(super) struct Findings {
    file: String,
    text: String,
    errors: Vec<PolicyError>,
    warnings: Vec<PolicyError>,
    elsewhere: bool,
}

impl Findings {
    pub fn new(file: &str, text: &str) -> Self {
        let (errors, warnings) = (Vec::new(), Vec::new());
        Self { file: file.into(), text: text.into(), errors, warnings, elsewhere: false }
    }

    /// The policy is not read where the proxy runs: its secrets need not be there.
    pub fn read_elsewhere(mut self) -> Self {
        self.elsewhere = true;
        self
    }

    /// Whether the proxy's environment and files of secrets may be absent.
    pub fn elsewhere(&self) -> bool {
        self.elsewhere
    }

    /// Line and column of a byte offset; the end of the text for offsets behind it.
    fn position(&self, offset: usize) -> (usize, usize) {
        let bytes = self.text.as_bytes();
        let before = bytes.get(..offset).unwrap_or(bytes);
        let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        // Characters, not bytes: continuation bytes of UTF-8 are not counted.
        let column = before.iter().skip(start).filter(|b| (**b & 0xc0) != 0x80).count() + 1;
        (line, column)
    }

    fn finding(&self, span: Option<&Span>, message: String, hint: String) -> PolicyError {
        PolicyError {
            file: self.file.clone(),
            position: span.map(|s| self.position(s.start)),
            message,
            hint: (!hint.is_empty()).then_some(hint),
            note: false,
        }
    }

    /// Notes a mistake at a place.
    pub fn error(&mut self, span: &Span, message: impl Into<String>, hint: impl Into<String>) {
        self.errors.push(self.finding(Some(span), message.into(), hint.into()));
    }

    /// Notes a mistake of the file as a whole.
    pub fn error_in_file(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        self.errors.push(self.finding(None, message.into(), hint.into()));
    }

    /// Notes something that is allowed and probably not meant.
    pub fn warn(&mut self, span: &Span, message: impl Into<String>, hint: impl Into<String>) {
        self.warnings.push(self.finding(Some(span), message.into(), hint.into()));
    }

    /// Notes something that is as it is, and worth knowing.
    pub fn note(&mut self, span: &Span, message: impl Into<String>, hint: impl Into<String>) {
        let finding = self.finding(Some(span), message.into(), hint.into());
        self.warnings.push(PolicyError { note: true, ..finding });
    }

    /// Notes something of the file as a whole that is allowed and probably not meant.
    pub fn warn_of_file(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        self.warnings.push(self.finding(None, message.into(), hint.into()));
    }

    /// Places of comments that a word marks: they begin with it, or have a colon behind it. A comment about the word is
    /// none.
    pub fn comments_marked(&self, word: &str) -> Vec<Span> {
        let mut at = 0;
        let mut found = Vec::new();
        for line in self.text.split_inclusive('\n') {
            if let Some(comment) = line.find('#')
                && let Some(text) = line.get(comment..)
                && let Some(place) = text.find(word)
                && (text.trim_start_matches(['#', ' ', '\t']).starts_with(word)
                    || text.contains(&format!("{word}:")))
            {
                found.push(at + comment + place..at + comment + place + word.len());
            }
            at += line.len();
        }
        found
    }

    /// The mistakes so far.
    pub fn errors(&self) -> Option<PolicyErrors> {
        (!self.errors.is_empty()).then(|| PolicyErrors(in_order(self.errors.clone())))
    }

    /// The warnings, or the mistakes if there are any.
    pub fn finish(self) -> Result<Vec<PolicyError>, PolicyErrors> {
        match self.errors() {
            Some(errors) => Err(errors),
            None => Ok(in_order(self.warnings)),
        }
    }
}

fn in_order(mut findings: Vec<PolicyError>) -> Vec<PolicyError> {
    findings.sort_by_key(|e| e.position);
    findings.dedup();
    findings
}
