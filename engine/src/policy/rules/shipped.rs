//! The rules that every ledger begins with: what no entry and no allow ever covers.
//!
//! They hold commands that destroy what no undo brings back, publish what cannot be taken back, or
//! name another program to run, under programs that people list for their harmless commands. They
//! ask, unless the run's policy clears their tier.

use std::sync::LazyLock;

use super::Rules;

/// The text of the shipped rules, as it is recorded.
pub const SHIPPED: &str = include_str!("shipped.json");

/// The shipped rules.
pub fn shipped() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| {
        // A test reads the text; without it no entry would be kept from anything.
        Rules::parse_json(SHIPPED).unwrap_or_default()
    });
    &RULES
}
