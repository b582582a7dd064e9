//! The dialog with a person in a real terminal: every key, at two widths, with and without
//! colour; what no agent can draw there; how the terminal is left. Needs tmux, and the binary.

#![cfg(feature = "system-tests")]
#![allow(
    clippy::disallowed_methods,
    reason = "tmux is started here, and the program in it; no run of an agent is among them"
)]

mod beware;
mod cut;
mod hostile;
mod keys;
mod leaving;
mod people;
pub(crate) mod tmux;

/// A screen is as it was kept, row by row.
fn golden(name: &str, screen: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("screens");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, screen));
}
