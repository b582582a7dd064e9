//! Why rules do not load: which of them, and what is wrong with it.

use crate::shell::wide::PatternError;

/// How many people a rule may ask for: more than a company would find is a mistake.
pub(super) const APPROVERS_MAX: u32 = 64;

/// How many people a rule may name, so that every record has room for them.
pub(super) const PEOPLE_MAX: usize = 64;

/// Why rules do not load.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// The text is no list of rules.
    #[error("the text is no list of rules: {0}")]
    Json(String),
    /// Nor is this one.
    #[error("the text is no list of rules: {0}")]
    Toml(String),
    /// One rule is wrong.
    #[error("rule {number} ({about}): {why}")]
    Rule {
        /// Its place in the list, from 1.
        number: usize,
        /// What it is about.
        about: String,
        /// What is wrong with it.
        why: Why,
    },
}

/// What is wrong with one rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Nothing says what it is about.
    #[error("names nothing: a rule needs `tool`, `command` or `path`")]
    Nothing,
    /// Too much does.
    #[error("names more than one of `command`, `path` and `url`")]
    Several,
    /// No effect and no demand.
    #[error("does nothing: a rule needs `effect` (allow, ask or deny) or `require`")]
    NoEffect,
    /// Not a tool.
    #[error("`tool` is no name: {0:?}")]
    Tool(String),
    /// Not a command.
    #[error("`command`: {0}")]
    Command(#[from] PatternError),
    /// Not what a key can be.
    #[error(
        "an allow matches commands by their key, and {0:?} is none: write the program \
         and, at most, the word behind it"
    )]
    Key(String),
    /// Not a path.
    #[error("`path`: {0}")]
    Path(String),
    /// A tool whose paths no rule sees.
    #[error(
        "`path`: {0} only reads, and a rule over paths binds what writes and removes; name the \
         tool without a path"
    )]
    Reads(String),
    /// Rules over web addresses.
    #[error(
        "`url`: a rule over web addresses may deny or ask, never allow; list the address \
         under network.http_approval"
    )]
    UrlAllows,
    /// Rules over web addresses that nothing obeys.
    #[error("`url`: this release makes no web requests, so the rule would bind nothing")]
    Url,
    /// An allow that a workspace may not hold.
    #[error("a file in the workspace may deny and ask, never allow")]
    WorkspaceAllows,
    /// An effect of shipped rules.
    #[error("the effect no-entry belongs to shipped rules")]
    NoEntry,
    /// An allow that is too wide.
    #[error("an allow of all calls of {0} is too wide: name a command")]
    AllowsAll(String),
    /// An allow over paths whatever the tool does.
    #[error("an allow over paths must name its tool")]
    AllowsAnyTool,
    /// Ports where nothing is allowed.
    #[error("`network` belongs to an allow with a command")]
    Network,
    /// A demand where nothing is asked.
    #[error("`require` belongs to a rule that asks, not to one with the effect {0}")]
    Require(&'static str),
    /// Too few or too many.
    #[error("`require.approvers` is from 1 to {APPROVERS_MAX}, not {0}")]
    Approvers(u32),
    /// Fewer people are named than must approve.
    #[error(
        "`require`: {quorum} approvals are wanted, and `from` names {named}: name as many people, \
         or lower `approvers`"
    )]
    TooFew {
        /// How many must approve.
        quorum: u32,
        /// How many are named.
        named: u32,
    },
    /// A list of people with nobody in it.
    #[error("`require.from` names nobody: name people, or leave it out where anyone may approve")]
    FromNobody,
    /// A list that no record would hold.
    #[error("`require.from` names more than {PEOPLE_MAX} people")]
    FromMany,
    /// Not a person.
    #[error(
        "`require.from`: {0:?} is no name of a person: write one such as alice@example.org, or \
         uid:1000 for a user of this machine"
    )]
    From(String),
    /// A person twice, who would still count once.
    #[error("`require.from` names {0} twice: each person counts once")]
    FromTwice(String),
    /// Not a word for how sure it is who approved.
    #[error("`require.assurance` is same-user, token, passkey, signed or signed-touch, not {0:?}")]
    Assurance(String),
    /// Not a time.
    #[error("`require.expires` is a time such as 30m or 2h, not {0:?}")]
    Expires(String),
    /// Examples without anything to try them on.
    #[error("`match` and `not_match` need a `command` or a `path`")]
    Examples,
    /// An example that the rule misses.
    #[error("`match`: {0:?} {1}")]
    Misses(String, &'static str),
    /// An example that the rule takes.
    #[error("`not_match`: {0:?} {1}")]
    Takes(String, &'static str),
}
