//! Configs and what is said of them: where, what, and what was probably meant.

use super::*;

fn error(text: &str) -> (String, Vec<String>) {
    let error = parse_user(Path::new("c.toml"), text).unwrap_err();
    assert_eq!(error.kind, Kind::Usage, "{text}");
    (error.message(), error.hints)
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is one table")]
fn what_is_wrong_with_models_is_said_with_its_line() {
    let local = "[models.local]\napi = 'openai'\nbase_url = 'http://127.0.0.1:1/v1'\n";
    for (line, more, says) in [
        (
            4,
            "bse_url = ''",
            "unknown field `bse_url`, expected one of `api`, `base_url`",
        ),
        (4, "key_env = 'A'\nkey_file = 'b'", "not in both"),
        (
            4,
            "key_env = 'sk-abc'",
            "this is not the name of a variable",
        ),
        (4, "key_env = ''", "this is not the name of a variable"),
        (4, "headers = { 'a b' = 'c' }", "not the name of a header"),
        (4, "headers = { '' = 'c' }", "not the name of a header"),
        (4, "headers = { 'x-a' = \"b\\n\" }", "plain ASCII"),
        (
            4,
            "headers = { Authorization = 'b' }",
            "the header authorization is not for the config",
        ),
        (4, "headers = { HOST = 'b' }", "the header host is not"),
        (
            4,
            "headers = { content-length = '1' }",
            "the header content-length is not",
        ),
        (
            4,
            "headers = { x-api-key = '1' }",
            "the header x-api-key is not",
        ),
        (4, "headers = { x-a = '1', X-A = '2' }", "there twice"),
        (
            4,
            "headers = { x-a = '1' }\nheaders_env = { X-A = 'B' }",
            "there twice",
        ),
        (
            4,
            "headers_env = { x-a = 'sk-1' }",
            "this is not the name of a variable",
        ),
        (4, "headers_env = { host = 'A' }", "the header host is not"),
        (4, "context_tokens = 0", "above 0"),
        (
            4,
            "output_tokens = -1",
            "expected a whole number of at most",
        ),
        (
            4,
            "output_tokens = '4'",
            "expected a whole number of at most",
        ),
        (4, "silence = '0s'", "expected a time in which"),
        (4, "silence = 60", "invalid type: integer `60`"),
        (4, "silence = 'a while'", "expected a duration such as"),
        (4, "plain_http = 'yes'", "invalid type: string"),
        (4, "key = 'sk-1'", "unknown field `key`"),
    ] {
        let (message, _) = error(&format!("{local}{more}\n"));
        let at = |line| format!("c.toml:{line}: ");
        let placed = message.starts_with(&at(line)) || message.starts_with(&at(line + 1));
        assert!(placed && message.contains(says), "{more}: {message}");
    }
    for (line, text, says) in [
        (
            1,
            "[models.script]\napi = 'openai'",
            "are files: script:FILE",
        ),
        (
            1,
            "[models.'a b']\napi = 'openai'",
            "can have the name \"a b\"",
        ),
        (
            1,
            "[models.'a:b']\napi = 'openai'",
            "can have the name \"a:b\"",
        ),
        (
            1,
            "[models.local]\nbase_url = 'http://a'",
            "the models `local` have no api",
        ),
        (
            1,
            "[models.local]\napi = 'openai'",
            "the models `local` have no base_url",
        ),
        (
            2,
            "[models.local]\napi = 'gemini'",
            "unknown variant `gemini`",
        ),
        (
            2,
            "[models.openai]\nbase_url = 'ftp://a'",
            "begin with http",
        ),
        (
            2,
            "[models.openai]\nbase_url = 'https://me:sk-1@a'",
            "a user or a password",
        ),
        (
            2,
            "[models.openai]\nbase_url = 'https://a?key=sk-1'",
            "a query",
        ),
        (
            2,
            "[models.openai]\nbase_url = 'http://a.example'",
            "others can read it",
        ),
        (1, "[model.a]", "unknown field `model`"),
        (
            1,
            "[prices.\"opnai:a\"]\ninput = '1'\noutput = '1'",
            "whom the config does not name",
        ),
        (
            1,
            "[prices.\"script:a\"]\ninput = '1'\noutput = '1'",
            "whom the config does not name",
        ),
        (
            1,
            "[prices.gpt]\ninput = '1'\noutput = '1'",
            "[prices.\"NAME:ID\"]",
        ),
        (
            1,
            "[prices.\"openai:\"]\ninput = '1'\noutput = '1'",
            "[prices.\"NAME:ID\"]",
        ),
        (
            1,
            "[prices.\"openai:a\"]\ninput = '1'",
            "missing field `output`",
        ),
        (
            2,
            "[prices.\"openai:a\"]\ninput = 1.5\noutput = '1'",
            "as a string such as",
        ),
        (
            2,
            "[prices.\"openai:a\"]\ninput = '-1'\noutput = '1'",
            "expected US dollars",
        ),
        (
            3,
            "[prices.\"openai:a\"]\ninput = '1'\noutput = 'much'",
            "expected US dollars",
        ),
        (
            2,
            "[prices.\"openai:a\"]\ninpt = '1'",
            "unknown field `inpt`",
        ),
        (2, "[agents.a]\nmax_cost_usd = 1", "as a string such as"),
        (2, "[agents.a]\nmax_tokens = -1", "expected a whole number"),
        (
            2,
            "[agents.a]\nmax_duration = 'long'",
            "expected a duration",
        ),
        (
            2,
            "[agents.a]\nmax_iterations = 9007199254740992",
            "at most 9007199254740991",
        ),
        (
            2,
            "[agents.a]\nauto_approve_tools = ['rm']",
            "unknown field `auto_approve_tools`",
        ),
    ] {
        let (message, _) = error(&format!("{text}\n"));
        let at = format!("c.toml:{line}: ");
        assert!(
            message.starts_with(&at) && message.contains(says),
            "{text}: {message}"
        );
        assert!(!message.contains("sk-1"), "{message}");
    }
    for (text, meant) in [
        ("[models.opnai]\n", "did you mean openai?"),
        ("[models.openai]\nkey_evn = 'A'\n", "did you mean key_env?"),
        (
            "[prices.\"opnai:a\"]\ninput = '1'\noutput = '1'\n",
            "did you mean openai?",
        ),
        ("[agents.a]\nmax_token = 1\n", "did you mean max_tokens?"),
    ] {
        assert_eq!(error(text).1, [meant], "{text}");
    }
}

#[test]
fn models_prices_and_agents_are_read() {
    let text = "
[models.local]
api = 'openai'
base_url = 'http://192.168.0.9:8080/v1/'
key_file = 'key'
headers = { X-Team = 'a b' }
headers_env = { x-token = 'MY_TOKEN' }
context_tokens = 32768
output_tokens = 4096
silence = '60s'

[models.far]
api = 'anthropic'
base_url = 'http://far.example'
key_env = 'FAR'
plain_http = true

[models.openai]
context_tokens = 9

[prices.'local:qwen3:8b']
input = '2.50'
output = '10'

[prices.'openai:a']
input = '1'
output = '2'
cache_read = '0.1'
cache_write = '1.25'

[agents.a]
description = 'Tidies.'
tools = ['ls']
max_cost_usd = '0.5'
max_tokens = 5
max_duration = '1h'
max_iterations = 3
";
    let config = parse_user(Path::new("c"), text).unwrap();
    let local = &config.models["local"];
    let url = local.base_url.as_ref().unwrap();
    assert_eq!(url.as_str(), "http://192.168.0.9:8080/v1");
    assert_eq!(local.key, Some(KeyPlace::File(PathBuf::from("key"))));
    assert_eq!(local.headers["x-team"], "a b");
    assert_eq!(local.headers_env["x-token"], "MY_TOKEN");
    assert_eq!(local.silence_ms, Some(60_000));
    assert_eq!(
        (local.context_tokens, local.output_tokens),
        (Some(32768), Some(4096))
    );
    assert_eq!(
        config.models["far"].key,
        Some(KeyPlace::Env(String::from("FAR")))
    );
    let price = |spec: &str| {
        let price = config.prices[spec];
        [
            price.input,
            price.output,
            price.cache_read,
            price.cache_write,
        ]
        .map(|usd| usd.to_string())
    };
    assert_eq!(price("local:qwen3:8b"), ["2.5", "10", "2.5", "2.5"]);
    assert_eq!(price("openai:a"), ["1", "2", "0.1", "1.25"]);
    let limits = config.agents["a"].limits();
    assert_eq!(limits.cost_usd.unwrap().to_string(), "0.5");
    assert_eq!((limits.tokens, limits.iterations), (Some(5), Some(3)));
    assert_eq!(limits.duration_ms, Some(3_600_000));
}

#[test]
fn a_workspace_names_no_models_no_prices_and_no_agents() {
    for text in [
        "[models.openai]\ncontext_tokens = 9\n",
        "[prices.'openai:a']\ninput = '1'\noutput = '1'\n",
        "[agents.a]\nmax_tokens = 1\n",
        "[classifier]\nmodel = 'openai:a'\n",
    ] {
        let error = parse_workspace(Path::new("placet.toml"), text).unwrap_err();
        let says = "placet.toml:1: unknown field";
        assert!(error.message().starts_with(says), "{}", error.message());
    }
}
