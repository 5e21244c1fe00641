//! release
