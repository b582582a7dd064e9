//! Texts that are long, deep or full of one thing: each is read to an answer.

use placet_engine::shell::{COMMAND_BYTES_MAX, HazardKind, Reading, read};

const MIB: usize = 1024 * 1024;

/// What a family is read as, below the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Plain,
    Neither,
    Hazard,
}

use Answer::{Hazard, Neither, Plain};

/// What is said before, again and again, and after.
const FAMILIES: [(&str, &str, &str, &str, Answer); 36] = [
    ("words", "", "a ", "", Plain),
    ("one word", "", "a", "", Plain),
    ("single quote open", "a '", "a", "", Hazard),
    ("double quote open", "a \"", "a", "", Hazard),
    ("double quote closed", "a \"", "a", "\"", Plain),
    ("substitutions open", "a ", "$(", "", Hazard),
    ("substitutions in quotes", "a ", "\"$(", "", Hazard),
    ("backticks", "a ", "`", "", Hazard),
    ("parentheses", "", "( ", "", Neither),
    ("double parentheses", "", "(", "", Hazard),
    ("groups", "", "{ ", "", Neither),
    ("expansions", "a ", "${a:-", "", Hazard),
    ("arithmetic", "a ", "$((", "", Hazard),
    ("semicolons", "", "a;", "", Neither),
    ("pipes", "", "a|", "", Neither),
    ("lists", "", "a&&", "", Neither),
    ("continuations", "", "\\\n", "", Neither),
    ("continuations in a word", "a", "\\\n", "b", Plain),
    ("newlines", "", "\n", "", Neither),
    ("braces", "a ", "{a,", "", Neither),
    ("heredocs", "", "<<a ", "", Hazard),
    ("comments", "", "#comment\n", "", Neither),
    ("assignments", "", "a=b ", "", Neither),
    ("negations", "", "! ", "", Neither),
    ("conditions", "", "if ", "", Neither),
    ("process substitutions", "a ", "<(", "", Hazard),
    ("brackets", "a ", "[", "", Plain),
    ("variables", "a ", "$a", "", Plain),
    ("single quotes", "", "'a'", "", Plain),
    ("double quotes", "", "\"a\"", "", Plain),
    ("escapes", "", "\\x", "", Plain),
    ("redirections", "a ", ">x", "", Hazard),
    ("cases", "", "case a in a) ", "", Neither),
    ("functions", "", "f(){ ", "", Neither),
    ("quotes with a dollar", "a ", "$'\\\\'", "", Neither),
    ("patterns of bash", "a ", "@(", "", Neither),
];

/// A text of a family of at most so many bytes.
fn text(before: &str, unit: &str, after: &str, bytes: usize) -> String {
    let room = bytes - before.len() - after.len();
    format!("{before}{}{after}", unit.repeat(room / unit.len()))
}

#[test]
fn long_texts_of_one_kind_are_read_to_the_end() {
    for (name, before, unit, after, expected) in FAMILIES {
        let text = text(before, unit, after, COMMAND_BYTES_MAX);
        let answer = match read(&text) {
            Reading::Plain(_) => Plain,
            Reading::Neither(_) => Neither,
            Reading::Hazard(_) => Hazard,
        };
        assert_eq!(answer, expected, "{name}");
    }
}

#[test]
fn texts_beyond_the_limit_are_not_read() {
    for (name, before, unit, after, _) in FAMILIES {
        let Reading::Hazard(hazards) = read(&text(before, unit, after, MIB)) else {
            panic!("{name} was read");
        };
        let kinds: Vec<_> = hazards.iter().map(|hazard| hazard.kind).collect();
        assert_eq!(kinds, [HazardKind::Unreadable], "{name}");
    }
}
