//! Every way to fail, the same for both forms: what it is called, what it used, and whether the
//! same may be asked again.

use placet_ledger::budget::Tokens;
use placet_ledger::event::ModelFailure::{self, Cut, Network, Provider, Timeout};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::server::{Act, CHUNKED, STREAM, Server, chunk, http};
use super::{BOTH, KEY, PATIENT_MS, asks, endpoint, hosted, sample, user};
use crate::heard::Heard;
use crate::model::hosted::client::Client;
use crate::model::hosted::{Api, Hosted};
use crate::model::{Again, Model, ModelError};

/// How long a server may be silent that is.
const HASTY_MS: u64 = 50;

/// What is expected of a failure.
struct Expected {
    kind: ModelFailure,
    used: Option<Tokens>,
    again: Option<Again>,
    says: &'static str,
}

const NOTHING: Option<Tokens> = Some(Tokens::new(0, 0));
const AGAIN: Option<Again> = Some(Again { after_ms: None });

/// The sample up to its calls: a text was heard.
fn half(api: Api) -> &'static str {
    let text = sample(api);
    let end = text.find("\"ls\"").unwrap();
    &text[..end]
}

fn error_event(api: Api, kind: &str) -> String {
    match api {
        Api::Anthropic => format!(
            "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\
             \"message\":\"Too busy for {KEY}\"}}}}\n\n"
        ),
        Api::OpenAi => format!(
            "data: {{\"error\":{{\"message\":\"Too busy for {KEY}\",\"type\":\"{kind}\",\
             \"code\":null}}}}\n\n"
        ),
    }
}

async fn ask(api: Api, server: &Server, silence_ms: u64) -> ModelError {
    let model = hosted(api, &server.url, silence_ms);
    let request = asks(vec![user("hush-hush")]);
    model
        .complete(&request, &Heard::default())
        .await
        .unwrap_err()
}

fn assert_failure(what: &str, error: &ModelError, expected: &Expected) {
    let detail = &error.detail;
    assert_eq!(error.kind, expected.kind, "{what}: {detail}");
    assert_eq!(error.used, expected.used, "{what}: {detail}");
    assert_eq!(error.again, expected.again, "{what}: {detail}");
    assert!(detail.contains(expected.says), "{what}: {detail}");
    for secret in [KEY, "gate-pass", "hush-hush"] {
        assert!(!detail.contains(secret), "{what}: {detail}");
    }
    assert!(detail.len() < 3_000, "{what}: {detail}");
}

