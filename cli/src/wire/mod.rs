//! Shapes of `--json`: domain types never go out as they are.

pub(crate) mod agents;
pub(crate) mod approval;
pub(crate) mod doctor;
pub(crate) mod done;
pub(crate) mod grants;
pub(crate) mod log;
pub(crate) mod policy;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod shell;
pub(crate) mod tools;
pub(crate) mod usage;
pub(crate) mod verify;
pub(crate) mod who;
