//! Columns that look like they name a person directly, by their names and types. A guess, and only ever towards hiding.

use schema::{Column, SqlType};

/// What one of these words says of a column.
const WORDS: &[(&[&str], &str)] = &[
    (&["email", "mail"], "an e-mail address"),
    (&["phone", "mobile", "telephone", "tel", "cell", "fax", "msisdn"], "a telephone number"),
    (&["address", "addr", "street"], "an address"),
    (&["ip", "ipaddr", "ipaddress", "mac", "imei", "imsi", "udid"], "the address of a device"),
    (
        &["ssn", "sin", "nino", "passport", "licence", "license", "iban", "pan", "vin", "nhs", "mrn"],
        "an official number",
    ),
    (&["password", "passwd", "pwd", "secret", "token", "cookie", "session", "hash", "apikey"], "a secret"),
    (&["firstname", "lastname", "surname", "fullname", "username", "nickname", "login", "handle"], "a name"),
    (&["photo", "avatar", "picture", "selfie", "signature"], "a picture"),
    (&["latitude", "longitude", "lat", "lon", "lng", "gps", "geolocation"], "a place"),
];

/// Words that make a name a person's.
const PERSONS: &[&str] = &[
    "first", "last", "middle", "full", "given", "family", "maiden", "sur", "nick", "display", "user",
    "contact", "customer", "client", "patient", "person", "employee", "rider", "driver", "holder", "owner",
    "member", "guest", "student", "legal", "real",
];

/// Words of text that people write themselves.
const FREE: &[&str] = &[
    "comment",
    "comments",
    "note",
    "notes",
    "description",
    "message",
    "body",
    "text",
    "remark",
    "remarks",
    "memo",
    "bio",
    "content",
    "feedback",
    "review",
    "details",
    "reason",
    "complaint",
];

/// Pairs of words that say it only together.
const PAIRS: &[(&str, &str, &str)] = &[
    ("e", "mail", "an e-mail address"),
    ("api", "key", "a secret"),
    ("card", "number", "an official number"),
    ("card", "no", "an official number"),
    ("account", "number", "an official number"),
    ("tax", "id", "an official number"),
    ("national", "id", "an official number"),
    ("device", "id", "the address of a device"),
];

/// Lower-case words of a name in snake_case, camelCase or with spaces.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let starts = c.is_uppercase() && before.is_lowercase();
        if !c.is_alphanumeric() || starts {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|w| !w.is_empty());
    words
}

/// Words for what the column seems to hold, when it is something to hide.
pub(super) fn looks_like(c: &Column) -> Option<&'static str> {
    let text = c.ty.is_text() || c.ty == SqlType::Bpchar || matches!(c.ty, SqlType::Other { .. });
    let address = match &c.ty {
        SqlType::Inet | SqlType::Cidr => true,
        SqlType::Other { name, .. } => name.rsplit('.').next().is_some_and(|n| n.starts_with("macaddr")),
        _ => false,
    };
    if address {
        return Some("the address of a device");
    }
    // A flag, a label, a date: not an identifier, whatever it is called.
    if !(text || c.ty.is_number() || c.ty == SqlType::Uuid) {
        return None;
    }
    let words = words(&c.name);
    let has = |list: &[&str]| words.iter().any(|w| list.contains(&w.as_str()));
    if let Some((_, what)) = WORDS.iter().find(|(list, _)| has(list)) {
        return Some(what);
    }
    let pair = |a: &str, b: &str| words.windows(2).any(|w| matches!(w, [x, y] if x == a && y == b));
    if let Some((_, _, what)) = PAIRS.iter().find(|(a, b, _)| pair(a, b)) {
        return Some(what);
    }
    if !text {
        return None;
    }
    // Prefixes of one letter or two are the table's, as in c_name.
    let rest: Vec<&String> = words.iter().filter(|w| *w != "name" && w.len() > 2).collect();
    if has(&["name"]) && rest.iter().all(|w| PERSONS.contains(&w.as_str())) {
        return Some("a name");
    }
    has(FREE).then_some("free text, in which anything may stand")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(name: &str, ty: SqlType) -> Option<&'static str> {
        looks_like(&Column {
            name: name.into(),
            attnum: 1,
            ty,
            numeric_precision: None,
            virtual_expression: false,
            not_null: false,
            deterministic_collation: true,
            enum_labels: None,
        })
    }

    #[test]
    fn direct_identifiers_are_seen() {
        for name in [
            "email",
            "c_name",
            "c_address",
            "c_phone",
            "c_comment",
            "firstName",
            "Full Name",
            "E-Mail",
            "customer_name",
            "ip_address",
            "password_hash",
            "cardNumber",
            "note",
            "name",
            "homeAddress",
        ] {
            assert!(looks(name, SqlType::Text).is_some(), "{name}");
        }
        assert_eq!(looks("ssn", SqlType::Int8), Some("an official number"));
        assert!(looks("anything", SqlType::Inet).is_some());
        assert!(looks("anything", SqlType::Other { oid: 829, name: "pg_catalog.macaddr".into() }).is_some());
    }

    #[test]
    fn others_are_not() {
        for name in [
            "plan",
            "city",
            "station",
            "o_clerk",
            "product_name",
            "o_orderstatus",
            "shipmode",
            "zip",
            "hotel",
        ] {
            assert_eq!(looks(name, SqlType::Text), None, "{name}");
        }
        assert_eq!(looks("email_verified", SqlType::Bool), None);
        assert_eq!(looks("comments", SqlType::Int4), None, "a number of them");
        assert_eq!(looks("name_changed", SqlType::Date), None);
    }
}
