//! The `noisegate` program: dispatch only.

fn main() -> std::process::ExitCode {
    noisegate::cli::main()
}
