//! Which model does what: how it is written, what is refused, and what an untrusted workspace may not say.

use tillerman::config::Cast;

use super::{Scene, front, origin};

/// Who is named, as `setting provider/model place`.
fn cast(scene: &Scene) -> Vec<String> {
    let line = |named: &tillerman::config::Named| {
        format!("{} {} {}", named.key, named.id, scene.short(&named.from.to_string()))
    };
    scene.config().cast.all().map(line).collect()
}

#[test]
fn nobody_is_named_until_a_person_names_somebody() {
    assert_eq!(Scene::new().config().cast, Cast::default());
}

#[test]
fn every_part_is_read_like_the_model_of_the_main_agent() {
    let settings = "worker_model: anthropic/claude-x\ncompaction_model: openai\ntitle_model: claude-haiku-5-5\n\
                    fallback: [openrouter/z-ai/glm-5, openai]";
    let scene = Scene::new().trusted().file("ws/config.md", &front(settings));
    let expected = [
        "worker_model anthropic/claude-x ws/config.md line 2",
        "compaction_model openai/gpt-6.1-sol ws/config.md line 3",
        "title_model anthropic/claude-haiku-5-5 ws/config.md line 4",
        "fallback openrouter/z-ai/glm-5 ws/config.md line 5",
        "fallback openai/gpt-6.1-sol ws/config.md line 5",
    ];
    assert_eq!(cast(&scene), expected);
    assert_eq!(origin(&scene, "fallback").0, "openrouter/z-ai/glm-5, openai");
}

#[test]
fn the_environment_names_them_too_and_wins_over_files() {
    let scene = Scene::new()
        .file("home/config.yaml", "worker_model: openai\n")
        .env("TILLERMAN_WORKER_MODEL", "anthropic/claude-x")
        .env("TILLERMAN_FALLBACK", "openai/a, anthropic/b");
    let expected = [
        "worker_model anthropic/claude-x TILLERMAN_WORKER_MODEL",
        "fallback openai/a TILLERMAN_FALLBACK",
        "fallback anthropic/b TILLERMAN_FALLBACK",
    ];
    assert_eq!(cast(&scene), expected);
}

#[test]
fn a_model_that_does_not_exist_is_refused_with_its_place() {
    for key in ["worker_model", "compaction_model", "title_model", "fallback"] {
        let error = Scene::new().file("home/config.yaml", &format!("workers: 1\n{key}: antropic/x\n")).error();
        assert!(
            error.contains("did you mean anthropic?") && error.ends_with("(asked for in home/config.yaml line 2)"),
            "{error}"
        );
    }
    let table = [
        (
            "worker_model: 3",
            "worker_model is 3 in home/config.yaml line 1; it must be text like anthropic or claude-haiku-5-5",
        ),
        (
            "fallback: 3",
            "fallback is 3 in home/config.yaml line 1; it must be a list of up to 4 models, like [openai, \
             openrouter/z-ai/glm-5]",
        ),
        (
            "fallback: [openai/1, openai/2, openai/3, openai/4, openai/5]",
            "fallback is openai/1, openai/2, openai/3, openai/4, openai/5 in home/config.yaml line 1; it must be a \
             list of up to 4 models, like [openai, openrouter/z-ai/glm-5]",
        ),
    ];
    for (line, expected) in table {
        assert_eq!(Scene::new().file("home/config.yaml", line).error(), expected);
    }
}

/// S2-52.
#[test]
fn a_conversation_is_named_by_a_language_model_or_not_at_all() {
    let namer = |settings: &str| {
        let config = Scene::new().file("home/config.yaml", settings).config();
        config.namer().map(ToString::to_string)
    };
    let table = [
        ("model: openai/gpt-x", Some("openai/gpt-x")),
        ("model: openai/gpt-x\ntitle_model: anthropic/claude-x", Some("anthropic/claude-x")),
        ("model: openai/gpt-x\ntitle_model: anthropic/claude-x\ntitles: off", None),
        ("model: pilot", None),
        ("model: scripted/x.json", None),
        ("model: pilot\ntitle_model: scripted/x.json\ntitles: on", Some("scripted/x.json")),
    ];
    for (settings, expected) in table {
        assert_eq!(namer(settings).as_deref(), expected, "{settings}");
    }
    let error = Scene::new().file("home/config.yaml", "titles: perhaps").error();
    assert_eq!(error, "titles is perhaps in home/config.yaml line 1; it must be true or false");
}

/// They send the conversation elsewhere, and cost what the person did not choose.
#[test]
fn a_workspace_that_nobody_trusts_names_none_of_them() {
    let settings = "worker_model: openai\ncompaction_model: openai\ntitle_model: openai\nfallback: [openai]";
    let scene = Scene::new().file("ws/config.md", &front(settings));
    assert_eq!(scene.config().cast, Cast::default());
    let warning = "worker_model, compaction_model, title_model, fallback in ws/config.md ignored: this workspace is not \
                   trusted yet; use --trust once you have read it";
    assert_eq!(scene.warnings(), [warning]);
}

#[test]
fn whoever_is_named_and_cannot_be_had_is_told_with_what_follows() {
    let settings = "worker_model: anthropic\ncompaction_model: openai\ntitle_model: openai\nfallback: [deepseek/deepseek-x, openai]";
    let scene = Scene::new().file("home/config.yaml", settings).env("OPENAI_API_KEY", "sk-x");
    let absent = |scene: &Scene| {
        let config = scene.config();
        config.cast.absent(&config.models).iter().map(|line| scene.short(line)).collect::<Vec<_>>()
    };
    let worker = "worker_model anthropic/claude-sonnet-5-5 in home/config.yaml line 1: anthropic needs a key; set \
                  ANTHROPIC_API_KEY; until then tasks that name no other model are refused";
    let stand_in = "fallback deepseek/deepseek-x in home/config.yaml line 4: deepseek needs a key; set \
                    DEEPSEEK_API_KEY; until then it does not stand in";
    assert_eq!(absent(&scene), [worker, stand_in]);
    let scene = scene.env("ANTHROPIC_API_KEY", "sk-y").env("DEEPSEEK_API_KEY", "sk-z");
    assert_eq!(absent(&scene), [""; 0]);
}
