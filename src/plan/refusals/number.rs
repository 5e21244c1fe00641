//! Refusals of arithmetic over single rows.

/// What is wrong with a number that is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Operand,
    Unbounded,
    ArgumentUnbounded,
    Long,
    FunctionLong,
    PowerLong,
    Product,
    /// A power of a number of many digits.
    PowerScale,
    NearZero,
    /// A base of a logarithm that is no constant, or none.
    Base,
    Exp,
    Exponent,
    /// `width_bucket` by what is no constant.
    Bucket,
    BucketEmpty,
    Format,
}
