#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use super::*;
use dp::randomised::Report;
use dp::{Entropy, EntropyError};
use hpke::Deserializable;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The same bits for the same seed.
struct Seeded(ChaCha20Rng);

impl Entropy for Seeded {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        Ok(self.0.next_u64())
    }
}

fn seeded(seed: u64) -> Seeded {
    Seeded(ChaCha20Rng::seed_from_u64(seed))
}

const COLUMNS: &str = r#"[
    {"name": "answer", "kind": "categorical", "values": ["yes", "no", "rather not"], "missing": true, "epsilon": "1"},
    {"name": "smokes", "kind": "boolean", "epsilon": "1/2"},
    {"name": "visits", "kind": "count", "range": ["-1", "10"], "randomiser": "hadamard", "epsilon": "0.25"},
    {"name": "hours", "kind": "number", "range": ["0", "24"], "grid": "0.5", "epsilon": "2"},
    {"name": "pets", "kind": "set", "values": ["cat", "dog", "other"], "max_values": 2, "other": "other", "randomiser": "unary", "epsilon": "1"}
]"#;

fn keys() -> (ShufflerKey, AnalyserKey) {
    (ShufflerKey::generate(&mut seeded(1)).unwrap(), AnalyserKey::generate(&mut seeded(2)).unwrap())
}

fn described(columns: &str) -> String {
    let (shuffler, analyser) = keys();
    let (shuffler, analyser) = (shuffler.public(), analyser.public());
    format!(
        r#"{{"collection": "survey", "shuffler_key": "{shuffler}", "analyser_key": "{analyser}", "columns": {columns}}}"#
    )
}

fn survey() -> Collection {
    Collection::parse(&described(COLUMNS)).unwrap()
}

const GIVEN: [Answer<'static>; 5] = [
    Answer::One("no"),
    Answer::One("t"),
    Answer::One("7"),
    Answer::One("7.75"),
    Answer::Several(&["dog", "cat"]),
];

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// RFC 9180, A.2.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305, base mode, the second message of which has
/// another nonce; the first is with additional data, which we have none of, so it must open with that and not without.
#[test]
fn the_suite_is_that_of_the_rfc() {
    let key = bytes("8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb");
    let enc = bytes("1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a");
    let info = bytes("4f6465206f6e2061204772656369616e2055726e");
    let cipher =
        bytes("1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28");
    let key = suite::SecretKey::from_bytes(&key).unwrap();
    let encapped = Deserializable::from_bytes(&enc).unwrap();
    let plain = hpke::single_shot_open::<hpke::aead::ChaCha20Poly1305, hpke::kdf::HkdfSha256, suite::Suite>(
        &hpke::OpModeR::Base,
        &key,
        &encapped,
        &info,
        &cipher,
        b"Count-0",
    );
    assert_eq!(plain.unwrap(), b"Beauty is truth, truth beauty");
    assert_eq!(seal::open(&key, &info, &[enc, cipher].concat()), Err(OpenError::Key));
}

/// What is sealed is what the randomisers said: the same bits, used for randomisers alone, give the same reports.
#[test]
fn what_is_opened_is_what_was_randomised() {
    let (shuffler, analyser) = keys();
    let survey = survey();
    for seed in 0..50 {
        let message = survey.encode(&GIVEN, "app 7", &mut seeded(seed)).unwrap();
        let opened = shuffler.open(&survey, &Message::parse(&message.line()).unwrap()).unwrap();
        assert_eq!(opened.group, survey.group("app 7"));
        let reports = analyser.open(&survey, &Sealed::from_bytes(opened.sealed.bytes())).unwrap();
        let mut rng = seeded(seed);
        let expected: Vec<Report> =
            survey.columns().iter().zip(GIVEN).map(|(c, a)| c.randomise(a, &mut rng).unwrap()).collect();
        assert_eq!(reports, expected);
    }
}

