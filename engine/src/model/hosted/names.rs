//! Names of tools as providers allow them, and the way back.
//!
//! Providers allow letters, digits, `_` and `-`, at most 64 of them; ours may be longer and hold
//! more. Within one request every name has one form and every form one name. A tool whose name is
//! allowed keeps it.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Message, Request};

/// Bytes of a name that every provider takes.
const NAME_BYTES_MAX: usize = 64;

/// What a call without a name is called when it is told again.
const UNNAMED: &str = "unnamed";

/// The names of one request.
#[derive(Debug, Default)]
pub(super) struct Names {
    sent: BTreeMap<String, String>,
    tools: BTreeMap<String, String>,
}

impl Names {
    /// Of the tools, and of the calls that are told again: a model may have invented theirs, or the
    /// tool may be gone.
    pub(super) fn of(request: &Request) -> Self {
        let tools: Vec<_> = request
            .tools
            .iter()
            .map(|tool| tool.spec.name.as_str())
            .collect();
        let told = request
            .messages
            .iter()
            .flat_map(|message| match &**message {
                Message::Assistant { calls, .. } => calls.as_slice(),
                Message::System(_) | Message::User(_) | Message::Result { .. } => &[],
            });
        let told = told.map(|call| call.name.as_str());
        Self::assign(&tools, told)
    }

    fn assign<'a>(tools: &[&'a str], told: impl Iterator<Item = &'a str>) -> Self {
        let mut names = Self::default();
        // What is allowed as it is comes first, and tools before all that was invented, so that
        // what a model says later does not change what a tool is called.
        let (kept, changed): (Vec<_>, Vec<_>) = tools.iter().partition(|name| is_allowed(name));
        let mut taken = BTreeSet::new();
        for name in kept.into_iter().chain(changed) {
            let form = names.give(name, &mut taken);
            names.tools.insert(form, (*name).to_owned());
        }
        for name in told {
            names.give(name, &mut taken);
        }
        names
    }

    fn give(&mut self, name: &str, taken: &mut BTreeSet<String>) -> String {
        if let Some(form) = self.sent.get(name) {
            return form.clone();
        }
        let form = free(name, taken);
        taken.insert(form.clone());
        self.sent.insert(name.to_owned(), form.clone());
        form
    }

    /// The form in which a name is sent.
    pub(super) fn sent<'a>(&'a self, name: &'a str) -> &'a str {
        self.sent.get(name).map_or(name, String::as_str)
    }

    /// The name that a model means; one that it invents stays as it is, and no tool has it.
    pub(super) fn meant(&self, form: &str) -> String {
        self.tools.get(form).map_or(form, String::as_str).to_owned()
    }
}

fn is_allowed(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(allowed)
}

/// The first form of a name that nothing else has.
fn free(name: &str, taken: &BTreeSet<String>) -> String {
    let form: String = name
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
            _ => '_',
        })
        .take(NAME_BYTES_MAX)
        .collect();
    let form = if form.is_empty() {
        UNNAMED.to_owned()
    } else {
        form
    };
    if !taken.contains(&form) {
        return form;
    }
    let numbered = |number: usize| {
        let end = format!("_{number}");
        let kept = NAME_BYTES_MAX.saturating_sub(end.len()).min(form.len());
        format!("{}{end}", form.get(..kept).unwrap_or_default())
    };
    // One of so many is free, as fewer are taken.
    (2..=taken.len().saturating_add(2))
        .map(numbered)
        .find(|form| !taken.contains(form))
        .unwrap_or(form)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn allowed_names_stay_and_others_get_a_form_of_their_own() {
        let long = "x".repeat(70);
        let longer = "x".repeat(71);
        let names = Names::assign(
            &["fs.read", "fs_read", &long, &longer, "a-b"],
            ["fs/read", "", "caf\u{e9}", "a-b"].into_iter(),
        );
        for (name, form) in [
            ("fs_read", "fs_read"),
            ("fs.read", "fs_read_2"),
            ("fs/read", "fs_read_3"),
            ("a-b", "a-b"),
            ("", "unnamed"),
            ("caf\u{e9}", "caf_"),
            (long.as_str(), &long[..64]),
            (longer.as_str(), &format!("{}_2", &long[..62])),
        ] {
            assert_eq!(names.sent(name), form);
        }
        for (form, name) in [
            ("fs_read", "fs_read"),
            ("fs_read_2", "fs.read"),
            ("fs_read_3", "fs_read_3"),
            ("unnamed", "unnamed"),
            ("fs.read", "fs.read"),
        ] {
            assert_eq!(names.meant(form), name);
        }
    }

    proptest! {
        #[test]
        fn every_name_has_one_allowed_form_and_finds_back(
            tools in prop::collection::btree_set("[a-c._/]{1,4}|[a._]{62,68}", 0..12),
            told in prop::collection::vec("[a-c._/ ]{0,4}|[a._]{62,68}", 0..12),
        ) {
            let tools: Vec<_> = tools.iter().map(String::as_str).collect();
            let names = Names::assign(&tools, told.iter().map(String::as_str));
            let mut forms = BTreeMap::new();
            for name in tools.iter().copied().chain(told.iter().map(String::as_str)) {
                let form = names.sent(name);
                prop_assert!(is_allowed(form), "{name:?} as {form:?}");
                let owner = *forms.entry(form).or_insert(name);
                prop_assert_eq!(owner, name);
            }
            for name in tools {
                prop_assert_eq!(names.meant(names.sent(name)), name);
                prop_assert!(!is_allowed(name) || names.sent(name) == name);
            }
        }
    }
}
