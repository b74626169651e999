//! The time tool with a clock that stands still: it is always 22:13:20 UTC on 14 November 2023.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::testing::{call, context};

fn berlin() -> Arc<dyn Tool> {
    tool(&Settings { zone: Some("Europe/Berlin".into()), ..Settings::for_tests() }).0
}

async fn check(arguments: Value, expected: Expect) {
    expected.assert_eq(&match call(&*berlin(), arguments, &context("mei")).await {
        Ok(output) => output.text,
        Err(error) => format!("{:?}", error.without_notice()),
    });
}

#[tokio::test]
async fn without_arguments_it_is_now_at_the_server() {
    check(
        json!({}),
        expect!["Tuesday, 14 November 2023, 23:13:20, Europe/Berlin (CET, UTC+01:00), ISO 2023-11-14T23:13:20+01:00"],
    )
    .await;
}

#[tokio::test]
async fn a_person_is_told_which_argument_cannot_be_read() {
    for (arguments, expected) in [
        (json!({"zone": "Nowhere/X"}), Notice::no_such_zone("Nowhere/X")),
        (json!({"zone": "Tokyo", "to": ["Mars"]}), Notice::no_such_zone("Mars")),
        (json!({"zone": "Tokyo", "at": "soon"}), Notice::not_a_time("soon")),
        (json!({"at": "25:99"}), Notice::not_a_time("25:99")),
    ] {
        let error = call(&*berlin(), arguments.clone(), &context("mei")).await.unwrap_err();
        assert_eq!(error.split_notice().1, expected, "{arguments}");
    }
}

#[tokio::test]
async fn zones_go_by_many_names() {
    let now = Timestamp::from_second(1_700_000_000).unwrap();
    let zones = Zones::new(Some("Europe/Berlin"));
    for (given, found) in [
        ("Asia/Tokyo", "Asia/Tokyo"),
        ("asia/tokyo", "Asia/Tokyo"),
        ("America/New York", "America/New_York"),
        ("Tokyo", "Asia/Tokyo"),
        ("new york", "America/New_York"),
        ("Ho Chi Minh", "Asia/Ho_Chi_Minh"),
        ("Buenos Aires", "America/Buenos_Aires"),
        ("San Francisco", "America/Los_Angeles"),
        ("Washington, D.C.", "America/New_York"),
        ("北京", "Asia/Shanghai"),
        ("纽约", "America/New_York"),
        ("local", "Europe/Berlin"),
        (" ", "Europe/Berlin"),
        ("UTC", "UTC"),
        ("z", "UTC"),
        ("GMT", "UTC"),
        ("+00:00", "UTC"),
        ("UTC+8", "UTC+08:00"),
        ("utc +08:00", "UTC+08:00"),
        ("GMT-3:30", "UTC-03:30"),
        ("+0530", "UTC+05:30"),
        ("−7", "UTC-07:00"),
    ] {
        let zone = zones.find(given).unwrap_or_else(|error| panic!("{given}: {error}"));
        assert_eq!(zone_name(&now.to_zoned(zone)), found, "{given}");
    }
}

