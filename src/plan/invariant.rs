//! Properties of what a pass gives, which hold whatever statement it had. Debug builds check them.

/// An outcome of a pass, with a property that always holds.
pub(crate) trait Invariant {
    /// The part of the invariant that does not hold.
    fn broken(&self) -> Option<&'static str>;
}

/// An outcome, once its invariant is checked.
pub(crate) fn checked<T: Invariant>(outcome: T) -> T {
    debug_assert_eq!(outcome.broken(), None, "an invariant of {}", std::any::type_name::<T>());
    outcome
}
