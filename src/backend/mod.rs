//! backend

pub mod introspect;
