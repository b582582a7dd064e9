//! Shapes of `--json`: domain types never go out as they are.

pub(crate) mod event;
pub(crate) mod run;
