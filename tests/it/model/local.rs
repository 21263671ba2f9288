//! Servers on one's own machine: which is taken, and what is said of those that are not. Addresses are injected; nothing
//! that really runs here is asked.

use std::time::Duration;

use serde_json::{Value, json};
use tillerman::model::catalog::Models;

use super::talk::{Ask, id_of};
use crate::server::{Captured, Response, Server, says};

/// What a server answers, by path.
type Paths = &'static [(&'static str, fn(&Captured) -> Value)];

/// What begins the variables of all servers that are looked for.
const PREFIXES: [&str; 4] = ["OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM"];

/// Nothing listens there.
const NOWHERE: &str = "http://127.0.0.1:1";

/// The catalogue with the servers of a machine at these addresses; all others are nowhere.
fn machine(servers: &[(&str, String)], keys: &[(&str, &str)], within: Duration) -> Models {
    let env = |name: &str| {
        let key = keys.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let at = servers.iter().find(|(prefix, _)| name == format!("{prefix}_BASE_URL")).map(|(_, url)| url.clone());
        let local = PREFIXES.iter().any(|id| name == format!("{id}_BASE_URL"));
        key.or(at).or_else(|| local.then(|| NOWHERE.to_owned()))
    };
    Models::from_env(&env).unwrap().looking(within)
}

fn patient(servers: &[(&str, String)]) -> Models {
    machine(servers, &[], Duration::from_secs(10))
}

/// A server that answers by path.
fn serving(paths: Paths) -> Server {
    Server::answer(|request| match paths.iter().find(|(path, _)| *path == request.path) {
        Some((_, body)) => Response::status(200, &body(request).to_string()),
        None if request.path == "/v1/chat/completions" => says().text("from next door").into(),
        None if request.path == "/api/chat" => {
            let line = json!({"message": {"role": "assistant", "content": "from next door"}, "done": true, "done_reason": "stop"});
            Response::with(200, &[("content-type", "application/x-ndjson")], &format!("{line}\n"))
        }
        None => Response::status(404, "{}"),
    })
}

const OLLAMA: Paths = &[
    ("/api/tags", |_| {
        let model = |name: &str, family: &str| json!({"name": name, "details": {"family": family}});
        json!({"models": [model("nomic-embed-text:latest", "nomic-bert"), model("qwen3:8b", "qwen3"), model("llava:7b", "llama")]})
    }),
    ("/api/ps", |_| json!({"models": [{"name": "llava:7b"}]})),
    ("/api/show", |request| match request.body["model"].as_str() {
        Some("llava:7b") => {
            json!({"model_info": {"llama.context_length": 8192}, "capabilities": ["completion", "vision"]})
        }
        _ => json!({"model_info": {"qwen3.context_length": 262144}, "capabilities": ["completion", "tools"]}),
    }),
];

const LMSTUDIO: Paths = &[("/api/v0/models", |_| {
    json!({"data": [
        {"id": "text-embedding-x", "type": "embeddings", "state": "loaded", "max_context_length": 512},
        {"id": "idle", "type": "llm", "state": "not-loaded", "max_context_length": 4096},
        {"id": "awake", "type": "vlm", "state": "loaded", "max_context_length": 131072, "loaded_context_length": 16384},
    ]})
})];

/// Its newer list.
const LMSTUDIO_1: Paths = &[("/api/v1/models", |_| {
    json!({"models": [
        {"key": "text-embedding-x", "type": "embedding", "loaded_instances": [{"id": "text-embedding-x"}]},
        {"key": "idle", "type": "llm", "loaded_instances": [], "max_context_length": 4096},
        {"key": "awake", "type": "llm", "loaded_instances": [{"id": "awake:2", "config": {"context_length": 16384}}],
            "max_context_length": 131072, "capabilities": {"vision": true, "trained_for_tool_use": true}},
    ]})
})];

