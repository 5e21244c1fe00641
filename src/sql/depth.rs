//! Depth of the tree that a text can become, from its tokens alone: before the parser, which makes
//! trees in loops that are walked and dropped by recursion.
//!
//! All that may stand between two operands, before one or behind one counts as a level, whichever
//! word it is: a word is believed to deepen the tree unless it is known not to. A level ends with
//! its brackets; a comma ends an expression; operands of AND, of OR and of UNION stand beside each
//! other below a chain that is as deep as they are many.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What is open: a bracket, a CASE, or the statement.
#[derive(Default)]
struct Open {
    /// Operators since the last comma, AND, OR or UNION.
    chain: usize,
    /// The deepest bracket among their operands.
    inside: usize,
    /// ANDs and ORs since the last comma or UNION.
    logic: usize,
    /// The deepest of their operands.
    operand: usize,
    /// UNIONs and their like.
    sets: usize,
    /// The deepest of what is over: items of a list, branches of a UNION.
    items: usize,
    /// BETWEENs whose AND has not come.
    between: usize,
    /// For a CASE: whether it has a branch.
    case: Option<bool>,
}

impl Open {
    fn end_operand(&mut self) {
        self.operand = self.operand.max(self.chain.saturating_add(self.inside));
        (self.chain, self.inside, self.between) = (0, 0, 0);
    }

    fn end_item(&mut self) {
        self.end_operand();
        self.items = self.items.max(self.logic.saturating_add(self.operand));
        (self.logic, self.operand) = (0, 0);
    }

    fn depth(mut self) -> usize {
        self.end_item();
        self.sets.saturating_add(self.items).saturating_add(1)
    }
}

/// The brackets that are open, outermost first, the last by itself.
#[derive(Default)]
struct Reader {
    around: Vec<Open>,
    open: Open,
    deepest: usize,
}

impl Reader {
    fn begin(&mut self, case: Option<bool>) {
        // What stands behind a value, `x[1][1]`, is a level around it.
        self.open.chain += 1;
        let inner = Open { case, ..Open::default() };
        self.around.push(std::mem::replace(&mut self.open, inner));
    }

    fn end(&mut self) {
        let outer = self.around.pop();
        let depth = std::mem::replace(&mut self.open, outer.unwrap_or_default()).depth();
        self.open.inside = self.open.inside.max(depth);
    }

    fn end_statement(&mut self) {
        while !self.around.is_empty() {
            self.end();
        }
        self.deepest = self.deepest.max(std::mem::take(&mut self.open).depth());
    }

    /// A word that is not a name. `after`: an operand stands before it.
    fn keyword(&mut self, word: Keyword, after: bool) {
        let open = &mut self.open;
        match word {
            Keyword::NULL | Keyword::TRUE | Keyword::FALSE => {}
            Keyword::CASE => self.begin(Some(false)),
            Keyword::END if open.case == Some(true) => self.end(),
            Keyword::WHEN | Keyword::THEN | Keyword::ELSE if open.case.is_some() => {
                open.end_item();
                open.case = Some(true);
            }
            Keyword::BETWEEN => {
                open.between += 1;
                open.chain += 1;
            }
            Keyword::AND if open.between > 0 => {
                open.between -= 1;
                open.chain += 1;
            }
            Keyword::AND | Keyword::OR if after && open.between == 0 => {
                open.end_operand();
                open.logic += 1;
            }
            Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT if after => {
                open.end_item();
                open.sets += 1;
            }
            _ => open.chain += 1,
        }
    }
}

/// Levels of the deepest statement among the tokens, at most.
pub(super) fn deepest(tokens: &[TokenWithSpan]) -> usize {
    let mut reader = Reader::default();
    let (mut after, mut period) = (false, false);
    for token in tokens.iter().map(|t| &t.token).filter(|t| !matches!(t, Token::Whitespace(_))) {
        let mut operand = false;
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => reader.begin(None),
            Token::RParen | Token::RBracket | Token::RBrace => {
                while reader.open.case.is_some() {
                    reader.end();
                }
                reader.end();
                operand = true;
            }
            Token::Comma => reader.open.end_item(),
            Token::SemiColon => reader.end_statement(),
            Token::Word(w) => {
                let name = period || w.keyword == Keyword::NoKeyword;
                let ends = reader.open.case == Some(true) && w.keyword == Keyword::END;
                operand = name || ends || matches!(w.keyword, Keyword::NULL | Keyword::TRUE | Keyword::FALSE);
                if !name {
                    reader.keyword(w.keyword, after);
                }
            }
            Token::Period => {}
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::Placeholder(_)
            | Token::NationalStringLiteral(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::DollarQuotedString(_) => operand = true,
            _ => reader.open.chain += 1,
        }
        (after, period) = (operand, *token == Token::Period);
    }
    reader.end_statement();
    reader.deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    fn levels(sql: &str) -> usize {
        deepest(&Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location().unwrap_or_default())
    }

    /// Each of these is a chain as deep as it is long, whatever its words look like.
    #[test]
    fn chains_count_whatever_their_words_are() {
        for more in [
            " + 1",
            " NOTNULL",
            " IS NULL",
            "::int",
            " COLLATE x",
            " SIMILAR TO 'a'",
            " BETWEEN 1 AND 2",
            " BETWEEN 1 AND 2 NOTNULL",
            " AND true",
            " OR a.b",
            " AT TIME ZONE 'x'",
            "[1]",
            " -> 'a'",
            " OPERATOR(pg_catalog.+) 1",
            " UNION SELECT 1, 2",
            " + a.and + 1",
            " + a.union + 1",
            " IN (1, 2)",
            " + CASE WHEN true THEN 1, END",
        ] {
            let found = levels(&format!("SELECT 1{}", more.repeat(500)));
            assert!(found >= 500, "{more}: {found}");
        }
        // An operand at the bottom is below the whole of a chain, whichever comes first.
        let deep = format!("{}1{}", "(".repeat(40), ")".repeat(40));
        for around in [format!("{deep}{}", " + 1".repeat(50)), format!("{deep}{}", " AND true".repeat(50))] {
            assert!(levels(&format!("SELECT {around}")) >= 90);
            assert!(levels(&format!("SELECT {around} UNION SELECT 1")) >= 91);
        }
    }

    #[test]
    fn what_stands_beside_each_other_is_no_deeper() {
        for beside in [
            ", 1 + 1",
            ", f(1, 2)",
            ", (SELECT 1)",
            ", a = 1 AND b = 2",
            ", CASE WHEN a THEN 1 ELSE 2 END",
            "; SELECT 1",
        ] {
            assert!(levels(&format!("SELECT 1{}", beside.repeat(5_000))) < 20, "{beside}");
        }
        let case = "WHEN x = 1 THEN y + 1 ".repeat(900);
        assert!(levels(&format!("SELECT CASE {case} END")) < 20);
        assert!(levels(&format!("SELECT 1 WHERE {}", vec!["a = 1 + 2"; 300].join(" OR "))) < 320);
    }
}
