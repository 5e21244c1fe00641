//! Refusals of expressions over single rows.

use super::moment::Moment;
use super::number::Number;
use super::text::{Member, Pattern, Text};
use schema::SqlType;

/// What is wrong with an expression.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Member(Member),
    Moment(Moment),
    Number(Number),
    Pattern(Pattern),
    Text(Text),
    Unfit(Unfit),
    /// A value that stands for others, which are equal and look different.
    StandIn,
    /// LEAST or GREATEST of what has no order here.
    Least,
    /// A number without bounds: this column, or what is computed.
    Unbounded(Option<String>),
    /// A text that is no value of a type, which is called so.
    Invalid {
        ty: &'static str,
        text: Option<String>,
    },
    /// A pattern that ends in its escape character.
    Escape,
    /// No condition, where this asks for one.
    Condition(String),
    /// An aggregate inside another, or in WHERE.
    Aggregate,
    /// A window inside an aggregate.
    Window,
    /// A function that is not on the list, as the analyst calls it.
    Function(String),
    /// No arguments.
    NoArguments,
    /// An argument that is no constant.
    Inconstant(Constant),
    /// `age` from a day that is not written.
    AgeOfToday,
    /// More digits than there are, or a number that is none of them.
    Digits,
    /// An interval of private rows, by `noisegate.low` or another of this name.
    Interval(&'static str),
    /// The clock.
    Session,
    /// IN or EXISTS where no rule reads one.
    Members,
    /// A subquery that was not released.
    Subquery,
    /// A column of the query around.
    Outer,
    /// A parameter of this number.
    Param(usize),
    /// ANY or ALL over no list.
    Any,
    /// IN over no constants.
    List,
    /// An array.
    Array,
    /// An item's number.
    Output,
    /// Branches of several types.
    Branches,
    /// No truth value where AND, OR or NOT asks for one.
    Truth,
    /// A comparison of a type of which nothing is known.
    Compared,
    /// A comparison of two types.
    Sides,
    /// A comparison of texts that are padded.
    Padded,
    /// A pattern that does not end in %, over a `char(n)`.
    LikePadded,
    /// A comparison of texts that are equal in several spellings.
    Spelled,
    /// A cast between these types.
    Cast(SqlType, SqlType),
    /// A cast of this to text.
    CastToText(SqlType),
    /// A cast to a time of so many digits.
    CastToTime,
    /// A cast of this constant to a time.
    ConstantTime,
    /// No time.
    NoTime,
    /// A precision that no number has.
    Precision,
    /// A scale that no number has.
    Scale,
    /// LIKE over texts that are equal in several spellings.
    LikeSpelled,
    /// LIKE over no text.
    LikeOf,
    /// NaN or an infinity, computed with.
    Special,
    /// A constant of too many digits.
    Long,
}

/// What has to be a constant.
#[derive(Clone, Debug)]
pub(crate) enum Constant {
    /// The separator of `concat_ws`.
    Separator,
    /// The stride of `date_bin`.
    Stride,
    /// The format of this function.
    Format(String),
    /// The zone of `timezone`.
    Timezone,
    /// The zone of AT TIME ZONE.
    Zone,
    /// The field of `date_part`.
    Field,
    /// The unit of `date_trunc`.
    Unit,
    /// The digits of a rounding.
    Digits,
    /// The pattern of LIKE.
    Like,
    /// A regular expression.
    Pattern,
}

/// Arguments for which a rule has no facts: calls see to it that no rule gets any, and a rule trusts nobody.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unfit {
    Arguments,
    TextArguments,
    Function,
    Even,
    Trimmed,
    CharOf,
    CharFormat,
    Read,
    ReadSpelled,
    Truth,
    Infinite,
    Extract,
    ExtractField,
    Trunc,
    Like,
    Pattern,
    Place,
    Cut,
    Length,
    Concat,
    MemberOf,
    MemberRead,
    Shift,
    Days,
    Difference,
    Age,
    AgeField,
    ZoneOf,
    Zone,
    MakeDate,
    MakeTimestamp,
}
