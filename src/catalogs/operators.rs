//! The operators over catalogs: by list, and always PostgreSQL's own.

use sqlparser::ast::BinaryOperator as B;

/// Operators that may be written as `OPERATOR(pg_catalog.…)` too.
const OPERATORS: &[&str] = &[
    "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "^", "&", "|", "#", "<<", ">>", "||", "~",
    "~*", "!~", "!~*", "~~", "~~*", "!~~", "!~~*", "@>", "<@", "&&", "->", "->>", "#>", "#>>", "?", "^@",
];

/// The name in `pg_catalog`; None is refused.
pub fn operator(op: &B) -> Option<&'static str> {
    Some(match op {
        B::Plus => "+",
        B::Minus => "-",
        B::Multiply => "*",
        B::Divide => "/",
        B::Modulo => "%",
        B::StringConcat => "||",
        B::Gt => ">",
        B::Lt => "<",
        B::GtEq => ">=",
        B::LtEq => "<=",
        B::Eq => "=",
        B::NotEq => "<>",
        B::BitwiseOr => "|",
        B::BitwiseAnd => "&",
        B::PGBitwiseXor => "#",
        B::PGBitwiseShiftLeft => "<<",
        B::PGBitwiseShiftRight => ">>",
        B::PGExp | B::BitwiseXor => "^",
        B::PGOverlap => "&&",
        B::PGRegexMatch => "~",
        B::PGRegexIMatch => "~*",
        B::PGRegexNotMatch => "!~",
        B::PGRegexNotIMatch => "!~*",
        B::PGLikeMatch => "~~",
        B::PGILikeMatch => "~~*",
        B::PGNotLikeMatch => "!~~",
        B::PGNotILikeMatch => "!~~*",
        B::PGStartsWith => "^@",
        B::Arrow => "->",
        B::LongArrow => "->>",
        B::HashArrow => "#>",
        B::HashLongArrow => "#>>",
        B::AtArrow => "@>",
        B::ArrowAt => "<@",
        B::Question => "?",
        B::PGCustomBinaryOperator(parts) => {
            let (name, schema) = parts.split_last()?;
            if !(schema.is_empty() || matches!(schema, [s] if s.eq_ignore_ascii_case("pg_catalog"))) {
                return None;
            }
            let name = if name == "!=" { "<>" } else { name.as_str() };
            return OPERATORS.iter().copied().find(|o| *o == name);
        }
        _ => return None,
    })
}
