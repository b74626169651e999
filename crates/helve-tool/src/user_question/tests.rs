//! Questions that can be shown, replies that fit, and the bounds of both.

use helve_types::Language;
use serde_json::json;

use super::*;

fn ask(form: &Value) -> Result<ReplyForm, String> {
    let written = WrittenQuestion { question: "?", form: Some(form), ..WrittenQuestion::default() };
    read_question(written).map(|asked| asked.form)
}

/// A form with this one field.
fn with_field(schema: &Value) -> Result<ReplyForm, String> {
    ask(&json!({"type": "object", "properties": {"x": schema}, "required": ["x"]}))
}

fn choose(options: &[String], several: bool) -> Result<ReplyForm, String> {
    let written =
        WrittenQuestion { question: "?", options: Some(options), several, ..WrittenQuestion::default() };
    read_question(written).map(|asked| asked.form)
}

fn options(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("option {n}")).collect()
}

/// What is wrong with a reply, in both languages.
fn wrong(form: &ReplyForm, value: &Value) -> Vec<[String; 2]> {
    let problems = check_reply(form, value).expect_err("it fits");
    let sentence = |problem: &FieldProblem| {
        [Language::English, Language::Chinese].map(|language| problem.notice.sentence(language).unwrap())
    };
    problems.iter().map(sentence).collect()
}

#[test]
fn the_fields_of_a_form_are_what_its_schema_says_in_the_order_of_its_lists() {
    let schema = json!({
        "type": "object",
        "title": "A trip",
        "properties": {
            "way": {"type": "string", "oneOf": [{"const": "t", "title": "Train"}, {"const": "p"}]},
            "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}, "minItems": 1},
            "name": {"type": "string", "maxLength": 20, "title": "Your name", "description": "In full."},
            "day": {"type": "string", "format": "date"},
            "who": {"type": "object", "properties": {"mail": {"type": "string", "format": "email"}}}
        },
        "propertyOrdering": ["name"],
        "required": ["day", "name"]
    });
    let ReplyForm::Fields { fields } = ask(&schema).unwrap() else { panic!("no form") };
    let names: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.required)).collect();
    let expected = [("name", true), ("day", true), ("days", false), ("way", false), ("who", false)];
    assert_eq!(names, expected);
    assert_eq!(fields[0].label(), "Your name");
    let option = |value: &str, title: Option<&str>| FormOption {
        value: value.into(),
        title: title.map(str::to_owned),
    };
    assert_eq!(
        fields[3].form,
        ReplyForm::Choice { options: vec![option("t", Some("Train")), option("p", None)] }
    );
    let days = vec![option("mon", None), option("tue", None)];
    assert_eq!(fields[2].form, ReplyForm::Choices { options: days, min_items: 1, max_items: 2 });
}

#[test]
fn what_cannot_be_shown_is_refused_with_the_field_and_what_can() {
    let deep = json!({"type": "object", "properties": {"y": {"type": "object", "properties": {"z": {"type": "string"}}}}});
    for (schema, told) in [
        (
            json!({"type": "string", "pattern": "^a"}),
            "field `x`: `pattern` is not supported here; use string",
        ),
        (json!({"type": "null"}), "field `x`: the type `null` cannot be asked for"),
        (json!({"type": ["string", "null"]}), "field `x`: `type` must be one type"),
        (json!({"$ref": "#/x"}), "field `x` has no `type`"),
        (json!({}), "field `x` has no `type`"),
        (json!(true), "field `x` must be an object"),
        (json!({"type": "string", "format": "password"}), "field `x`: `format` must be one of email, uri"),
        (json!({"type": "string", "enum": [1]}), "field `x`: `enum` must be a list of texts"),
        (json!({"type": "string", "enum": []}), "field `x`: `enum` must be a list of texts"),
        (json!({"type": "string", "enum": ["a", "a"]}), "field `x`: option 2 is there twice"),
        (
            json!({"type": "string", "oneOf": [{"type": "string"}]}),
            "field `x`: `oneOf` must be a list such as",
        ),
        (json!({"type": "array", "items": {"type": "object"}}), "field `x`: `items` must be strings"),
        (json!({"type": "array"}), "field `x`: `items` must be strings"),
        (json!({"type": "integer", "minimum": 3, "maximum": 2}), "field `x`: `minimum` is greater"),
        (json!({"type": "string", "minLength": 3, "maxLength": 2}), "leave no text that fits"),
        (json!({"type": "string", "default": 1}), "field `x`: `default` does not fit"),
        (json!({"type": "string", "multiline": 1}), "field `x`: `multiline` must be true or false"),
        (deep, "field `x.y` is an object in an object"),
    ] {
        let problem = with_field(&schema).unwrap_err();
        assert!(problem.contains(told), "{schema}: {problem}");
    }
    for schema in [json!({"type": "string"}), json!([]), json!({"type": "object"}), json!({})] {
        assert!(ask(&schema).is_err(), "{schema}");
    }
    let nameless = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]});
    assert!(ask(&nameless).unwrap_err().contains("`required` names `b`"));
    let dotted = json!({"type": "object", "properties": {"a.b": {"type": "string"}}});
    assert!(ask(&dotted).unwrap_err().contains("no dot"));
}