/// One that is too old for a list of its own.
const LMSTUDIO_OLD: Paths = &[("/v1/models", |_| json!({"object": "list", "data": [{"id": "awake"}]}))];

const LLAMACPP: Paths = &[
    ("/v1/models", |_| json!({"object": "list", "data": [{"id": "gemma.gguf"}]})),
    ("/props", |_| json!({"default_generation_settings": {"n_ctx": 24576}, "modalities": {"vision": false}})),
];

const VLLM: Paths =
    &[("/v1/models", |_| json!({"object": "list", "data": [{"id": "org/big", "max_model_len": 65536}]}))];

#[tokio::test]
async fn a_server_on_this_machine_answers_when_nothing_else_was_chosen() {
    let cases: [(&str, Paths, &str, u64); 6] = [
        ("OLLAMA", OLLAMA, "ollama/llava:7b", 8192),
        ("LMSTUDIO", LMSTUDIO, "lmstudio/awake", 16_384),
        ("LMSTUDIO", LMSTUDIO_1, "lmstudio/awake:2", 16_384),
        ("LMSTUDIO", LMSTUDIO_OLD, "lmstudio/awake", 128_000),
        ("LLAMACPP", LLAMACPP, "llamacpp/gemma.gguf", 24_576),
        ("VLLM", VLLM, "vllm/org/big", 65_536),
    ];
    for (prefix, paths, id, window) in cases {
        let server = serving(paths);
        let models = patient(&[(prefix, server.base_url())]);
        let choice = models.choose(None, None).unwrap();
        assert_eq!((choice.id.to_string().as_str(), models.window(&choice.id)), (id, window));
        let why = format!("answers at {}", server.base_url());
        assert!(choice.why.starts_with("no key in the environment; ") && choice.why.contains(&why), "{}", choice.why);
        let (reply, _) =
            Ask::new([tillerman::message::Message::user("hi")]).send(&models.get(&choice.id).unwrap()).await;
        assert_eq!(reply.unwrap().message.text(), "from next door", "{id}");
        assert_eq!(models.notes(), [""; 0]);
    }
}

#[test]
fn the_context_that_is_asked_of_a_server_is_no_longer_than_that_of_its_model() {
    let server = serving(OLLAMA);
    let models = patient(&[("OLLAMA", server.base_url())]);
    models.choose(Some("ollama/qwen3:8b"), None).unwrap();
    assert_eq!(["ollama/qwen3:8b", "ollama/llava:7b"].map(|id| models.window(&id_of(id))), [32_768, 8192]);
}

#[test]
fn a_server_that_only_is_named_answers_with_what_it_has_loaded() {
    let server = serving(LMSTUDIO);
    let models = patient(&[("LMSTUDIO", server.base_url())]);
    assert_eq!(models.read("lmstudio").unwrap(), id_of("lmstudio/awake"));
    let refusal = models.read("vllm").unwrap_err().to_string();
    let said = "vllm has no default model (nothing at http://127.0.0.1:1/v1: connection refused); write vllm/MODEL";
    assert_eq!(refusal, said);
}

/// A server that is up but has no model says so, and the search goes on.
#[test]
fn a_server_without_a_model_says_how_it_gets_one_and_the_next_is_taken() {
    let ollama = serving(&[("/api/tags", |_| json!({"models": []}))]);
    let lmstudio =
        serving(&[("/api/v0/models", |_| json!({"data": [{"id": "idle", "type": "llm", "state": "not-loaded"}]}))]);
    let vllm = serving(VLLM);
    let at = |server: &Server| server.base_url();
    let models = patient(&[("OLLAMA", at(&ollama)), ("LMSTUDIO", at(&lmstudio)), ("VLLM", at(&vllm))]);
    assert_eq!(models.choose(None, None).unwrap().id, id_of("vllm/org/big"));
    let expected = [
        format!(
            "LM Studio is up at {}/v1 but has no model loaded; load one in its window, or with `lms load MODEL`",
            at(&lmstudio)
        ),
        format!("Ollama is up at {} but has no model; `ollama pull MODEL` gets one", at(&ollama)),
    ];
    assert_eq!(models.notes(), expected);
}

