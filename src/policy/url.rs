//! A connection string of a policy.

use super::environment::expand;
use super::error::{At, Findings, Span};
use super::given::Given;
use super::reader::Section;
use super::server_url::ServerUrl;
use std::str::FromStr;

/// A connection string, and the user it names.
pub(super) fn url(
    section: &Section<'_, '_>,
    key: &str,
    user: &str,
    f: &mut Findings,
) -> Option<(At<Given<String>>, Option<String>)> {
    let example = format!("{key} = \"postgres://{user}@127.0.0.1/bikes\"");
    let url = section.required_string(key, &example, f)?;
    let url = expand(key, url, f)?;
    match ServerUrl::from_str(url.value.reveal()) {
        Ok(ServerUrl { config, .. }) if !url.value.keeps_its_parts(&config) => {
            leaves_its_part(key, &url.span, f);
            None
        }
        Ok(ServerUrl { config, .. }) if !config.get_hosts().is_empty() => {
            let user = config.get_user().map(str::to_owned);
            Some((url, user))
        }
        // The text is not repeated: it may hold a password.
        unusable => {
            let why = unusable.err().unwrap_or_else(|| "it names no host".into());
            let what = format!("{key} is no use: {why}");
            f.error(&url.span, what, format!("write for example: {example}"));
            None
        }
    }
}

/// A variable of a URL is more than the part of it in which it stands. What it says is not repeated, and not looked up.
pub(super) fn leaves_its_part(key: &str, span: &Span, f: &mut Findings) {
    let hint =
        "percent-encode the variable's value (@ is %40, / is %2F), or put the password into password_file";
    f.error(
        span,
        format!("{key}: the value of a variable ends the part of the URL in which it stands"),
        hint,
    );
}
