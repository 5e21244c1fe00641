//! Memory of statements: an estimate by their tokens. `tests/golden/weights.rs` holds it against
//! the allocator.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

/// What a SELECT takes, in tokens: its clauses have their places whether or not they are there.
const SELECT: usize = 16;
/// What a name takes, which may be a relation's.
const WORD: usize = 3;
/// What a call takes, or a list.
const BRACKET: usize = 2;
/// Bytes of a syntax tree for each token, at most.
const TREE: usize = 800;
/// Bytes of a plan for each token, at most.
const PLAN: usize = 800;
/// What there is in any case.
const LEAST: usize = 8 * 1024;

/// As how many a token counts.
pub(super) fn tokens(token: &Token) -> usize {
    match token {
        Token::Whitespace(_) => 0,
        Token::Word(w) if matches!(w.keyword, Keyword::SELECT | Keyword::VALUES) => SELECT,
        Token::LParen => BRACKET,
        Token::Word(_) => WORD,
        _ => 1,
    }
}

/// Bytes of the syntax tree of a statement of this many tokens, at most.
pub fn tree(tokens: usize) -> usize {
    TREE.saturating_mul(tokens).saturating_add(LEAST)
}

/// Bytes of the plan of such a statement, and of what it is made from, at most.
pub fn plan(tokens: usize) -> usize {
    PLAN.saturating_mul(tokens).saturating_add(LEAST)
}
