//! Regular expressions: a part of PostgreSQL's that is matched in one pass over a text, whatever the text is.
//!
//! Patterns are read into a tree and printed anew, so that none fails to compile for the first row. Left out is what needs
//! more than one pass: references to what a group matched, and constraints that look around. The rest is matched by a
//! deterministic automaton, whose states PostgreSQL makes when it meets them: a character costs the states of the pattern.

use super::facts::Facts;
use super::print::{Print, string};
use super::refusal::{Result, refusal, refused};
use super::scalar::{Param, Scalar};
use super::strings;
use super::table::{Entry, Function};
use super::text::LONGEST_TEXT;
use crate::refusals::text::{Pattern, Text};
use crate::refusals::value::{Unfit, Value};
use sql::ast::Pos;

/// States of a pattern: characters, classes and repetitions, those within {m,n} once for each.
const MOST_STATES: u64 = 200;
/// Times of a repetition.
const MOST_TIMES: u64 = 100;
/// Groups in groups.
const DEEPEST: usize = 20;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    form: "x [NOT] SIMILAR TO 'pattern', x ~ 'pattern', ~*, !~, !~*",
    types: "text → boolean",
    total: "the pattern is a constant of characters, classes, groups, |, *, +, ?, {m,n}, ^ and $, with at most 200 states, which \
            is parsed here and printed anew; the first 10,000 characters of x are looked at",
    range: "NULL where x is",
    cost: "100,000, and 100,000 × the pattern's states",
    samples: &[
        "({s} ~ '^[a-e]+$')",
        "({s} ~* 'l(a|o)?t.+')",
        "({s} !~ '\\d\\d|[[:upper:]_]x*')",
        "({s} SIMILAR TO '%(a|b)_+')",
        "({s} NOT SIMILAR TO '[^a-f]*')",
    ],
}];

const MATCH: Function = Function { name: "regex", rule, text, commutes: false, int8: false };

/// A pattern as a tree.
#[derive(Clone, Debug, PartialEq)]
enum Tree {
    /// One character, a class, or an anchor, as it is printed.
    One(String),
    /// One behind the other.
    Sequence(Vec<Tree>),
    /// One of several.
    Either(Vec<Tree>),
    /// So many times; without an end where there is no second number.
    Times(Box<Tree>, u64, Option<u64>),
}

/// `x ~ pattern`, or `x SIMILAR TO pattern`.
pub(super) fn matches(
    x: Scalar,
    pattern: &str,
    similar: bool,
    insensitive: bool,
    pos: Pos,
) -> Result<Scalar> {
    let reader = Reader { rest: pattern.chars().collect(), at: 0, similar };
    let tree = reader.pattern().map_err(|e| refusal(e, pos))?;
    if states(&tree) > MOST_STATES {
        return refused(Pattern::States(MOST_STATES), pos);
    }
    let mut printed = String::new();
    print_tree(&tree, &mut printed);
    let pattern = if similar { format!("^(?:{printed})$") } else { printed };
    let param = Param::Regex { pattern, states: states(&tree), insensitive };
    Scalar::apply(&MATCH, vec![strings::short(x, pos)?], param).map_err(|e| e.at(pos))
}

struct Reader {
    rest: Vec<char>,
    at: usize,
    /// SIMILAR TO: % and _ are wildcards, and ., ^ and $ are characters.
    similar: bool,
}

type Read<T> = Result<T, Pattern>;

