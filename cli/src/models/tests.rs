//! Who is asked where, by config and environment, and what is said where something is missing.

use std::fs;
use std::sync::Arc;

use placet_engine::stop::Stop;

use super::*;
use crate::config::parse_user;

const LOCAL: &str = "[models.local]\napi = 'openai'\nbase_url = 'http://127.0.0.1:9/v1'\n";

fn io(env: &[(&str, &str)]) -> Io {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Io {
        stdin: Box::new(io::empty()),
        stdout: Box::new(io::sink()),
        stderr: Box::new(io::sink()),
        cwd: PathBuf::new(),
        env: env.iter().map(own).collect(),
        env_not_utf8: BTreeSet::from([String::from("BROKEN")]),
        stdout_is_terminal: false,
        stderr_is_terminal: false,
        terminal: None,
        lent: Arc::default(),
        uid: 0,
        signals: false,
        stop: Stop::default(),
        terminated: Arc::default(),
        program: None,
    }
}

fn models(config: &str, env: &[(&str, &str)]) -> Models {
    let config = parse_user(Path::new("c"), config).unwrap();
    Models::of(&config, PathBuf::from("/nowhere"), &io(env))
}

/// Where a spec is asked, with what, and what is known of it.
fn resolved(spec: &str, config: &str, env: &[(&str, &str)]) -> Result<[String; 3], String> {
    let models = models(config, env);
    let served = models.served(spec).map_err(|error| error.message())?;
    models.ready(spec).map_err(|error| error.message())?;
    let (provider, id) = spec.split_once(':').unwrap();
    let endpoint = models
        .endpoint(provider)
        .map_err(|error| error.to_string())?;
    assert_eq!(served.name.as_str(), spec);
    assert_eq!(served.place.1, id);
    let key = endpoint
        .key
        .map_or_else(String::new, |key| key.expose().to_owned());
    let Terms {
        context_tokens: context,
        output_tokens: output,
        price,
    } = served.terms;
    let (context, output) = (context.unwrap_or_default(), output.unwrap());
    let price = price.map_or_else(|| String::from("?"), |price| price.input.to_string());
    Ok([
        endpoint.base_url,
        key,
        format!("{context} {output} {price}"),
    ])
}