/// What happens, how long it may take, how a server does it, and what it comes to.
type Case = (&'static str, u64, Vec<Act>, Expected);

const fn expected(
    kind: ModelFailure,
    used: Option<Tokens>,
    again: Option<Again>,
    says: &'static str,
) -> Expected {
    Expected {
        kind,
        used,
        again,
        says,
    }
}

fn text(kind: &str, body: &str) -> Act {
    Act::send(http("200 OK", &[("content-type", kind)], body))
}

/// Servers that do not answer, or stop in the middle of nothing.
fn wordless() -> Vec<Case> {
    vec![
        (
            "closed without an answer",
            PATIENT_MS,
            vec![],
            expected(
                Network,
                None,
                AGAIN,
                "closed the connection without an answer",
            ),
        ),
        (
            "reset without an answer",
            PATIENT_MS,
            vec![Act::Reset],
            expected(
                Network,
                None,
                AGAIN,
                "closed the connection without an answer",
            ),
        ),
        (
            "silent from the beginning",
            HASTY_MS,
            vec![Act::Hold],
            expected(Timeout, None, None, "nothing was heard"),
        ),
        (
            "silent after the head",
            HASTY_MS,
            vec![Act::send(STREAM), Act::Hold],
            expected(Timeout, None, None, "for 50 ms"),
        ),
        (
            "ended after the head",
            PATIENT_MS,
            vec![Act::send(STREAM)],
            expected(Cut, None, AGAIN, "broke off before its end"),
        ),
        (
            "another protocol",
            PATIENT_MS,
            vec![Act::send("SSH-2.0-OpenSSH_9.9\r\n"), Act::Hold],
            expected(Provider, None, None, "does not speak HTTP"),
        ),
    ]
}

/// Servers that break off in the middle of a reply.
fn broken(api: Api) -> Vec<Case> {
    vec![
        (
            "silent in the middle",
            HASTY_MS,
            vec![Act::send(STREAM), Act::send(half(api)), Act::Hold],
            expected(Timeout, None, None, "nothing was heard"),
        ),
        (
            "ended in the middle, in order",
            PATIENT_MS,
            vec![Act::send(STREAM), Act::send(half(api))],
            expected(Cut, None, None, "broke off before its end"),
        ),
        (
            "ended in the middle of a chunk",
            PATIENT_MS,
            vec![
                Act::send(CHUNKED),
                Act::send(chunk(half(api))),
                Act::send("ff\r\nda"),
            ],
            expected(Cut, None, None, "broke off before its end"),
        ),
        (
            "reset in the middle",
            PATIENT_MS,
            vec![Act::send(CHUNKED), Act::send(chunk(half(api))), Act::Reset],
            expected(Cut, None, None, "broke off before its end"),
        ),
    ]
}

/// Servers that answer with something else.
fn other(api: Api) -> Vec<Case> {
    let event = |kind: &str| error_event(api, kind);
    vec![
        (
            "a page",
            PATIENT_MS,
            vec![text("text/html", "<html>Sign in</html>")],
            expected(
                Provider,
                None,
                None,
                "expected text/event-stream or application/json",
            ),
        ),
        (
            "JSON that is no reply",
            PATIENT_MS,
            vec![text("application/json", "{\"models\":[]}")],
            expected(Provider, None, None, "did not answer with a reply"),
        ),
        (
            "an error with a good status",
            PATIENT_MS,
            vec![text("application/json", "{\"error\":\"model not loaded\"}")],
            expected(Provider, None, None, "model not loaded"),
        ),
        (
            "an error first",
            PATIENT_MS,
            vec![Act::send(STREAM), Act::send(event("overloaded_error"))],
            expected(
                Provider,
                None,
                AGAIN,
                "overloaded_error: Too busy for [secret]",
            ),
        ),
        (
            "an error first that stays",
            PATIENT_MS,
            vec![Act::send(STREAM), Act::send(event("invalid_request_error"))],
            expected(Provider, None, None, "invalid_request_error"),
        ),
        (
            "an error in the middle",
            PATIENT_MS,
            vec![
                Act::send(STREAM),
                Act::send(half_event(api)),
                Act::send(event("api_error")),
            ],
            expected(Provider, None, None, "api_error: Too busy for [secret]"),
        ),
    ]
}

/// The sample up to the last event before its calls, whole.
fn half_event(api: Api) -> &'static str {
    let text = half(api);
    let end = text.rfind("\n\n").unwrap();
    &text[..end + 2]
}

#[tokio::test]
async fn a_connection_fails_in_one_of_these_ways_and_is_used_once() {
    for api in BOTH {
        let cases = wordless().into_iter().chain(broken(api)).chain(other(api));
        for (what, silence_ms, acts, expected) in cases {
            let server = Server::of(acts).await;
            let error = ask(api, &server, silence_ms).await;
            let what = format!("{}: {what}", api.as_str());
            assert_failure(&what, &error, &expected);
            assert_eq!(server.requests().len(), 1, "{what}");
        }
    }
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for api in BOTH {
        let model = hosted(api, &url, PATIENT_MS);
        let reply = model.complete(&asks(vec![]), &Heard::default()).await;
        let expected = expected(Network, NOTHING, AGAIN, "is the server running?");
        assert_failure(api.as_str(), &reply.unwrap_err(), &expected);
    }
}

const WAIT: Option<Again> = Some(Again {
    after_ms: Some(7_000),
});

/// Answers without a reply: whether the same may be asked again, what was used, and what is told.
const STATUSES: [(&str, Option<Again>, Option<Tokens>, &str); 17] = [
    (
        "307 Temporary Redirect",
        None,
        None,
        "redirects to http://127.0.0.1:1/b are not followed",
    ),
    (
        "400 Bad Request",
        None,
        NOTHING,
        "400 Bad Request: bad_thing: What [secret] said",
    ),
    ("401 Unauthorized", None, NOTHING, "check the key, which "),
    ("403 Forbidden", None, NOTHING, "check the key"),
    (
        "404 Not Found",
        None,
        NOTHING,
        "check the base URL and the model \"model-x\"",
    ),
    ("408 Request Timeout", WAIT, NOTHING, "408"),
    ("409 Conflict", WAIT, NOTHING, "409"),
    ("413 Payload Too Large", None, NOTHING, "413"),
    ("422 Unprocessable Entity", None, NOTHING, "422"),
    ("425 Too Early", WAIT, NOTHING, "425"),
    ("429 Too Many Requests", WAIT, NOTHING, "429"),
    ("500 Internal Server Error", WAIT, None, "500"),
    ("501 Not Implemented", None, None, "501"),
    ("502 Bad Gateway", WAIT, None, "502"),
    ("503 Service Unavailable", WAIT, NOTHING, "503"),
    ("504 Gateway Timeout", WAIT, None, "504"),
    ("529 Overloaded", WAIT, NOTHING, "529"),
];

