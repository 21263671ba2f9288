//! Completions and manual pages: made of the same tree as the help, and read by the programs that they are for.

use std::fs;
use std::process::Command;

use super::Place;

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn every_shell_reads_its_completions_and_bash_completes_a_command() {
    let place = Place::new();
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "-n"), ("powershell", ""), ("elvish", "")] {
        let done = place.tillerman(&["completions", shell]);
        assert!(done.code == Some(0) && done.stdout.contains("tillerman"), "{shell} {}", done.stderr);
        let file = place.path().join(shell);
        fs::write(&file, done.stdout).unwrap();
        if !check.is_empty() && is_there(shell) {
            let read = Command::new(shell).arg(check).arg(&file).output().unwrap();
            assert!(read.status.success(), "{shell}: {}", String::from_utf8_lossy(&read.stderr));
        }
    }
    if is_there("bash") {
        let asks = "source ./bash; COMP_WORDS=(tillerman ta); COMP_CWORD=1; _tillerman tillerman ta tillerman; echo \"${COMPREPLY[@]}\"";
        let said = Command::new("bash").args(["--norc", "-c", asks]).current_dir(place.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "tasks\n", "{}", String::from_utf8_lossy(&said.stderr));
    }
    let slip = place.tillerman(&["completions", "bsh"]);
    assert!(slip.code == Some(2) && slip.stderr.contains("'bash'"), "{}", slip.stderr);
}

#[test]
fn the_manual_has_a_page_for_every_command_with_its_examples() {
    let place = Place::new();
    let all = place.tillerman(&["man"]).stdout;
    assert!(all.starts_with(".ie") || all.contains(".TH TILLERMAN 1"), "{}", &all[..200]);
    let done = place.tillerman(&["man", "pages"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let names: Vec<String> = fs::read_dir(place.path().join("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.contains(&"tillerman.1".into()) && names.contains(&"tillerman-sessions-trash-empty.1".into()),
        "{names:?}"
    );
    assert!(done.stdout.contains(&format!("{} pages", names.len())));
    let steer = fs::read_to_string(place.path().join("pages/tillerman-tasks-steer.1")).unwrap();
    assert!(steer.contains(".SH \"EXAMPLES\"") && steer.contains("tillerman tasks steer t_001"), "{steer}");
    let main = fs::read_to_string(place.path().join("pages/tillerman.1")).unwrap();
    assert!(
        main.contains("EXIT STATUS") && main.contains("provider\\-down") && main.contains("TILLERMAN_HOME"),
        "{main}"
    );
    if is_there("man") {
        let page = place.path().join("pages/tillerman-run.1");
        let read = Command::new("man")
            .args(["--warnings", "-l"])
            .arg(page)
            .env("MANWIDTH", "80")
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap();
        let (shown, said) = (String::from_utf8_lossy(&read.stdout), String::from_utf8_lossy(&read.stderr));
        assert!(shown.contains("git diff | tillerman run \"review\" -") && said.is_empty(), "{shown}\n{said}");
    }
    fs::write(place.path().join("taken"), "a file").unwrap();
    let slip = place.tillerman(&["man", "taken"]);
    assert!(
        slip.code == Some(1) && slip.stderr.contains("cannot write taken") && slip.stderr.contains("name another"),
        "{slip:?}"
    );
}
