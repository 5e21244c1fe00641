//! The relations of a statement, which the numbers of bindings point into.

use super::ids::BindingId;
use super::query::Binding;

/// The relations of a statement, by their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bindings(Vec<Binding>);

impl Bindings {
    /// The relation of a number; None for one that the statement does not have.
    pub fn get(&self, id: BindingId) -> Option<&Binding> {
        self.0.get(id.number())
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, id: BindingId) -> Option<&mut Binding> {
        self.0.get_mut(id.number())
    }

    /// The number of the next relation.
    pub fn next(&self) -> BindingId {
        BindingId::new(self.0.len())
    }

    /// Adds a relation, and says its number.
    pub fn push(&mut self, binding: Binding) -> BindingId {
        let id = self.next();
        self.0.push(binding);
        id
    }

    /// The relations with their numbers, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (BindingId, &Binding)> {
        self.0.iter().enumerate().map(|(i, b)| (BindingId::new(i), b))
    }

    /// The relations, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Binding> {
        self.0.iter_mut()
    }

    /// Whether nothing is read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
