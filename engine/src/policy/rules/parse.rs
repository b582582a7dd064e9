//! From the text of rules to rules: every field checked, every example tried.

use std::collections::BTreeSet;

use globset::GlobBuilder;
use placet_ledger::approval::{Assurance, Demands};
use placet_ledger::canonical::{self, EncodeError};
use placet_ledger::id::{Name, Principal};
use serde::{Deserialize, Serialize};

use crate::shell;
use crate::shell::wide::{Match, Pattern};
use crate::steering::without_case;

use super::error::{APPROVERS_MAX, PEOPLE_MAX, RulesError, Why};
use super::{Effect, Rule, Rules, Target};

/// The tool that runs commands.
const EXECUTE_COMMAND: &str = "execute_command";

/// The tools that only read files: their calls tell no paths to the gate.
const READERS: [&str; 5] = ["find", "grep", "ls", "read_file", "stat"];

/// Bytes of a rule's name that come from what it is about.
const SLUG_BYTES_MAX: usize = 60;

/// A rule as it is written in a config and recorded in a ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// The tool; any, where a command or a path is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A program and further words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A path in the workspace, or a pattern of paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A web address, or all that begin with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What it does; a demand alone asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// The ports that an allowed command may reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<u16>,
    /// What an approval must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Require>,
    /// Why it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Commands or paths that it must match.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Commands or paths that it must not match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
}

/// What an approval must have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Require {
    /// How many people must approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvers: Option<u32>,
    /// Who counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Vec<String>>,
    /// Whether each approval is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<bool>,
    /// The least assurance that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assurance: Option<String>,
    /// For how long a call waits for them, as in `2h`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// Whether who started the run does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_starter: Option<bool>,
    /// Whether who amended the call does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_amender: Option<bool>,
}

impl Require {
    /// What it demands of the approvals of a call.
    fn demands(&self) -> Result<Demands, Why> {
        let assurance = match &self.assurance {
            Some(text) => text.parse().map_err(|_| Why::Assurance(short(text)))?,
            None => Assurance::default(),
        };
        let signed = if self.signed == Some(true) {
            Assurance::Signed
        } else {
            Assurance::default()
        };
        let from = self.from.as_deref().map(people).transpose()?;
        let quorum = self.approvers.unwrap_or(1);
        if !(1..=APPROVERS_MAX).contains(&quorum) {
            return Err(Why::Approvers(quorum));
        }
        let named = from.as_ref().map(BTreeSet::len);
        match named.map(u32::try_from) {
            Some(Ok(named)) if named < quorum => return Err(Why::TooFew { quorum, named }),
            Some(_) | None => {}
        }
        Ok(Demands {
            quorum,
            assurance: assurance.max(signed),
            from,
            not_amender: self.not_amender == Some(true),
            not_starter: self.not_starter == Some(true),
        })
    }
}

/// The people whose approvals count.
fn people(names: &[String]) -> Result<BTreeSet<Principal>, Why> {
    if names.is_empty() {
        return Err(Why::FromNobody);
    }
    if names.len() > PEOPLE_MAX {
        return Err(Why::FromMany);
    }
    let mut people = BTreeSet::new();
    for text in names {
        let name: Principal = text.parse().map_err(|_| Why::From(short(text)))?;
        if !people.insert(name) {
            return Err(Why::FromTwice(text.clone()));
        }
    }
    Ok(people)
}

/// As much of a text as an error repeats.
fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Where rules come from, and so what they may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The user's own config.
    User,
    /// A file in a workspace, which may only tighten.
    Workspace,
    /// A record: checked when it was adopted, its examples are not tried again.
    Record,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    rules: Vec<Written>,
}

impl Rules {
    /// Reads recorded rules: a JSON list, or an object that holds one under `rules`.
    pub fn parse_json(text: &str) -> Result<Self, RulesError> {
        let wrong = |error: serde_json::Error| RulesError::Json(error.to_string());
        let written = if text.trim_start().starts_with('{') {
            serde_json::from_str::<List>(text).map_err(wrong)?.rules
        } else {
            serde_json::from_str(text).map_err(wrong)?
        };
        Self::from_written(written, Origin::Record)
    }

