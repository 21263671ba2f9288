//! What is made ready before the first line of a person, and what must not happen by it.

use std::io::ErrorKind;
use std::net::TcpListener;

use tillerman::model::ModelId;
use tillerman::model::catalog::Models;
use tillerman::model::pilot::Pilot;

fn env(name: &str) -> Option<String> {
    ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"].contains(&name).then(|| "key".to_owned())
}

fn id(text: &str) -> ModelId {
    ModelId::parse(text).unwrap()
}

#[test]
fn a_model_that_is_made_ready_is_not_asked() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let at = listener.local_addr().unwrap();
    for url in [format!("http://{at}"), format!("https://{at}")] {
        let models = Models::from_env(&env).unwrap().with_base_url("anthropic", &url).unwrap();
        models.warm(&id("anthropic/claude-sonnet-5-5"));
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "{url}");
    }
}

#[test]
fn what_cannot_be_made_ready_is_left_to_the_call() {
    let nowhere = |name: &str| if name == "OPENAI_BASE_URL" { Some("nowhere".to_owned()) } else { env(name) };
    let models = Models::from_env(&nowhere).unwrap();
    for named in ["openai/gpt-6.1-sol", "pilot/pilot", "scripted/none.json", "nobody/none"] {
        models.warm(&id(named));
    }
    let why = models.get(&id("openai/gpt-6.1-sol")).err().unwrap().to_string();
    assert!(why.contains("base URL nowhere of openai"), "{why}");
    let only = models.only(std::sync::Arc::new(Pilot::new()));
    only.warm(&id("openai/gpt-6.1-sol"));
    assert!(only.get(&id("openai/gpt-6.1-sol")).is_ok());
}
