//! An entry of the per-command list: what it says, and which commands it covers.

use std::collections::BTreeSet;

use placet_ledger::digest::Digest;
use placet_ledger::judge::CommandInput;
use placet_ledger::program::ProgramClass;
use serde::{Deserialize, Serialize};

use crate::shell::{covers, key};

/// An entry of the per-command list, as its record keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandEntry {
    /// Hash of the program's file where its user can change it, purpose `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The key: it covers its own and longer ones.
    pub key: String,
    /// TCP ports that the command may have.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub network: BTreeSet<u16>,
    /// Absolute path of the program.
    pub path: String,
}

impl CommandEntry {
    /// An entry for a program with this path, in whose hands it is and with this hash: what only
    /// the system changes is named by its path alone.
    pub fn new(
        key: String,
        (path, class, digest): (String, ProgramClass, Digest),
        network: BTreeSet<u16>,
    ) -> Self {
        let digest = match class {
            ProgramClass::System => None,
            ProgramClass::User | ProgramClass::Workspace => Some(digest),
        };
        Self {
            digest,
            key,
            network,
            path,
        }
    }

    /// What a record keeps of an entry.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Whether it covers a command: its key, run by the very program that it was made for.
    pub fn covers(&self, command: &CommandInput) -> bool {
        let key = command.text.as_deref().and_then(key);
        let keyed = key.is_some_and(|key| covers(&self.key, &key));
        let program = command.program.as_ref();
        keyed
            && program.is_some_and(|program| {
                let same = self.digest.is_none_or(|digest| digest == program.digest);
                program.path == self.path && same
            })
    }
}