#[test]
fn nothing_that_is_asked_is_larger_than_its_bound() {
    let question = |chars: usize| {
        let question = "字".repeat(chars);
        read_question(WrittenQuestion { question: &question, ..WrittenQuestion::default() })
    };
    assert!(question(QUESTION_CHARS_MAX).is_ok());
    assert!(question(QUESTION_CHARS_MAX + 1).is_err() && question(0).is_err());

    assert!(choose(&options(OPTIONS_MAX), true).is_ok());
    assert!(choose(&options(OPTIONS_MAX + 1), false).is_err() && choose(&options(1), false).is_err());
    let option = |chars: usize| choose(&["a".to_owned(), "字".repeat(chars)], false);
    assert!(option(OPTION_CHARS_MAX).is_ok() && option(OPTION_CHARS_MAX + 1).is_err());
    assert!(choose(&["a".to_owned(), " a ".to_owned()], false).is_err());

    let listed = |count: usize| with_field(&json!({"type": "string", "enum": options(count)}));
    assert!(listed(FIELD_OPTIONS_MAX).is_ok() && listed(FIELD_OPTIONS_MAX + 1).is_err());

    let fields = |count: usize| {
        let fields: serde_json::Map<String, Value> =
            (0..count).map(|n| (format!("f{n}"), json!({"type": "string"}))).collect();
        ask(&json!({"type": "object", "properties": fields}))
    };
    assert!(fields(FIELDS_MAX).is_ok() && fields(FIELDS_MAX + 1).is_err());
    // Those of groups count as well.
    let groups = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    let groups: serde_json::Map<String, Value> =
        (0..FIELDS_MAX / 3 + 1).map(|n| (format!("g{n}"), groups.clone())).collect();
    assert!(ask(&json!({"type": "object", "properties": groups})).unwrap_err().contains("fields"));

    let large = json!({"type": "string", "description": "x".repeat(SCHEMA_BYTES_MAX)});
    assert!(with_field(&large).unwrap_err().contains("bytes"));
    let long = json!({"type": "string", "title": "x".repeat(201)});
    assert!(with_field(&long).unwrap_err().contains("`title` has more than"));

    // No text is longer than the bound, whatever the schema says.
    let form = with_field(&json!({"type": "string", "maxLength": 1_000_000})).unwrap();
    assert!(check_reply(&form, &json!({"x": "字".repeat(TEXT_CHARS_MAX)})).is_ok());
    assert!(check_reply(&form, &json!({"x": "a".repeat(TEXT_CHARS_MAX + 1)})).is_err());
    let long = json!("a".repeat(REPLY_BYTES_MAX));
    let problems = check_reply(&question(5).unwrap().form, &long).unwrap_err();
    assert_eq!(problems[0].notice.code, "reply_too_large");
}

