//! Memory between statements: parsed texts and plans (`remembered`), types, sizes of public
//! domains, certificates of the kernel, and fingerprints of tables. None of it depends on a private
//! row; answers are kept by `store`.

pub mod certificates;
pub mod domain_sizes;
pub mod fingerprints;
pub mod remembered;
pub mod type_cache;
