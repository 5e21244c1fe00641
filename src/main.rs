//! The `noisegate` program: dispatch only.

/// glibc's allocator keeps what a burst of clients took; this one gives it back within a second or two, by a thread of its own
/// (.cargo/config.toml says when).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    noisegate::cli::main()
}