#[test]
fn a_question_has_options_or_a_form_or_neither() {
    let form = json!({"type": "object", "properties": {"x": {"type": "string"}}});
    let options = options(2);
    let both = WrittenQuestion { question: "?", options: Some(&options), form: Some(&form), several: false };
    assert!(read_question(both).is_err());
    assert!(read_question(WrittenQuestion { options: None, several: true, ..both }).is_err());
    let words = read_question(WrittenQuestion { question: " Who? ", ..WrittenQuestion::default() }).unwrap();
    assert_eq!(words.question, "Who?");
    assert!(matches!(words.form, ReplyForm::Text { multiline: true, .. }));
}

#[test]
fn a_reply_that_does_not_fit_is_told_by_field_in_both_languages() {
    for (schema, value, told) in [
        (
            json!({"type": "integer", "maximum": 9}),
            json!(10),
            ["“x” must not be greater than 9", "“x”不能大于 9"],
        ),
        (json!({"type": "integer"}), json!(1.5), ["“x” must be a whole number", "“x”应为整数"]),
        (json!({"type": "integer"}), json!("1"), ["“x” must be a whole number", "“x”应为整数"]),
        (
            json!({"type": "integer"}),
            json!(1e300),
            ["“x” must not be greater than 9007199254740991", "“x”不能大于 9007199254740991"],
        ),
        (json!({"type": "boolean"}), json!("yes"), ["“x” must be true or false", "“x”应为真或假"]),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!("c"),
            ["“x” must be one of: a, b", "“x”只能是：a, b"],
        ),
        (json!({"type": "string"}), json!("  "), ["“x” is missing", "缺少“x”"]),
        (json!({"type": "string"}), json!("a\nb"), ["“x” must be one line", "“x”只能写一行"]),
        (
            json!({"type": "string", "format": "date"}),
            json!("2026-02-29"),
            ["“x” must be written as: 2026-03-29", "“x”的写法应为：2026-03-29"],
        ),
        (
            json!({"type": "string", "minLength": 3}),
            json!("ab"),
            ["“x” must not be shorter than 3 characters", "“x”不能少于 3 个字符"],
        ),
        (json!({"type": "string", "title": "Name"}), json!(1), ["“Name” must be a text", "“Name”应为文本"]),
    ] {
        let form = with_field(&schema).unwrap();
        assert_eq!(wrong(&form, &json!({"x": value})), [told.map(str::to_owned)], "{schema}");
    }
    let list = with_field(
        &json!({"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 1, "maxItems": 2}),
    );
    let list = list.unwrap();
    for bad in [json!([]), json!(["a", "b", "c"]), json!(["a", "a"]), json!(["d"]), json!("a"), json!([1])] {
        assert_eq!(check_reply(&list, &json!({"x": bad})).unwrap_err().len(), 1, "{bad}");
    }
    assert!(check_reply(&list, &json!({"x": ["c", "a"]})).is_ok());
}

#[test]
fn every_field_that_is_wrong_is_told_with_its_place() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "who": {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}
        },
        "required": ["name", "who"]
    });
    let form = ask(&schema).unwrap();
    let places = |value: &Value| -> Vec<String> {
        check_reply(&form, value).unwrap_err().into_iter().map(|problem| problem.field).collect()
    };
    assert_eq!(places(&json!({})), ["name", "who"]);
    assert_eq!(places(&json!({"name": "", "who": {"age": -1}, "more": 1})), ["name", "who.age", "more"]);
    assert_eq!(places(&json!({"name": "Mei", "who": {}})), ["who.age"]);
    assert_eq!(places(&json!("Mei")), [""]);
    assert!(check_reply(&form, &json!({"name": "Mei", "who": {"age": 3.0}})).is_ok());
}

#[test]
fn a_reply_without_fields_is_told_as_such() {
    let choice = choose(&["Red".into(), "Blue".into()], false).unwrap();
    assert_eq!(
        wrong(&choice, &json!("Green")),
        [["The answer must be one of: Red, Blue", "答复只能是：Red, Blue"].map(str::to_owned)]
    );
    let words = read_question(WrittenQuestion { question: "?", ..WrittenQuestion::default() }).unwrap().form;
    assert_eq!(wrong(&words, &json!(" ")), [["The answer is empty.", "答复是空的。"].map(str::to_owned)]);
    assert!(check_reply(&words, &json!("several\nlines")).is_ok());
    let several = choose(&["Red".into(), "Blue".into()], true).unwrap();
    assert!(check_reply(&several, &json!(["Blue", "Red"])).is_ok());
    assert!(check_reply(&several, &json!([])).is_err() && check_reply(&several, &json!("Red")).is_err());
}

