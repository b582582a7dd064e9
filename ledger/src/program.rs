//! The program that a proposed command would run, as it was found when the proposal was made.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Whose hands a program is in; the fact that its record tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramClass {
    /// In a folder of the system that this user cannot change.
    System,
    /// Elsewhere: this user, or another one, can change it.
    User,
    /// In the workspace, where the agent can change it.
    Workspace,
}

impl ProgramClass {
    /// The word that records and cards use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Workspace => "workspace",
        }
    }
}

/// What would be run; sealed content, since it tells paths and arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What is started with which words, its own name first.
    pub argv: Vec<String>,
    /// Hash of the program's file, purpose `file`.
    pub digest: Digest,
    /// Words of the command that lead to programs of another name, and the real paths of these.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, String>,
    /// Words of the command that name places neither in the workspace nor in the system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Absolute path of the program that the command names; the shell's where it names none.
    pub path: String,
    /// What the configuration of a repository, which the command would read, can make it run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repository: Vec<String>,
    /// Whether the words go through the shell, which `argv` starts then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shell: bool,
}
