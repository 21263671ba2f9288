//! Which model is meant, and what stands in its way.

use std::sync::Arc;

use tillerman::model::Model;
use tillerman::model::catalog::{Models, NoModel};
use tillerman::model::pilot::Pilot;
use tillerman::model::retry::Retry;

use super::talk::id_of;

fn models(env: &[(&str, &str)]) -> Models {
    let value = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Models::from_env(&value).unwrap()
}

fn refusal(models: &Models, id: &str) -> String {
    models.get(&id_of(id)).err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn the_first_hit_wins_and_says_why() {
    let keys = models(&[("DEEPSEEK_API_KEY", "k"), ("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "")]);
    let cases = [
        (&keys, Some("gemini"), Some("xai"), "gemini/gemini-3.8-flash", "named on the command line"),
        (&keys, Some("openrouter/z-ai/glm-5.3"), None, "openrouter/z-ai/glm-5.3", "named on the command line"),
        (&keys, None, Some("claude-opus-5-5"), "anthropic/claude-opus-5-5", "named in the configuration"),
        (&keys, None, Some("scripted/tests/a.json"), "scripted/tests/a.json", "named in the configuration"),
        (&keys, None, None, "openai/gpt-6.1-sol", "OPENAI_API_KEY is set"),
        (
            &models(&[("DEEPSEEK_API_KEY", "k"), ("DEEPSEEK_MODEL", "deepseek-flash"), ("GROQ_MODEL", "x")]),
            None,
            None,
            "deepseek/deepseek-flash",
            "DEEPSEEK_API_KEY is set, DEEPSEEK_MODEL too",
        ),
        (&models(&[("XAI_MODEL", "grok-9")]), Some("xai"), None, "xai/grok-9", "named on the command line"),
        (&models(&[("GOOGLE_API_KEY", "k")]), None, None, "gemini/gemini-3.8-flash", "GOOGLE_API_KEY is set"),
        (
            &models(&[]),
            None,
            None,
            "pilot/pilot",
            "no key in the environment; the pilot is built in and no language model",
        ),
    ];
    for (models, flag, config, id, why) in cases {
        let choice = models.choose(flag, config).unwrap();
        assert_eq!((choice.id.to_string().as_str(), choice.why.as_str()), (id, why));
    }
}

#[test]
fn what_cannot_be_had_says_what_to_do() {
    let models =
        models(&[("OPENAI_API_KEY", "two\nlines"), ("GROQ_BASE_URL", "groq.example/v1"), ("GROQ_API_KEY", "k")]);
    assert_eq!(refusal(&models, "anthropic/x"), "anthropic needs a key; set ANTHROPIC_API_KEY");
    assert_eq!(refusal(&models, "gemini/x"), "gemini needs a key; set GEMINI_API_KEY or GOOGLE_API_KEY");
    let unfit = refusal(&models, "openai/x");
    assert!(unfit.starts_with("the key in OPENAI_API_KEY holds a newline") && !unfit.contains("two"), "{unfit}");
    let url = refusal(&models, "groq/x");
    assert!(url.starts_with("base URL groq.example/v1 of groq does not begin with http:// or https://"), "{url}");
    let unknown = refusal(&models, "antropic/x");
    assert!(
        unknown.starts_with("no provider antropic (did you mean anthropic?); known are anthropic, openai, "),
        "{unknown}"
    );
    assert!(!refusal(&models, "something-else/x").contains("did you mean"));
    assert!(refusal(&models, "scripted/no/such/file.json").contains("no/such/file.json"));
    assert_eq!(
        models.read("ollama").unwrap_err(),
        NoModel::NoDefault { provider: "ollama".to_owned(), why: String::new() }
    );
    assert_eq!(models.read("gpt").unwrap_err(), NoModel::NotAModel("gpt".to_owned()));
    let url = models.with_base_url("openai", "ftp://x").err().map(|e| e.to_string()).unwrap_or_default();
    assert!(url.contains("ftp://x of openai does not begin with"), "{url}");
}

/// What is copied from an example of a call still finds the server, and that is said.
#[test]
fn an_address_with_the_path_of_a_call_is_cut_to_the_server() {
    let cases = [
        ("OPENAI_BASE_URL", "https://gate.example/v1/chat/completions", "https://gate.example/v1", "/chat/completions"),
        ("OPENAI_BASE_URL", "https://gate.example/v1/responses/", "https://gate.example/v1", "/responses"),
        ("ANTHROPIC_BASE_URL", "https://gate.example/v1/messages", "https://gate.example", "/v1/messages"),
        ("XAI_BASE_URL", "http://127.0.0.1:9/v1/models", "http://127.0.0.1:9/v1", "/models"),
    ];
    for (variable, written, url, tail) in cases {
        let models = models(&[(variable, written)]);
        let provider = variable.trim_end_matches("_BASE_URL").to_lowercase();
        let choice = models.choose(Some(&provider), None).unwrap();
        let shelf = models.shelves(&choice).into_iter().find(|shelf| shelf.standing.chosen).unwrap();
        assert_eq!(shelf.base_url, url);
        let written = written.trim_end_matches('/');
        let note = format!("base URL {written} of {provider}: {tail} cut off, for it is added to each call");
        assert!(models.notes().contains(&note), "{:?}", models.notes());
    }
    assert_eq!(models(&[("OPENAI_BASE_URL", "https://gate.example/v1/")]).notes(), [""; 0]);
    let query = refusal(&models(&[("XAI_BASE_URL", "https://x.example/v1?key=1"), ("XAI_API_KEY", "k")]), "xai/x");
    assert!(query.starts_with("base URL https://x.example/v1?key=1 of xai has a query or a fragment"), "{query}");
}

#[test]
fn a_name_that_is_almost_one_that_is_known_is_doubted_and_others_are_not() {
    let models = models(&[]);
    let doubt = |id: &str| models.doubt(&id_of(id));
    let said =
        "claude-sonet-5-5 is in no list of anthropic; near are claude-sonnet-5-5, claude-sonnet-4-6, claude-sonnet-5";
    assert_eq!(doubt("anthropic/claude-sonet-5-5").as_deref(), Some(said));
    for id in
        ["anthropic/claude-sonnet-5-5", "anthropic/something-new", "ollama/qwen", "pilot/pilot", "scripted/a.json"]
    {
        assert_eq!(doubt(id), None, "{id}");
    }
}

#[test]
fn what_surrounds_a_key_is_not_part_of_it() {
    assert_eq!(refusal(&models(&[("XAI_API_KEY", " sk-1234\n")]), "xai/x"), "");
    assert_eq!(refusal(&models(&[("XAI_API_KEY", "  ")]), "xai/x"), "xai needs a key; set XAI_API_KEY");
}

/// Every provider says why it was or was not taken.
#[test]
fn every_provider_has_a_reason() {
    let models = models(&[
        ("DEEPSEEK_API_KEY", "k"),
        ("GROQ_API_KEY", "k"),
        ("XAI_API_KEY", "two words"),
        ("MISTRAL_BASE_URL", "mistral.example"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
    ]);
    let choice = models.choose(None, None).unwrap();
    let standings = models.standings(&choice);
    let seen = |id: &str| {
        let standing = standings.iter().find(|standing| standing.provider == id).unwrap();
        (standing.usable, standing.chosen, standing.why.as_str())
    };
    assert_eq!(seen("deepseek"), (true, true, "DEEPSEEK_API_KEY is set"));
    assert_eq!(seen("groq"), (true, false, "GROQ_API_KEY is set; deepseek/deepseek-v4-pro goes before it"));
    assert_eq!(seen("gemini"), (false, false, "GEMINI_API_KEY or GOOGLE_API_KEY is not set"));
    assert_eq!(seen("ollama"), (false, false, "not looked for"));
    let open = "needs no key at http://127.0.0.1:9/v1; deepseek/deepseek-v4-pro goes before it";
    assert_eq!(seen("openai"), (true, false, open));
    assert!(seen("xai").2.starts_with("the key in XAI_API_KEY holds a newline"), "{:?}", seen("xai"));
    assert!(
        seen("mistral").2.starts_with("base URL mistral.example of mistral does not begin"),
        "{:?}",
        seen("mistral")
    );
    assert_eq!(standings.len(), models.providers().count());
}

#[test]
fn servers_on_this_machine_need_no_key() {
    let models = models(&[("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), ("VLLM_BASE_URL", "http://gpu.lan:8000/v1")]);
    for id in ["ollama/qwen", "lmstudio/x", "llamacpp/x", "openai/local", "vllm/x", "pilot/pilot"] {
        assert_eq!(refusal(&models, id), "", "{id}");
    }
    assert_eq!(refusal(&models, "xai/x"), "xai needs a key; set XAI_API_KEY");
    let local = models.with_base_url("xai", "http://localhost:9").unwrap();
    assert_eq!(refusal(&local, "xai/x"), "");
}

#[test]
fn an_own_model_goes_before_a_provider() {
    let own: Arc<dyn Model> = Arc::new(Retry::new(Arc::new(Pilot::new())));
    let models = models(&[]).with(own.clone());
    assert!(Arc::ptr_eq(&models.get(&id_of("pilot/pilot")).unwrap(), &own));
}

#[test]
fn one_id_gives_one_instance_and_no_key_is_shown() {
    let models = models(&[("ANTHROPIC_API_KEY", "sk-canary-1")]);
    let id = id_of("anthropic/claude-sonnet-5-5");
    assert!(Arc::ptr_eq(&models.get(&id).unwrap(), &models.clone().get(&id).unwrap()));
    assert_eq!(models.key_variable("anthropic"), Some("ANTHROPIC_API_KEY"));
    assert!(!format!("{models:?}").contains("canary"));
}