impl Reader {
    fn pattern(mut self) -> Read<Tree> {
        let tree = self.either(0)?;
        match self.peek() {
            None => Ok(tree),
            Some(_) => Err(Pattern::Closed),
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        self.at += 1;
        self.rest.get(self.at - 1).copied()
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn either(&mut self, depth: usize) -> Read<Tree> {
        if depth > DEEPEST {
            return Err(Pattern::Deep);
        }
        let mut all = vec![self.sequence(depth)?];
        while self.eat('|') {
            all.push(self.sequence(depth)?);
        }
        match all.len() {
            1 => all.pop().ok_or(Pattern::Empty),
            _ => Ok(Tree::Either(all)),
        }
    }

    fn sequence(&mut self, depth: usize) -> Read<Tree> {
        let mut all = Vec::new();
        while let Some(c) = self.peek().filter(|c| !matches!(c, '|' | ')')) {
            let anchor = !self.similar && matches!(c, '^' | '$');
            let one = self.one(depth)?;
            let tree = self.times(one)?;
            if anchor && matches!(tree, Tree::Times(..)) {
                return Err(Pattern::Anchor);
            }
            all.push(tree);
        }
        if all.is_empty() { Err(Pattern::EmptyPart) } else { Ok(Tree::Sequence(all)) }
    }

    fn one(&mut self, depth: usize) -> Read<Tree> {
        let c = self.next().ok_or(Pattern::Empty)?;
        Ok(match c {
            '(' => {
                if self.eat('?') && !self.eat(':') {
                    return Err(Pattern::Around);
                }
                let inner = self.either(depth + 1)?;
                if !self.eat(')') {
                    return Err(Pattern::Opened);
                }
                inner
            }
            '[' => Tree::One(self.class()?),
            '\\' => Tree::One(self.escape(false)?),
            '%' if self.similar => Tree::Times(Box::new(Tree::One(".".into())), 0, None),
            '_' if self.similar => Tree::One(".".into()),
            '.' | '^' | '$' if !self.similar => Tree::One(c.into()),
            '*' | '+' | '?' | '{' => return Err(Pattern::Nothing),
            c => Tree::One(literal(c)?),
        })
    }

    fn times(&mut self, tree: Tree) -> Read<Tree> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.at += 1;
                let least = self.number()?;
                let most = match self.eat(',') {
                    false => Some(least),
                    true if self.peek() == Some('}') => None,
                    true => Some(self.number()?),
                };
                if self.peek() != Some('}') || most.is_some_and(|most| most < least) {
                    return Err(Pattern::Repetition);
                }
                (least, most)
            }
            _ => return Ok(tree),
        };
        self.at += 1;
        match self.peek() {
            Some('*' | '+' | '?' | '{') => Err(Pattern::Twice),
            _ => Ok(Tree::Times(Box::new(tree), least, most)),
        }
    }

    fn number(&mut self) -> Read<u64> {
        let mut n: Option<u64> = None;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            self.at += 1;
            n = Some(n.unwrap_or(0) * 10 + u64::from(digit)).filter(|n| *n <= MOST_TIMES);
            if n.is_none() {
                return Err(Pattern::Times(MOST_TIMES));
            }
        }
        n.ok_or(Pattern::Repetition)
    }

    /// Behind a backslash: a class, or a character that is no letter.
    fn escape(&mut self, within: bool) -> Read<String> {
        match self.next() {
            Some(c @ ('d' | 's' | 'w')) => Ok(format!("\\{c}")),
            Some(c @ ('D' | 'S' | 'W')) if !within => Ok(format!("\\{c}")),
            Some(c) if !c.is_alphanumeric() => literal(c),
            _ => Err(Pattern::Escape),
        }
    }

    /// Behind a square bracket.
    fn class(&mut self) -> Read<String> {
        let mut out = String::from(if self.eat('^') { "[^" } else { "[" });
        let mut first = true;
        while first || self.peek() != Some(']') {
            first = false;
            let c = self.next().ok_or(Pattern::Opened)?;
            if c == '[' {
                out += self.named()?;
                continue;
            }
            let low = if c == '\\' { self.escape(true)? } else { literal(c)? };
            out += &low;
            let range = self.peek() == Some('-') && self.rest.get(self.at + 1).is_some_and(|c| *c != ']');
            if range {
                self.at += 1;
                let high = self.next().filter(char::is_ascii_alphanumeric);
                let high = high.filter(|high| c.is_ascii_alphanumeric() && c <= *high);
                out.push('-');
                out.push(high.ok_or(Pattern::Range)?);
            }
        }
        self.at += 1;
        out.push(']');
        Ok(out)
    }

    /// `[:alpha:]` and its like, behind the inner bracket.
    fn named(&mut self) -> Read<&'static str> {
        let names = [
            "[:alnum:]",
            "[:alpha:]",
            "[:blank:]",
            "[:digit:]",
            "[:lower:]",
            "[:punct:]",
            "[:space:]",
            "[:upper:]",
            "[:xdigit:]",
        ];
        let rest: String = self.rest.iter().skip(self.at - 1).take(10).collect();
        let name = names.into_iter().find(|n| rest.starts_with(n)).ok_or(Pattern::Class)?;
        self.at += name.len() - 1;
        Ok(name)
    }
}

/// A character that stands for itself.
fn literal(c: char) -> Read<String> {
    match c {
        '\0' => Err(Pattern::Nul),
        c if c.is_ascii_alphanumeric() || !c.is_ascii() || c.is_ascii_whitespace() => Ok(c.into()),
        c if c.is_ascii_control() => Err(Pattern::Control),
        c => Ok(format!("\\{c}")),
    }
}

