//! Where records and contents are kept.

pub mod head;
pub mod seal;