#[test]
fn specs_are_resolved_by_config_and_environment() {
    let (openai, anthropic) = (("OPENAI_API_KEY", "sk-o"), ("ANTHROPIC_API_KEY", "sk-a"));
    let at = |text: &str, key: &str, terms: &str| Ok([text, key, terms].map(str::to_owned));
    for (spec, config, env, found) in [
        (
            "openai:gpt-5.1",
            "",
            &[openai][..],
            at("https://api.openai.com/v1", "sk-o", "400000 32000 1.25"),
        ),
        (
            "anthropic:claude-opus-5",
            "",
            &[anthropic, openai],
            at("https://api.anthropic.com", "sk-a", "1000000 32000 5"),
        ),
        // The table is of those who made the models, and not of whoever stands in for them.
        (
            "openai:gpt-5.1",
            "",
            &[openai, ("OPENAI_BASE_URL", "https://proxy.example/v1/")],
            at("https://proxy.example/v1", "sk-o", "0 8192 ?"),
        ),
        (
            "openai:other",
            "",
            &[openai],
            at("https://api.openai.com/v1", "sk-o", "0 8192 ?"),
        ),
        // The config wins where it speaks.
        (
            "openai:gpt-5.1",
            "[models.openai]\nbase_url = 'https://a.example/v1'\nkey_env = 'MINE'\n\
             context_tokens = 900\n[prices.'openai:gpt-5.1']\ninput = '7'\noutput = '8'\n",
            &[
                openai,
                ("OPENAI_BASE_URL", "https://b.example"),
                ("MINE", " sk-m\n"),
            ],
            at("https://a.example/v1", "sk-m", "900 450 7"),
        ),
        (
            "ollama:qwen3:8b",
            "",
            &[openai],
            at("http://127.0.0.1:11434/v1", "", "0 8192 0"),
        ),
        (
            "ollama:qwen3",
            "[models.ollama]\ncontext_tokens = 32768\noutput_tokens = 2000\n",
            &[("OLLAMA_HOST", "gpu.example:1")],
            at("http://gpu.example:1/v1", "", "32768 2000 0"),
        ),
        (
            "local:m",
            LOCAL,
            &[],
            at("http://127.0.0.1:9/v1", "", "0 8192 ?"),
        ),
    ] {
        assert_eq!(resolved(spec, config, env), found, "{spec} {config}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is one table")]
fn what_cannot_be_asked_says_why_and_never_repeats_a_key() {
    let long = format!("openai:{}", "x".repeat(200));
    let keyed = format!("{LOCAL}key_env = 'MINE'\n");
    let headed = format!("{LOCAL}headers_env = {{ x-a = 'MINE' }}\n");
    let filed = format!("{LOCAL}key_file = 'none'\n");
    let broken = format!("{LOCAL}key_env = 'BROKEN'\n");
    let key = ("OPENAI_API_KEY", "sk-1");
    for (spec, config, env, says) in [
        ("opnai:a", "", &[][..], "nobody serves \"opnai\""),
        ("gpt", "", &[], "nobody serves \"gpt\""),
        ("openai", "", &[key], "has no name behind the colon"),
        ("openai:", "", &[key], "has no name behind the colon"),
        (
            "openai:a b",
            "",
            &[key],
            "no record can hold the name of the model \"openai:a b\"",
        ),
        (long.as_str(), "", &[key], "no record can hold"),
        (
            "openai:a",
            "",
            &[],
            "the variable OPENAI_API_KEY is not set: it holds the key of openai",
        ),
        (
            "openai:a",
            "",
            &[("OPENAI_API_KEY", "")],
            "OPENAI_API_KEY is not set",
        ),
        (
            "openai:a",
            "",
            &[("OPENAI_API_KEY", "sk-1 sk-1")],
            "cannot be sent",
        ),
        (
            "openai:a",
            "",
            &[("OPENAI_API_KEY", " \n")],
            "cannot be sent",
        ),
        (
            "anthropic:a",
            "",
            &[key],
            "the variable ANTHROPIC_API_KEY is not set",
        ),
        (
            "openai:a",
            "",
            &[key, ("OPENAI_BASE_URL", "https://me:sk-1@a")],
            "OPENAI_BASE_URL holds no address of a server: it holds a user",
        ),
        (
            "openai:a",
            "",
            &[key, ("OPENAI_BASE_URL", "http://a.example/v1")],
            "a key would go to http://a.example/v1 where others can read it",
        ),
        (
            "ollama:a",
            "",
            &[("OLLAMA_HOST", "ftp://a")],
            "OLLAMA_HOST holds no address",
        ),
        (
            "ollama:a",
            "[models.ollama]\nkey_env = 'OPENAI_API_KEY'\n",
            &[key, ("OLLAMA_HOST", "far.example")],
            "where others can read it",
        ),
        (
            "local:a",
            &keyed,
            &[key],
            "the variable MINE is not set: it holds the key of local",
        ),
        (
            "local:a",
            &headed,
            &[key],
            "MINE is not set: it holds the header x-a for local",
        ),
        (
            "local:a",
            &headed,
            &[("MINE", "sk-1\u{7}")],
            "the variable MINE holds cannot be sent",
        ),
        (
            "local:a",
            &filed,
            &[],
            "cannot read the key in /nowhere/none",
        ),
        ("local:a", &broken, &[], "the variable BROKEN is not UTF-8"),
    ] {
        let error = resolved(spec, config, env).unwrap_err();
        assert!(error.contains(says), "{spec}: {error}");
        assert!(!error.contains("sk-1"), "{error}");
    }
    let error = models("", &[]).served("opnai:a").unwrap_err();
    assert_eq!(error.hints[0], "did you mean openai?");
    assert!(error.hints[1].contains("anthropic, ollama, openai, or script:FILE"));
    let error = models("", &[]).ready("openai:a").unwrap_err();
    assert!(
        error.hints[0].contains("key_file in [models.openai]"),
        "{:?}",
        error.hints
    );
}

#[test]
fn a_key_lies_in_a_file_that_nobody_else_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &[u8], mode: u32| {
        fs::write(at(name), text).unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    write("good", b"sk-1\n", 0o600);
    write("readonly", b"sk-1", 0o400);
    write("group", b"sk-1", 0o640);
    write("others", b"sk-1", 0o604);
    write("empty", b"\n", 0o600);
    write("large", &vec![b'k'; 20_000], 0o600);
    write("bytes", b"sk-\xff", 0o600);
    std::os::unix::fs::symlink(at("good"), at("link")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let key = |name: &str| {
        let text = format!("{LOCAL}key_file = '{name}'\n");
        let config = parse_user(Path::new("c"), &text).unwrap();
        let models = Models::of(&config, folder.path().to_owned(), &io(&[]));
        assert_eq!(models.key_files().collect::<Vec<_>>(), [at(name)]);
        match models.endpoint("local") {
            Ok(endpoint) => Ok(endpoint.key.unwrap().expose().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    };
    assert_eq!(key("good").unwrap(), "sk-1");
    assert_eq!(key("readonly").unwrap(), "sk-1");
    for (name, says) in [
        ("group", "others may read it"),
        ("others", "others may read it"),
        ("empty", "it is empty"),
        ("large", "larger than 16 KiB"),
        ("bytes", "UTF-8"),
        ("link", "a link"),
        ("folder", "a folder"),
        ("none", "No such file"),
    ] {
        let error = key(name).unwrap_err();
        assert!(
            error.contains(says) && !error.contains("sk-"),
            "{name}: {error}"
        );
    }
}