/// Estimates from opened reports are the answers' counts, within five of their deviations.
#[test]
fn reports_give_the_counts_back() {
    let (shuffler, analyser) = keys();
    let survey = survey();
    let mut rng = seeded(3);
    let (n, every) = (1500u32, 3);
    let (mut yes, mut dogs, mut hours) = (0u64, 0u64, 0.0);
    for i in 0..n {
        let answer = if i % every == 0 { Answer::One("yes") } else { Answer::Missing };
        let pets: &[&str] = if i % every == 0 { &["dog", "a horse"] } else { &[] };
        let given = [answer, Answer::One("false"), Answer::One("3"), Answer::One("6"), Answer::Several(pets)];
        let message = survey.encode(&given, "", &mut rng).unwrap();
        let sealed = shuffler.open(&survey, &message).unwrap().sealed;
        let reports = analyser.open(&survey, &sealed).unwrap();
        let [Randomiser::Oracle(answer), _, _, Randomiser::Mean(mean), Randomiser::Sets(pets)] =
            survey.columns().iter().map(Column::randomiser).collect::<Vec<_>>()[..]
        else {
            panic!("the columns are as described")
        };
        yes += u64::from(answer.supports(&reports[0], 0));
        dogs += u64::from(pets.oracle().supports(&reports[4], 1));
        let Report::Symbol(symbol) = reports[3] else { panic!("a number's report is a symbol") };
        hours += mean.estimate(symbol) / 2.0;
    }
    let truth = u64::from(n / every);
    let (n, columns) = (u64::from(n), survey.columns());
    let (Randomiser::Oracle(answer), Randomiser::Mean(mean), Randomiser::Sets(pets)) =
        (columns[0].randomiser(), columns[3].randomiser(), columns[4].randomiser())
    else {
        panic!("the columns are as described")
    };
    assert_eq!(answer.values(), 4);
    let off = |estimate: f64, deviation: f64| (estimate - truth as f64).abs() < 5.0 * deviation;
    assert!(off(answer.estimate(yes, n), answer.deviation(n, truth)));
    assert!(off(pets.estimate(dogs, n), pets.deviation(n, truth)));
    assert!((hours / n as f64 - 6.0).abs() < 5.0 * (mean.variance(12) / n as f64).sqrt() / 2.0);
}

/// Every message is as long as every other, whatever was answered.
#[test]
fn all_messages_have_one_length() {
    let survey = survey();
    let mut rng = seeded(4);
    let other = [Answer::Missing, Answer::One("0"), Answer::One("-1"), Answer::One("24"), Answer::Missing];
    for given in [GIVEN, other] {
        for group in ["", "a long label of some group"] {
            let message = survey.encode(&given, group, &mut rng).unwrap();
            assert_eq!(message.bytes().len(), survey.message_len());
        }
    }
    // Four symbols and a byte of bits; version, digest; two layers; id and group.
    assert_eq!(survey.message_len(), 17 + 9 + 2 * 48 + 32);
}

#[test]
fn what_was_changed_or_is_anothers_does_not_open() {
    let (shuffler, analyser) = keys();
    let survey = survey();
    let message = survey.encode(&GIVEN, "", &mut seeded(5)).unwrap();
    for place in 0..message.bytes().len() {
        let mut bytes = message.bytes().to_vec();
        bytes[place] ^= 1;
        let expected = if place < 9 { OpenError::Collection } else { OpenError::Key };
        assert_eq!(shuffler.open(&survey, &Message::from_bytes(&bytes)), Err(expected), "{place}");
    }
    let short = Message::from_bytes(&message.bytes()[1..]);
    assert_eq!(shuffler.open(&survey, &short), Err(OpenError::Length));
    assert_eq!(Message::parse("not base64!"), Err(OpenError::Length));
    let strange = ShufflerKey::generate(&mut seeded(6)).unwrap();
    assert_eq!(strange.open(&survey, &message), Err(OpenError::Key));
    // Another ε is another collection.
    let other = Collection::parse(&described(&COLUMNS.replace("1/2", "3/4"))).unwrap();
    assert_eq!(shuffler.open(&other, &message), Err(OpenError::Collection));
    let sealed = shuffler.open(&survey, &message).unwrap().sealed;
    assert_eq!(analyser.open(&other, &sealed), Err(OpenError::Key));
    // The shuffler's own secret opens no inner layer, even where somebody makes an analyser's key of it.
    let text = shuffler.text().replace("shuffler", "analyser");
    assert_eq!(AnalyserKey::parse(&text).unwrap().open(&survey, &sealed), Err(OpenError::Key));
    let swapped = [sealed.bytes(), &[0]].concat();
    assert_eq!(analyser.open(&survey, &Sealed::from_bytes(&swapped)), Err(OpenError::Length));
}