#[tokio::test]
async fn an_unknown_zone_is_declined_with_near_names() {
    check(
        json!({"zone": "Asia/Tokio"}),
        expect![[r#"Declined("there is no time zone `Asia/Tokio`; did you mean `Asia/Tokyo`? Otherwise use an IANA name such as Asia/Shanghai, or an offset such as UTC+8")"#]],
    )
    .await;
    check(json!({"zone": "Pekin"}), expect![[r#"Declined("there is no time zone `Pekin`; did you mean `Asia/Shanghai`? Otherwise use an IANA name such as Asia/Shanghai, or an offset such as UTC+8")"#]]).await;
    check(json!({"zone": "Middle-earth"}), expect![[r#"Declined("there is no time zone `Middle-earth`; use an IANA name such as Asia/Shanghai, or an offset such as UTC+8")"#]]).await;
    check(json!({"zone": "CST"}), expect![[r#"Declined("`CST` is an abbreviation, not a zone; it may mean `Asia/Shanghai`, `America/Chicago`; use an IANA name such as Asia/Shanghai, or an offset such as UTC+8")"#]]).await;
    check(json!({"zone": "UTC+99"}), expect![[r#"Declined("there is no time zone `UTC+99`; use an IANA name such as Asia/Shanghai, or an offset such as UTC+8")"#]]).await;
    check(json!({"zone": "../../etc/passwd"}), expect![[r#"Declined("there is no time zone `../../etc/passwd`; use an IANA name such as Asia/Shanghai, or an offset such as UTC+8")"#]]).await;
    check(json!({"zone": "Berlin", "to": ["Tokyo", "Atlantis"]}), expect![[r#"Declined("there is no time zone `Atlantis`; did you mean `America/New_York`? Otherwise use an IANA name such as Asia/Shanghai, or an offset such as UTC+8")"#]]).await;
}

#[tokio::test]
async fn a_time_is_converted_to_several_zones() {
    check(
        json!({"zone": "Berlin", "at": "2024-07-01T09:00", "to": ["Asia/Kolkata", "UTC-3", "America/Sao_Paulo"]}),
        expect![[r#"
            Monday, 1 July 2024, 09:00:00, Europe/Berlin (CEST, UTC+02:00, daylight saving time), ISO 2024-07-01T09:00:00+02:00
            Monday, 1 July 2024, 12:30:00, Asia/Kolkata (IST, UTC+05:30), ISO 2024-07-01T12:30:00+05:30
            Monday, 1 July 2024, 04:00:00, UTC-03:00, ISO 2024-07-01T04:00:00-03:00
            Monday, 1 July 2024, 04:00:00, America/Sao_Paulo (UTC-03:00), ISO 2024-07-01T04:00:00-03:00"#]],
    )
    .await;
}

#[tokio::test]
async fn times_are_read_in_the_forms_of_iso_8601() {
    for (at, iso) in [
        ("now", "2023-11-14T23:13:20+01:00"),
        ("2024-01-02T03:04:05Z", "2024-01-02T04:04:05+01:00"),
        ("2024-01-02T03:04+09:00", "2024-01-01T19:04:00+01:00"),
        ("2024-01-02 03:04", "2024-01-02T03:04:00+01:00"),
        ("2024-07-02", "2024-07-02T00:00:00+02:00"),
        ("08:30", "2023-11-14T08:30:00+01:00"),
        ("8:30:15", "2023-11-14T08:30:15+01:00"),
        ("2024-01-02T03:04[Asia/Tokyo]", "2024-01-02T03:04:00+09:00"),
    ] {
        let output = call(&*berlin(), json!({"at": at}), &context("mei")).await.unwrap();
        assert_eq!(output.data.unwrap()["iso"], iso, "{at}");
    }
}

#[tokio::test]
async fn what_is_no_time_is_declined_with_an_example() {
    check(json!({"at": "next tuesday"}), expect![[r#"Declined("`at`: `next tuesday` is not a time; write ISO 8601 such as 2026-03-29T15:30, 2026-03-29T15:30:00+02:00, 2026-03-29 or 15:30, or `now`")"#]]).await;
    check(json!({"at": "2024-02-30"}), expect![[r#"Declined("`at`: `2024-02-30` is not a time; write ISO 8601 such as 2026-03-29T15:30, 2026-03-29T15:30:00+02:00, 2026-03-29 or 15:30, or `now`")"#]]).await;
    check(json!({"at": "2024-01-02T03:04[Mars/Base]"}), expect![[r#"Declined("the zone in `2024-01-02T03:04[Mars/Base]` is not known; leave it out and give it as `zone`")"#]]).await;
    check(
        json!({"at": "9999-12-31T23:59", "zone": "UTC-8"}),
        expect![[r#"Declined("`at` is out of range")"#]],
    )
    .await;
}

#[tokio::test]
async fn clocks_that_go_forward_or_back_are_pointed_out() {
    check(json!({"zone": "America/New_York", "at": "2024-03-10T02:30", "to": ["UTC"]}), expect![[r#"
        Sunday, 10 March 2024, 03:30:00, America/New_York (EDT, UTC-04:00, daylight saving time), ISO 2024-03-10T03:30:00-04:00
        Sunday, 10 March 2024, 07:30:00, UTC (UTC+00:00), ISO 2024-03-10T07:30:00+00:00
        note: 02:30 does not exist there, since the clocks go forward; it was moved on by as much"#]]).await;
    check(json!({"zone": "America/New_York", "at": "2024-11-03T01:30", "to": ["UTC"]}), expect![[r#"
        Sunday, 3 November 2024, 01:30:00, America/New_York (EDT, UTC-04:00, daylight saving time), ISO 2024-11-03T01:30:00-04:00
        Sunday, 3 November 2024, 05:30:00, UTC (UTC+00:00), ISO 2024-11-03T05:30:00+00:00
        note: 01:30 comes twice there, since the clocks go back; this is the first, the second is UTC-05"#]]).await;
}

#[tokio::test]
async fn the_offset_follows_daylight_saving_time() {
    for (zone, at, offset) in [
        ("Europe/Berlin", "2024-03-31T01:59", "+01:00"),
        ("Europe/Berlin", "2024-03-31T03:00", "+02:00"),
        ("America/New_York", "2024-11-03T03:00", "-05:00"),
        ("Australia/Lord_Howe", "2024-01-01T00:00", "+11:00"),
        ("Australia/Lord_Howe", "2024-07-01T00:00", "+10:30"),
        ("Asia/Kathmandu", "2024-07-01T00:00", "+05:45"),
        ("Asia/Shanghai", "1990-07-01T00:00", "+09:00"),
    ] {
        let output = call(&*berlin(), json!({"zone": zone, "at": at}), &context("mei")).await.unwrap();
        assert_eq!(output.data.unwrap()["utc_offset"], offset, "{zone} {at}");
    }
}

#[tokio::test]
async fn the_value_has_the_fields() {
    let arguments = json!({"zone": "Tokyo", "to": ["UTC"]});
    let output = call(&*berlin(), arguments, &context("mei")).await.unwrap();
    assert_eq!(output.title.as_deref(), Some("07:13 in Asia/Tokyo"));
    let data = output.data.unwrap();
    expect![[r#"
        {
          "date": "2023-11-15",
          "daylight_saving": false,
          "iso": "2023-11-15T07:13:20+09:00",
          "time": "07:13:20",
          "to": [
            {
              "date": "2023-11-14",
              "daylight_saving": false,
              "iso": "2023-11-14T22:13:20+00:00",
              "time": "22:13:20",
              "unix": 1700000000,
              "utc_offset": "+00:00",
              "weekday": "Tuesday",
              "zone": "UTC"
            }
          ],
          "unix": 1700000000,
          "utc_offset": "+09:00",
          "weekday": "Wednesday",
          "zone": "Asia/Tokyo"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&data).unwrap());
}

#[tokio::test]
async fn every_example_gives_what_it_says() {
    for example in examples() {
        let output = call(&*berlin(), example.arguments, &context("mei")).await.unwrap();
        assert_eq!(output.text, example.result);
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(zone in ".{0,30}", at in "[-+0-9T:Z\\[\\]. ]{0,30}", to in any::<String>()) {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let arguments = Arguments { zone: Some(zone), at: Some(at), to: Some(vec![to]) };
        _ = render_time(&arguments, now, &Zones::new(Some("Asia/Shanghai")));
        _ = render_time(&Arguments { zone: None, to: None, ..arguments }, now, &Zones::new(None));
    }
}