#[test]
fn formats_are_what_people_and_browsers_write() {
    for (format, good, bad) in [
        (
            "email",
            &["mei@example.com", "a.b+c@x.co"][..],
            &["mei", "a@b", "a b@x.org", "@x.org", "a@@x.org"][..],
        ),
        (
            "uri",
            &["https://example.com/a?b", "mailto:mei@example.com"],
            &["example", "https://", "1a:b", "a b:c"],
        ),
        ("date", &["2026-03-29", "2024-02-29"], &["2026-3-29", "2026-13-01", "2026-04-31", "29.03.2026"]),
        ("time", &["15:30", "00:00:59", "15:30:00.5"], &["24:00", "15:60", "3:30", "15", "15:30.5"]),
        (
            "date-time",
            &["2026-03-29T15:30", "2026-03-29 15:30:01", "2026-03-29T15:30:00Z", "2026-03-29T15:30+08:00"],
            &["2026-03-29", "15:30", "2026-03-29T25:00"],
        ),
    ] {
        let form = with_field(&json!({"type": "string", "format": format})).unwrap();
        for text in good {
            assert_eq!(check_reply(&form, &json!({"x": text})), Ok(()), "{text}");
        }
        for text in bad {
            assert!(check_reply(&form, &json!({"x": text})).is_err(), "{format}: {text}");
        }
    }
}

#[test]
fn what_is_typed_is_read_as_what_the_field_holds() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "seats": {"type": "integer"},
            "quiet": {"type": "boolean"},
            "food": {"type": "array", "items": {"enum": ["soup", "fish"]}},
            "who": {"type": "object", "properties": {"mail": {"type": "string"}}}
        }
    });
    let form = ask(&schema).unwrap();
    let typed = |pairs: &[(&str, &str)]| -> Vec<TypedValue> {
        let value =
            |(field, text): &(&str, &str)| TypedValue { field: (*field).into(), text: (*text).into() };
        pairs.iter().map(value).collect()
    };
    let all = [
        ("name", " Mei "),
        ("seats", "2.0"),
        ("quiet", "否"),
        ("food", "fish"),
        ("food", "1"),
        ("who.mail", "m"),
    ];
    assert_eq!(
        read_typed(&form, &typed(&all)),
        json!({"name": "Mei", "seats": 2, "quiet": false, "food": ["fish", "soup"], "who": {"mail": "m"}})
    );
    assert_eq!(read_typed(&form, &typed(&[("name", " "), ("seats", ""), ("who.mail", "")])), json!({}));
    // What is no number, and what is no field, is told by the check.
    let odd = read_typed(&form, &typed(&[("seats", "two"), ("colour", "red")]));
    assert_eq!(odd, json!({"seats": "two", "colour": "red"}));
    assert_eq!(check_reply(&form, &odd).unwrap_err().len(), 2);
    let several = choose(&["Red".into(), "Blue".into()], true).unwrap();
    assert_eq!(read_typed(&several, &[]), json!([]));
    let words = read_question(WrittenQuestion { question: "?", ..WrittenQuestion::default() }).unwrap().form;
    assert_eq!(read_typed(&words, &typed(&[("", "a\r\nb")])), json!("a\nb"));
}

#[test]
fn many_problems_still_make_one_sentence() {
    let fields: serde_json::Map<String, Value> =
        (0..FIELDS_MAX).map(|n| (format!("f{n}"), json!({"type": "integer"}))).collect();
    let names: Vec<&String> = fields.keys().collect();
    let form = ask(&json!({"type": "object", "properties": fields, "required": names})).unwrap();
    let problems = check_reply(&form, &json!({})).unwrap_err();
    assert_eq!(problems.len(), FIELDS_MAX);
    for language in [Language::English, Language::Chinese] {
        assert!(reply_notice(&problems).sentence(language).is_some());
    }
}