/// Fields that no randomiser says, sealed as they should be.
#[test]
fn fields_that_nobody_says_are_refused() {
    let (shuffler, analyser) = keys();
    let survey = survey();
    let mut fields = vec![0u8; 17];
    let open = |fields: &[u8]| {
        let message = survey.seal(fields, "", &mut seeded(7)).unwrap();
        analyser.open(&survey, &shuffler.open(&survey, &message).unwrap().sealed)
    };
    assert!(open(&fields).is_ok());
    for (place, value) in [(0, 1), (3, 4), (7, 2), (11, 16), (16, 16)] {
        fields[place] = value;
        assert_eq!(open(&fields), Err(OpenError::Report), "{place}");
        fields[place] = 0;
    }
}

/// The file of vectors has the description, both secret keys, and messages with what is in them; `open.py` opens them by another
/// implementation.
#[test]
fn vectors_open_to_what_they_hold() {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("vectors.json")).unwrap();
    let text = |name: &str| vectors[name].as_str().unwrap();
    let survey = Collection::parse(text("description")).unwrap();
    let (shuffler, analyser) =
        (ShufflerKey::parse(text("shuffler")).unwrap(), AnalyserKey::parse(text("analyser")).unwrap());
    for vector in vectors["messages"].as_array().unwrap() {
        let text = |name: &str| vector[name].as_str().unwrap();
        let opened = shuffler.open(&survey, &Message::parse(text("message")).unwrap()).unwrap();
        assert_eq!((opened.id.to_vec(), opened.group.to_vec()), (bytes(text("id")), bytes(text("group"))));
        let mut fields = Vec::new();
        for (column, report) in survey.columns().iter().zip(analyser.open(&survey, &opened.sealed).unwrap()) {
            column.write(&report, &mut fields);
        }
        assert_eq!(fields, bytes(text("fields")));
    }
    assert_eq!(vectors["messages"].as_array().unwrap().len(), 2);
}

