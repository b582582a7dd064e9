//! The Landlock rules: which files can be read and written, which ports connected to.

use std::collections::BTreeSet;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, NetPort, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use placet_ledger::containment::Part;

use crate::contain::spec::{Lack, Lacking};

/// What is handled where the kernel knows it.
const NEWEST: ABI = ABI::V9;

/// What the rules leave open.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// Files and folders that can be read and run.
    pub(super) read: Vec<PathBuf>,
    /// Files and folders that can be changed too.
    pub(super) write: Vec<PathBuf>,
    /// TCP ports to connect to; nothing where the network is nobody else's anyway.
    pub(super) ports: Option<BTreeSet<u16>>,
}

/// Puts the rules in force. Whether abstract sockets and signals are scoped, too.
pub(super) fn restrict(open: &Open) -> Result<bool, Lack> {
    let part = Part::Landlock;
    let status = apply(open).lacks(part, "landlock")?;
    let LandlockStatus::Available { effective_abi, .. } = status.landlock else {
        return Err(Lack::of(part, "this kernel has no landlock"));
    };
    // Before the third version a file can be cut to nothing where it cannot be written.
    if status.ruleset == RulesetStatus::NotEnforced || effective_abi < ABI::V3 {
        return Err(Lack::of(
            part,
            format!("landlock has version {effective_abi}"),
        ));
    }
    if open.ports.as_ref().is_some_and(|ports| !ports.is_empty()) && effective_abi < ABI::V4 {
        return Err(Lack::of(Part::Network, "landlock knows no ports"));
    }
    Ok(effective_abi >= ABI::V6)
}

fn apply(open: &Open) -> Result<landlock::RestrictionStatus, landlock::RulesetError> {
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if open.ports.is_some() {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut created = ruleset
        .create()?
        .add_rules(path_beneath_rules(&open.read, AccessFs::from_read(NEWEST)))?
        .add_rules(path_beneath_rules(&open.write, AccessFs::from_all(NEWEST)))?;
    for &port in open.ports.iter().flatten() {
        created = created.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    created.restrict_self()
}