#[test]
fn a_key_goes_before_every_server_and_nothing_is_asked() {
    let server = serving(VLLM);
    let models = machine(&[("VLLM", server.base_url())], &[("GROQ_API_KEY", "k")], Duration::from_secs(10));
    assert_eq!(models.choose(None, None).unwrap().id.provider, "groq");
    assert_eq!(server.accepted(), 0);
}

/// Here none of them answers before all have been asked.
#[test]
fn servers_are_asked_at_the_same_time() {
    let home = tempfile::tempdir().unwrap();
    let (all_asked, mut asked) = (home.path().join("asked"), 0);
    let server = Server::answer(move |request| {
        let is_first = !["/api/ps", "/props"].contains(&request.path.as_str());
        asked += usize::from(is_first);
        if asked == PREFIXES.len() {
            std::fs::write(&all_asked, "").unwrap();
        }
        let no_list =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
        Response::raw().hold(&all_asked).send(no_list)
    });
    let models = patient(&PREFIXES.map(|prefix| (prefix, server.base_url())));
    let choice = models.choose(None, None).unwrap();
    let standings = models.standings(&choice);
    let local = standings.iter().filter(|standing| standing.why.starts_with("something else at "));
    assert_eq!((choice.id, local.count()), (id_of("pilot/pilot"), 4), "{standings:?}");
}

#[test]
fn servers_that_do_not_answer_are_asked_once() {
    let silent = Server::answer(|_| Response::raw().stall());
    let models = machine(&PREFIXES.map(|prefix| (prefix, silent.base_url())), &[], Duration::from_millis(150));
    assert_eq!(models.choose(None, None).unwrap().id, id_of("pilot/pilot"));
    let choice = models.choose(None, None).unwrap();
    let standing = models.standings(&choice).into_iter().find(|standing| standing.provider == "vllm").unwrap();
    let said = format!("nothing at {}/v1: did not answer within 150 ms", silent.base_url());
    assert_eq!((standing.usable, standing.why), (false, said));
    // However often the question is put.
    assert!(silent.accepted() <= 4, "{}", silent.accepted());
}

#[test]
fn what_else_listens_at_the_address_is_no_model_server() {
    let other = Server::answer(|_| Response::with(200, &[("content-type", "text/html")], "<h1>It works!</h1>"));
    let wrong = Server::answer(|_| Response::status(200, r#"{"hello": "world"}"#));
    let at = |prefix, server: &Server| (prefix, server.base_url());
    let models = patient(&[at("LLAMACPP", &other), at("VLLM", &wrong), at("OLLAMA", &wrong), at("LMSTUDIO", &wrong)]);
    let choice = models.choose(None, None).unwrap();
    assert_eq!(choice.id, id_of("pilot/pilot"));
    let standings = models.standings(&choice);
    let why = |id: &str| standings.iter().find(|standing| standing.provider == id).map(|standing| standing.why.clone());
    assert_eq!(why("llamacpp"), Some(format!("something else at {}/v1: it answered no JSON", other.base_url())));
    for (id, path) in [("ollama", ""), ("lmstudio", "/v1"), ("vllm", "/v1")] {
        let said = format!("something else at {}{path}: it answered no list of models", wrong.base_url());
        assert_eq!(why(id), Some(said));
    }
}

#[test]
fn servers_are_not_looked_for_unless_somebody_wants_it() {
    let models = Models::from_env(&|_| None).unwrap();
    let choice = models.choose(None, None).unwrap();
    assert_eq!(choice.why, "no key in the environment; the pilot is built in and no language model");
    let standings = models.standings(&choice);
    let said = standings.iter().filter(|standing| standing.why == "not looked for").count();
    assert_eq!((said, models.notes()), (4, Vec::new()));
}