#[tokio::test]
async fn a_server_without_tls_is_not_trusted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let answer = http("400 Plain", &[], "no TLS here");
            drop(connection.write_all(answer.as_bytes()).await);
            // The other side closes it, once it has understood.
            drop(connection.read_to_end(&mut Vec::new()).await);
        }
    });
    for api in BOTH {
        let endpoint = endpoint(api, &url, PATIENT_MS);
        // Which certificates this machine trusts is not asked.
        let client = Client::adjusted(&endpoint, |builder| builder.tls_certs_only([])).unwrap();
        let model = String::from("model-x");
        let model = Hosted {
            endpoint,
            model,
            client,
        };
        let reply = model.complete(&asks(vec![]), &Heard::default()).await;
        let expected = expected(
            Network,
            NOTHING,
            None,
            "no trusted connection to https://127",
        );
        assert_failure(api.as_str(), &reply.unwrap_err(), &expected);
    }
    server.abort();
}

#[tokio::test]
async fn each_status_says_whether_it_passes_and_what_it_used() {
    for (status, again, used, says) in STATUSES {
        for api in BOTH {
            let body = format!(
                "{{\"error\":{{\"type\":\"bad_thing\",\"message\":\"What {KEY} said to gate-pass\"}}}}"
            );
            let headers = [
                ("content-type", "application/json"),
                ("retry-after", "7"),
                ("location", "http://ann:geheim@127.0.0.1:1/b?token=geheim"),
            ];
            let server = Server::of(vec![Act::send(http(status, &headers, &body))]).await;
            let error = ask(api, &server, PATIENT_MS).await;
            assert_failure(status, &error, &expected(Provider, used, again, says));
            assert!(!error.detail.contains("geheim"), "{}", error.detail);
            if status.starts_with("401") {
                assert!(
                    error.detail.contains(api.key_variable()),
                    "{}",
                    error.detail
                );
            }
            assert_eq!(server.requests().len(), 1, "{status}");
        }
    }
}

#[tokio::test]
async fn an_answer_without_a_reply_is_read_and_told_in_part() {
    let long = format!("{{\"error\":{{\"message\":\"{}\"}}}}", "x".repeat(10_000));
    let endless = "y".repeat(200_000);
    let head = "HTTP/1.1 500 No\r\ncontent-type: text/plain\r\n\r\n";
    for (acts, says) in [
        (vec![Act::send(http("500 No", &[], &long))], "xxx..."),
        // The rest of it never comes.
        (
            vec![Act::send(head), Act::send(endless), Act::Hold],
            "yyy...",
        ),
        (vec![Act::send(http("500 No", &[], ""))], "answered 500"),
        (
            vec![Act::send(http("500 No", &[], "\u{e9} plain"))],
            ": \u{e9} plain",
        ),
        (
            vec![Act::send(http(
                "500 No",
                &[("content-type", "text/html")],
                "<html>",
            ))],
            "a page in HTML, expected an error in JSON",
        ),
    ] {
        let server = Server::of(acts).await;
        let error = ask(Api::OpenAi, &server, PATIENT_MS).await;
        let expected = expected(Provider, None, AGAIN, says);
        assert_failure(says, &error, &expected);
    }
}

#[tokio::test]
async fn a_host_that_has_no_address_is_no_connection() {
    // A label is too long for any name server to be asked.
    let host = "x".repeat(64);
    for api in BOTH {
        let model = hosted(api, &format!("http://{host}.invalid"), PATIENT_MS);
        let reply = model.complete(&asks(vec![]), &Heard::default()).await;
        let expected = expected(Network, NOTHING, AGAIN, "no connection to http://xxx");
        assert_failure(api.as_str(), &reply.unwrap_err(), &expected);
    }
}
