//! Statements as they are read.

use crate::insert::Insert;
use answer::{ClientError, Copy, Cursor, Fetch};
use sqlparser::ast;
use sqlparser::parser::ParserError;

pub(super) type Result<T> = std::result::Result<T, ParserError>;

/// A statement's syntax.
#[derive(Clone)]
pub enum Syntax {
    /// As the parser reads it.
    Tree(Box<ast::Statement>),
    /// DECLARE.
    Declare(Cursor, Box<ast::Query>),
    /// FETCH, MOVE.
    Fetch(Fetch),
    /// COPY … TO STDOUT: of a query, or of a table as the query that reads it.
    Copy(Copy, Box<ast::Query>),
    /// COPY … FROM STDIN.
    CopyFrom(Copy, Box<Insert>),
    /// PREPARE: the name, the types of the first parameters, the query.
    Prepare(String, Vec<ast::DataType>, Box<ast::Query>),
    /// EXECUTE: the name, and the arguments as the one row of a VALUES.
    Execute(String, Option<Box<ast::Query>>),
    /// Well formed, and refused.
    Refused(ClientError),
}