    /// Reads a TOML text that holds `[[rules]]` and nothing else.
    pub fn from_toml(text: &str, origin: Origin) -> Result<Self, RulesError> {
        let list: List =
            toml::from_str(text).map_err(|error| RulesError::Toml(error.to_string()))?;
        Self::from_written(list.rules, origin)
    }

    /// Checks rules as they were written. Those of a person try their own examples.
    pub fn from_written(written: Vec<Written>, origin: Origin) -> Result<Self, RulesError> {
        let mut taken = BTreeSet::new();
        let mut rules = Vec::with_capacity(written.len());
        for (index, written) in written.into_iter().enumerate() {
            let number = index.saturating_add(1);
            let about = about(&written);
            let rule = check(written, origin, number, &mut taken);
            rules.push(rule.map_err(|why| RulesError::Rule { number, about, why })?);
        }
        Ok(Self { rules })
    }

    /// The shipped rules and these behind them, as a config is adopted.
    pub fn behind(self, first: Self) -> Result<Self, RulesError> {
        let all = first.rules.into_iter().chain(self.rules);
        Self::from_written(all.map(|rule| rule.written).collect(), Origin::Record)
    }

    /// The one text of these rules that is recorded: canonical JSON, a list.
    pub fn to_json(&self) -> Result<String, EncodeError> {
        let written: Vec<&Written> = self.rules.iter().map(|rule| &rule.written).collect();
        // Canonical JSON is UTF-8 alone.
        canonical::to_vec(&written).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// What a rule is about, in a few words.
fn about(written: &Written) -> String {
    let target = written.command.as_ref().or(written.path.as_ref());
    let about = target.or(written.url.as_ref()).or(written.tool.as_ref());
    about.map_or_else(String::new, |about| about.chars().take(80).collect())
}

fn check(
    mut written: Written,
    origin: Origin,
    number: usize,
    taken: &mut BTreeSet<String>,
) -> Result<Rule, Why> {
    let effect = effect(&written, origin)?;
    let tool = match &written.tool {
        Some(tool) => Some(tool.parse().map_err(|_| Why::Tool(tool.clone()))?),
        None => None,
    };
    let target = target(&written, effect)?;
    let require = written.require.clone().unwrap_or_default();
    if written.require.is_some() && effect != Effect::Ask {
        return Err(Why::Require(effect.as_str()));
    }
    let demands = require.demands()?;
    let expires_ms = require.expires.as_deref().map(expires_ms).transpose()?;
    written.network.sort_unstable();
    written.network.dedup();
    let rule = Rule {
        name: name(&written, number, taken)?,
        tool,
        target,
        effect,
        demands,
        expires_ms,
        network: written.network.iter().copied().collect(),
        written,
    };
    match origin {
        Origin::User | Origin::Workspace => rule.try_examples()?,
        Origin::Record => {}
    }
    Ok(rule)
}

fn effect(written: &Written, origin: Origin) -> Result<Effect, Why> {
    let demanded = written.require.as_ref().map(|_| Effect::Ask);
    let effect = written.effect.or(demanded).ok_or(Why::NoEffect)?;
    let named = |field: &Option<String>| usize::from(field.is_some());
    let named = named(&written.command) + named(&written.path) + named(&written.url);
    if named > 1 {
        return Err(Why::Several);
    }
    match (origin, effect) {
        (Origin::Workspace, Effect::Allow) => return Err(Why::WorkspaceAllows),
        (Origin::User | Origin::Workspace, Effect::NoEntry) => return Err(Why::NoEntry),
        (Origin::User | Origin::Workspace | Origin::Record, _) => {}
    }
    if written.url.is_some() {
        let allows = effect == Effect::Allow;
        return Err(if allows { Why::UrlAllows } else { Why::Url });
    }
    let tool_alone = named == 0;
    match &written.tool {
        None if tool_alone => return Err(Why::Nothing),
        Some(tool) if tool_alone && effect == Effect::Allow && tool == EXECUTE_COMMAND => {
            return Err(Why::AllowsAll(tool.clone()));
        }
        None if effect == Effect::Allow && written.path.is_some() => {
            return Err(Why::AllowsAnyTool);
        }
        Some(tool) if written.path.is_some() && READERS.contains(&tool.as_str()) => {
            return Err(Why::Reads(tool.clone()));
        }
        None | Some(_) => {}
    }
    if !written.network.is_empty() && (effect != Effect::Allow || written.command.is_none()) {
        return Err(Why::Network);
    }
    Ok(effect)
}

fn target(written: &Written, effect: Effect) -> Result<Target, Why> {
    if let Some(command) = &written.command {
        let entry = command.split_whitespace().collect::<Vec<_>>().join(" ");
        if effect == Effect::Allow {
            // A program may be allowed by its path; denied it is by its name.
            if shell::key(&entry).as_deref() != Some(entry.as_str()) {
                return Err(Why::Key(entry));
            }
            let path = entry.split(' ').next().unwrap_or_default();
            let base = path.rsplit('/').next().unwrap_or_default();
            let pattern = Pattern::parse(entry.replacen(path, base, 1).as_str())?;
            return Ok(Target::Command { entry, pattern });
        }
        let pattern = Pattern::parse(&entry)?;
        return Ok(Target::Command { entry, pattern });
    }
    let Some(path) = &written.path else {
        return Ok(Target::Tool);
    };
    let within = |path: &str| !path.split('/').any(|name| name == "..");
    if path.is_empty() || path.starts_with('/') || !within(path) {
        let what = format!("{path:?} is no path beneath the workspace");
        return Err(Why::Path(what));
    }
    let path = path
        .strip_prefix("./")
        .unwrap_or(path)
        .trim_end_matches('/');
    let glob = |text: &str| {
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        glob.map(|glob| glob.compile_matcher())
            .map_err(|error| Why::Path(error.to_string()))
    };
    let folded = without_case(path);
    let folder = folded.strip_suffix("/**").map(str::to_owned);
    // A name stands for the file and for all that lies beneath it.
    let beneath = (!folded.ends_with("**")).then(|| format!("{folded}/**"));
    let wide = [Some(folded), folder, beneath].into_iter().flatten();
    Ok(Target::Path {
        exact: glob(path)?,
        wide: wide.map(|text| glob(&text)).collect::<Result<_, _>>()?,
    })
}

fn expires_ms(text: &str) -> Result<u64, Why> {
    let wrong = || Why::Expires(short(text));
    let time = humantime::parse_duration(text).map_err(|_| wrong())?;
    let ms = u64::try_from(time.as_millis()).map_err(|_| wrong())?;
    if ms == 0 { Err(wrong()) } else { Ok(ms) }
}

/// A name of what the rule is about, and of no other rule of the set.
fn name(written: &Written, number: usize, taken: &mut BTreeSet<String>) -> Result<Name, Why> {
    let about = about(written).replace("**", "all");
    let mut slug = String::new();
    for c in about.chars().take(SLUG_BYTES_MAX) {
        match c {
            c if c.is_ascii_alphanumeric() || "._".contains(c) => slug.push(c),
            _ if slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    let slug = slug.trim_matches('-');
    let whole = format!("rule:{slug}");
    let text = if slug.is_empty() || taken.contains(&whole) {
        // No other name ends in a colon and a number.
        format!("{whole}:{number}")
    } else {
        whole
    };
    taken.insert(text.clone());
    text.parse().map_err(|_| Why::Tool(text))
}

impl Rule {
    fn try_examples(&self) -> Result<(), Why> {
        let (wanted, unwanted) = (&self.written.matches, &self.written.not_match);
        if matches!(self.target, Target::Tool) && !(wanted.is_empty() && unwanted.is_empty()) {
            return Err(Why::Examples);
        }
        for example in wanted {
            match self.on_example(example) {
                Match::Matches => {}
                Match::Unreadable => {
                    return Err(Why::Misses(
                        example.clone(),
                        "asks only because its programs cannot be read",
                    ));
                }
                Match::Apart => return Err(Why::Misses(example.clone(), "is not matched")),
            }
        }
        for example in unwanted {
            match self.on_example(example) {
                Match::Matches => return Err(Why::Takes(example.clone(), "is matched")),
                Match::Unreadable => {
                    let what = "asks, since its programs cannot be read";
                    return Err(Why::Takes(example.clone(), what));
                }
                Match::Apart => {}
            }
        }
        Ok(())
    }
}
