//! What shells and `man` get from the program: completions and manual pages, of every command that people see.

use crate::support::{NOISEGATE, Output, run};
use tokio::process::Command;

async fn noisegate(args: &[&str]) -> Output {
    let mut command = Command::new(NOISEGATE);
    command.args(args);
    run(command, "").await
}

/// The commands that help lists.
async fn commands(of: &[&str]) -> Vec<String> {
    let help = noisegate(&[of, &["--help"]].concat()).await.stdout;
    let listed = help.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| l.starts_with("  "));
    let names = listed.filter(|l| !l.starts_with("   ")).filter_map(|l| l.split_whitespace().next());
    let names: Vec<String> = names.filter(|n| *n != "help").map(str::to_owned).collect();
    assert!(names.len() > 5, "{help}");
    names
}

#[tokio::test]
async fn bash_completes_commands_and_options() {
    let complete = |words: &str, at: usize| {
        let script = format!(
            "source /dev/stdin; COMP_WORDS=({words}); COMP_CWORD={at}
             _noisegate noisegate \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{at} - 1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        async move {
            let mut bash = Command::new("bash");
            bash.args(["-c", &script]);
            let out = run(bash, &noisegate(&["completions", "bash"]).await.stdout).await;
            assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
            out.stdout.trim().to_owned()
        }
    };
    assert_eq!(complete("noisegate bud", 1).await, "budget");
    assert_eq!(complete("noisegate budget ver", 2).await, "verify");
    assert_eq!(complete("noisegate serve --po", 2).await, "--policy");
    assert_eq!(complete("noisegate completions zs", 2).await, "zsh");
}

#[tokio::test]
async fn every_shell_knows_every_command_and_none_that_is_hidden() {
    let commands = commands(&[]).await;
    for (shell, first) in [("zsh", "#compdef noisegate"), ("fish", "# "), ("bash", "_noisegate() {")] {
        let out = noisegate(&["completions", shell]).await;
        assert!(out.status.success() && out.stdout.starts_with(first), "{shell}: {}", out.stdout);
        for command in &commands {
            assert!(out.stdout.contains(command), "{command} for {shell}");
        }
    }
    let refused = noisegate(&["completions", "cmd.exe"]).await;
    assert!(refused.stderr.contains("possible values: bash"), "{refused:?}");
}

#[tokio::test]
async fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("man1");
    let out = noisegate(&["man", "--directory", to.to_str().unwrap()]).await;
    assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
    let mut pages = vec!["noisegate".to_owned()];
    pages.extend(commands(&[]).await.iter().map(|c| format!("noisegate-{c}")));
    pages.extend(commands(&["budget"]).await.iter().map(|c| format!("noisegate-budget-{c}")));
    for page in &pages {
        let text = std::fs::read_to_string(to.join(format!("{page}.1"))).unwrap_or_default();
        assert!(text.contains(".TH ") && text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    let serve = std::fs::read_to_string(to.join("noisegate-serve.1")).unwrap();
    assert!(serve.contains("\\-\\-policy") && serve.contains("a folder of policies"), "{serve}");
    let all = std::fs::read_dir(&to).unwrap().count();
    assert_eq!(
        all,
        std::fs::read_dir(&to)
            .unwrap()
            .filter(|f| {
                let name = f.as_ref().unwrap().file_name().into_string().unwrap();
                !name.contains("watchdog") && !name.contains("postgres-copy")
            })
            .count(),
        "what is hidden has none"
    );
    // Where the reader is installed, it finds nothing wrong with them.
    if std::process::Command::new("mandoc").arg("-V").output().is_ok() {
        let mut lint = Command::new("mandoc");
        lint.args(["-T", "lint", "-W", "error"]).args(pages.iter().map(|p| to.join(format!("{p}.1"))));
        assert!(run(lint, "").await.status.success());
    }
    let refused = noisegate(&["man", "--directory", "/proc/nowhere"]).await;
    assert!(refused.stderr.contains("cannot write to /proc/nowhere"), "{refused:?}");
}