fn states(tree: &Tree) -> u64 {
    match tree {
        Tree::One(_) => 1,
        Tree::Sequence(all) | Tree::Either(all) => {
            all.iter().fold(1, |sum: u64, x| sum.saturating_add(states(x)))
        }
        Tree::Times(x, least, most) => {
            states(x).saturating_add(1).saturating_mul(most.unwrap_or(least + 1).max(1))
        }
    }
}

fn print_tree(tree: &Tree, out: &mut String) {
    let group = |x: &Tree, out: &mut String| {
        out.push_str("(?:");
        print_tree(x, out);
        out.push(')');
    };
    match tree {
        Tree::One(text) => out.push_str(text),
        Tree::Sequence(all) => all.iter().for_each(|x| match x {
            Tree::Either(_) | Tree::Sequence(_) => group(x, out),
            x => print_tree(x, out),
        }),
        Tree::Either(all) => all.iter().enumerate().for_each(|(i, x)| {
            out.push_str(if i > 0 { "|" } else { "" });
            print_tree(x, out);
        }),
        Tree::Times(x, least, most) => {
            match **x {
                Tree::One(_) => print_tree(x, out),
                _ => group(x, out),
            }
            out.push_str(&match (least, most) {
                (0, None) => "*".to_owned(),
                (1, None) => "+".to_owned(),
                (0, Some(1)) => "?".to_owned(),
                (m, None) => format!("{{{m},}}"),
                (m, Some(n)) => format!("{{{m},{n}}}"),
            });
        }
    }
}

fn rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let ([x], Param::Regex { states, .. }) = (args, param) else {
        return Err(Unfit::Pattern.into());
    };
    if !x.facts.canonical {
        return Err(Text::PatternSpelled.into());
    }
    let cost = 100_000u64.saturating_add(LONGEST_TEXT.saturating_mul(10).saturating_mul(*states));
    Ok(Facts::truth(x.facts.nullable, cost))
}

fn text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    let (Some(x), Param::Regex { pattern, insensitive, .. }) = (args.first(), param) else {
        return "NULL".into();
    };
    let name = if *insensitive { "texticregexeq" } else { "textregexeq" };
    let cut = format!("pg_catalog.\"left\"({}, {LONGEST_TEXT})", print(x));
    let x = if x.facts.longest <= LONGEST_TEXT { print(x) } else { cut };
    format!("pg_catalog.{name}({x}, {}::pg_catalog.text)", string(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(pattern: &str, similar: bool) -> Read<(String, u64)> {
        let tree = Reader { rest: pattern.chars().collect(), at: 0, similar }.pattern()?;
        let mut out = String::new();
        print_tree(&tree, &mut out);
        Ok((out, states(&tree)))
    }

    #[test]
    fn patterns_are_printed_anew() {
        for (pattern, similar, expected) in [
            ("^[A-Z]+-\\d{3}$", false, "^[A-Z]+\\-\\d{3,3}$"),
            ("a(b|c)*d", false, "a(?:b|c)*d"),
            ("(?:ab)?[]x-]", false, "(?:ab)?[\\]x\\-]"),
            ("x.y|[[:alpha:]_]", false, "x.y|[[:alpha:]\\_]"),
            ("%a_.", true, ".*a.\\."),
            ("(a|b)%", true, "(?:a|b).*"),
            ("é 🚲", false, "é 🚲"),
        ] {
            assert_eq!(printed(pattern, similar).map(|p| p.0).as_deref(), Ok(expected), "{pattern}");
        }
    }

    #[test]
    fn rule_38_what_needs_more_than_one_pass_or_could_fail_is_refused() {
        for pattern in [
            "",
            "(a)\\1",
            "(?=a)",
            "(?i)a",
            "a**",
            "a{2}{3}",
            "*a",
            "a|",
            "(",
            ")",
            "[a",
            "[z-a]",
            "[é-ü]",
            "\\ma",
            "\\y",
            "a{101}",
            "a{3,2}",
            "a{,2}",
            "[[.a.]]",
            "[[:foo:]]",
            "^*",
            "\\",
            "a\0b",
            "[\\D]",
            "a*?",
        ] {
            assert!(printed(pattern, false).is_err(), "{pattern}");
        }
        assert!(printed(&"(".repeat(50), false).is_err());
        assert_eq!(printed("((a{50}){50}){50}", false).map(|p| p.1 > MOST_STATES), Ok(true));
    }
}
