//! Keys of sections: declared once, beside the code that reads them. Unknown keys are refused by
//! these lists, and the tables of docs/policy.md are printed from them.

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// As it stands in the policy.
    pub name: &'static str,
    /// Type of the value.
    pub ty: &'static str,
    /// The default: a value as the policy would write it, or words for what has none.
    pub default: &'static str,
    /// A value that is accepted, as the policy would write it.
    pub example: &'static str,
    /// Purpose, in a sentence.
    pub purpose: &'static str,
}

impl Key {
    /// A key by its name, with what its value is, its default and an example.
    pub(super) const fn of(
        name: &'static str,
        ty: &'static str,
        default: &'static str,
        example: &'static str,
    ) -> Self {
        Self { name, ty, default, example, purpose: "" }
    }

    /// The key with its purpose.
    pub(super) const fn says(self, purpose: &'static str) -> Self {
        Self { purpose, ..self }
    }
}

/// The keys of a section.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// The section, as the document calls it.
    pub section: &'static str,
    /// In the order of the document.
    pub list: &'static [Key],
    /// Keys that are part of the design and refused by name.
    pub later: &'static [&'static str],
}

/// A key that has to be there.
pub(super) const REQUIRED: &str = "required";

impl Keys {
    /// Names of the keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.list.iter().map(|k| k.name)
    }

    /// The table of the document.
    pub fn table(&self) -> String {
        let mut out = String::from("| key | type | default | purpose | example |\n|---|---|---|---|---|\n");
        for k in self.list {
            let code = |text: &str| format!("`{}`", text.replace('|', "\\|"));
            let default = if is_value(k.default) { code(k.default) } else { k.default.to_owned() };
            let example = if k.example.is_empty() { String::new() } else { code(k.example) };
            out.push_str(&format!(
                "| {} | {} | {default} | {} | {example} |\n",
                code(k.name),
                k.ty,
                k.purpose.replace('|', "\\|")
            ));
        }
        out
    }
}

/// Whether a default is a value, and not words.
pub fn is_value(default: &str) -> bool {
    format!("x = {default}").parse::<toml::Table>().is_ok()
}