/// A description reads the same in any layout, and says what `auto` became.
#[test]
fn descriptions_have_one_form() {
    let survey = survey();
    let again = Collection::parse(survey.json()).unwrap();
    assert_eq!((again.json(), again.digest(), again.name()), (survey.json(), survey.digest(), "survey"));
    assert!(!survey.json().contains("auto") && survey.json().contains(r#""randomiser":"response""#));
    assert_eq!(survey.columns()[2].values().len(), 12);
    assert_eq!(survey.columns()[1].epsilon(), "1/2");
}

#[test]
fn mistakes_in_descriptions_are_named() {
    let wrong = |columns: &str| Collection::parse(&described(columns)).err().unwrap().to_string();
    for (column, said) in [
        (r#""kind": "categorical", "epsilon": "1""#, "needs the key values"),
        (r#""kind": "boolean", "values": ["a"], "epsilon": "1""#, "has no key values"),
        (r#""kind": "categorical", "values": ["a"], "epsilon": "1""#, "column \"x\": a domain has from 2"),
        (r#""kind": "categorical", "values": ["a", "a"], "epsilon": "1""#, "twice"),
        (
            r#""kind": "categorical", "values": ["a", "b"], "other": "c", "epsilon": "1""#,
            "other is not among",
        ),
        (r#""kind": "boolean", "epsilon": "0""#, "epsilon is a decimal"),
        (r#""kind": "boolean", "epsilon": "-1""#, "epsilon is a decimal"),
        (r#""kind": "boolean", "epsilon": "1/0""#, "epsilon is a decimal"),
        (r#""kind": "boolean", "epsilon": "many""#, "epsilon is a decimal"),
        (r#""kind": "boolean", "randomiser": "piecewise", "epsilon": "1""#, "response, unary or hadamard"),
        (
            r#""kind": "number", "range": ["0", "1"], "grid": "0.3", "epsilon": "1""#,
            "whole number of grid steps",
        ),
        (r#""kind": "number", "range": ["1", "0"], "grid": "1", "epsilon": "1""#, "not below"),
        (
            r#""kind": "number", "range": ["0", "1"], "grid": "1", "randomiser": "unary", "epsilon": "1""#,
            "rounding or piecewise",
        ),
        (
            r#""kind": "number", "range": ["0", "1"], "grid": "1", "missing": true, "epsilon": "1""#,
            "ask beside it",
        ),
        (r#""kind": "count", "range": ["0", "0"], "epsilon": "1""#, "from 2 to 65536"),
        (r#""kind": "count", "range": ["0", "0.5"], "epsilon": "1""#, "whole ends"),
        (r#""kind": "set", "values": ["a"], "max_values": 0, "epsilon": "1""#, "from 1 to 65536"),
        (
            r#""kind": "set", "values": ["a"], "max_values": 1, "missing": true, "epsilon": "1""#,
            "remove missing",
        ),
        (r#""kind": "colour", "epsilon": "1""#, "unknown variant"),
        (r#""kind": "boolean", "epsilon": "1", "colour": 1"#, "unknown field"),
    ] {
        let found = wrong(&format!(r#"[{{"name": "x", {column}}}]"#));
        assert!(found.contains(said), "{column}: {found}");
    }
    assert!(wrong("[]").contains("1 to 256 columns"));
    let two = r#"{"name": "x", "kind": "boolean", "epsilon": "1"}"#;
    assert!(wrong(&format!("[{two}, {two}]")).contains("same name"));
    let swapped =
        described(COLUMNS).replace("shuffler-public", "x").replace("analyser-public", "shuffler-public");
    assert!(Collection::parse(&swapped).err().unwrap().to_string().contains("a shuffler"));
    assert!(
        ShufflerKey::parse(&keys().1.text())
            .err()
            .unwrap()
            .to_string()
            .contains("noisegate collect key shuffler")
    );
    assert_eq!(format!("{:?}", keys().0), "ShufflerKey(…)");
}

/// Errors say which column and what to do, and never what was answered.
#[test]
fn errors_do_not_repeat_an_answer() {
    let survey = survey();
    let mut rng = seeded(8);
    for (place, answer, said) in [
        (0, Answer::One("maybe-planted"), "not in its domain"),
        (1, Answer::Missing, "missing = true"),
        (1, Answer::One("planted"), "not in its domain"),
        (2, Answer::One("11"), "not in its domain"),
        (2, Answer::One("1.5"), "not in its domain"),
        (3, Answer::One("24.3"), "not in its domain"),
        (3, Answer::One("1e999999999"), "not in its domain"),
        (3, Answer::One("planted"), "not in its domain"),
        (3, Answer::Missing, "missing = true"),
        (3, Answer::Several(&["1"]), "not in its domain"),
        (4, Answer::Several(&["cat", "dog", "planted"]), "max_values"),
    ] {
        let mut given = GIVEN;
        given[place] = answer;
        let error = survey.encode(&given, "", &mut rng).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(text.contains(said) && !text.contains("planted"), "{text}");
    }
    assert!(matches!(
        survey.encode(&GIVEN[1..], "", &mut rng),
        Err(EncodeError::Width { given: 4, wanted: 5 })
    ));
    // Halfway to the next step of the grid, and just inside of its ends.
    for (text, inside) in [("24.24", true), ("-0.2", true), ("-0.3", false), (" 12 ", true)] {
        let mut given = GIVEN;
        given[3] = Answer::One(text);
        assert_eq!(survey.encode(&given, "", &mut rng).is_ok(), inside, "{text}");
    }
}

/// The vectors are those of these keys and bits. Where the format is changed on purpose, the message of the failure is the new file.
#[test]
fn vectors_can_be_made_anew() {
    let ((shuffler, analyser), survey) = (keys(), survey());
    let messages: Vec<serde_json::Value> = ["", "app 7"]
        .into_iter()
        .map(|label| {
            let message = survey.encode(&GIVEN, label, &mut seeded(9)).unwrap();
            let opened = shuffler.open(&survey, &message).unwrap();
            let mut fields = Vec::new();
            for (column, report) in
                survey.columns().iter().zip(analyser.open(&survey, &opened.sealed).unwrap())
            {
                column.write(&report, &mut fields);
            }
            let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
            serde_json::json!({"label": label, "message": message.line(), "id": hex(&opened.id),
                "group": hex(&opened.group), "fields": hex(&fields)})
        })
        .collect();
    let made = serde_json::json!({"description": survey.json(), "shuffler": shuffler.text(), "analyser": analyser.text(),
        "messages": messages});
    let kept: serde_json::Value = serde_json::from_str(include_str!("vectors.json")).unwrap();
    assert!(made == kept, "{made:#}");
}
