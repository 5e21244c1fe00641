//! Words and numbers that the forms of the report share.

/// Sets that are told.
pub(super) const TOLD: usize = 8;

/// Sizes of classes of which shares are told.
pub(super) const STEPS: [u64; 7] = [1, 2, 5, 10, 20, 50, 100];

/// Head of each form.
pub(super) const NOTICE: &str =
    "These figures are exact and without noise: they are for the owner of the data, not for analysts.";

/// `one, two and three`
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
