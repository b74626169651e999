//! The table that holds the subset to jq: what jq printed for each filter. Where jq 1.6 and 1.7 differ it is 1.7 that
//! counts (`limit(0; …)`, keys that are no strings); errors on the left of `//` count as nothing.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const DOCUMENT: &str = r#"{"a":{"b":[1,2,3]},"n":null,"s":"héllo wörld","t":true,"items":[{"id":3,"name":"c","tag":"x"},{"id":1,"name":"a","tag":"y"},{"id":2,"name":"b","tag":"x"}]}"#;

/// A filter; then all it gives, `error`, or `syntax`.
#[rustfmt::skip]
const TABLE: &[(&str, &str)] = &[
    (r#"."#, r#"[{"a":{"b":[1,2,3]},"items":[{"id":3,"name":"c","tag":"x"},{"id":1,"name":"a","tag":"y"},{"id":2,"name":"b","tag":"x"}],"n":null,"s":"héllo wörld","t":true}]"#),
    (r#".a.b"#, r#"[[1,2,3]]"#),
    (r#".a["b"]"#, r#"[[1,2,3]]"#),
    (r#"."a"."b""#, r#"[[1,2,3]]"#),
    (r#".a.b[0], .a.b[-1], .a.b[9]"#, r#"[1,3,null]"#),
    (r#".a.b[1:]"#, r#"[[2,3]]"#),
    (r#".a.b[:-1]"#, r#"[[1,2]]"#),
    (r#".a.b[1:2]"#, r#"[[2]]"#),
    (r#".s[1:4]"#, r#"["éll"]"#),
    (r#".s[-3:]"#, r#"["rld"]"#),
    (r#".n.x.y[0]"#, r#"[null]"#),
    (r#".n[1:]"#, r#"[null]"#),
    (r#".x"#, r#"[null]"#),
    (r#".s.x"#, r#"error"#),
    (r#".s.x?"#, r#"[]"#),
    (r#".a[0]"#, r#"error"#),
    (r#".a[0]?"#, r#"[]"#),
    (r#"[.items[].name]"#, r#"[["c","a","b"]]"#),
    (r#".items | map(.id) | add"#, r#"[6]"#),
    (r#"[.items[] | select(.tag == "x") | .id]"#, r#"[[3,2]]"#),
    (r#"[.a[]]"#, r#"[[[1,2,3]]]"#),
    (r#".s[]"#, r#"error"#),
    (r#"[.s[]?]"#, r#"[[]]"#),
    (r#"[.items[]?.name?]"#, r#"[["c","a","b"]]"#),
    (r#".items[0] | keys"#, r#"[["id","name","tag"]]"#),
    (r#".items[0] | to_entries"#, r#"[[{"key":"id","value":3},{"key":"name","value":"c"},{"key":"tag","value":"x"}]]"#),
    (r#".items[0] | with_entries(.value |= tostring)"#, r#"[{"id":"3","name":"c","tag":"x"}]"#),
    (r#".items[0] | with_entries(select(.key != "id"))"#, r#"[{"name":"c","tag":"x"}]"#),
    (r#"[{"name":"a","value":1},{"k":"b","v":2},{"key":null,"value":3},{"key":false},{"key":1,"value":null}] | from_entries"#, r#"[{"1":null,"a":1,"b":2,"false":null,"null":3}]"#),
    (r#"{id: .items[0].id, n: .n}"#, r#"[{"id":3,"n":null}]"#),
    (r#"{a, s}"#, r#"[{"a":{"b":[1,2,3]},"s":"héllo wörld"}]"#),
    (r#"{"x y": 1, ("k" + "1"): 2}"#, r#"[{"k1":2,"x y":1}]"#),
    (r#"{(.items[].name): 1}"#, r#"[{"c":1},{"a":1},{"b":1}]"#),
    (r#"{a: (1,2), b: (3,4)}"#, r#"[{"a":1,"b":3},{"a":1,"b":4},{"a":2,"b":3},{"a":2,"b":4}]"#),
    (r#"{"\(.t)": 1}"#, r#"[{"true":1}]"#),
    (r#".s as $x | {$x}"#, r#"[{"x":"héllo wörld"}]"#),
    (r#".items[0] as $i | .items[1] as $j | [$i.id, $j.id]"#, r#"[[3,1]]"#),
    (r#""n=\(.a.b[0]) s=\(.s) l=\(.a.b)""#, r#"["n=1 s=héllo wörld l=[1,2,3]"]"#),
    (r#""\(1,2)-\(3,4)""#, r#"["1-3","2-3","1-4","2-4"]"#),
    (r#""tab\t\u00e9\ud83e\udd80""#, r#"["tab\té🦀"]"#),
    (r#".n // "none""#, r#"["none"]"#),
    (r#".x // .n // 5"#, r#"[5]"#),
    (r#"(.n, 1, false, 2) // 3"#, r#"[1,2]"#),
    (r#"[(1, error("x"), 3) // 2]"#, r#"[[1]]"#),
    (r#"[(error("x"), 3) // 2]"#, r#"[[2]]"#),
    (r#"[.items[].nope // 0]"#, r#"[[0]]"#),
    (r#"1 + 2 * 3 - 4 / 2"#, r#"[5]"#),
    (r#"(1 + 2) * 3"#, r#"[9]"#),
    (r#"10 % 3, -10 % 3, 10 % -3, 5.9 % 2.1"#, r#"[1,-1,1,1]"#),
    (r#"1 / 3"#, r#"[0.3333333333333333]"#),
    (r#"6 / 3"#, r#"[2]"#),
    (r#"0.1 + 0.2"#, r#"[0.30000000000000004]"#),
    (r#"1e3, 1.5e-3, 100000000000000000000"#, r#"[1000,0.0015,1e+20]"#),
    (r#"1 / 0"#, r#"error"#),
    (r#".s + 1"#, r#"error"#),
    (r#"null + 1, 1 + null"#, r#"[1,1]"#),
    (r#"[1,2,2,3] - [2]"#, r#"[[1,3]]"#),
    (r#"{"a":{"x":1},"b":2} * {"a":{"y":2},"b":3}"#, r#"[{"a":{"x":1,"y":2},"b":3}]"#),
    (r#"{"a":1} + {"b":2,"a":3}"#, r#"[{"a":3,"b":2}]"#),
    (r#""ab" * 3, "ab" * 0"#, r#"["ababab",null]"#),
    (r#""a,b,c" / ",""#, r#"[["a","b","c"]]"#),
    (r#"-(1 + 2), -.a.b[0]"#, r#"[-3,-1]"#),
    (r#"(1,2) + (10,20)"#, r#"[11,12,21,22]"#),
    (r#"[(1,2) < (2,1)]"#, r#"[[true,false,false,false]]"#),
    (r#"1 < 2, 2 <= 2, "a" < "b", [1] < [1,0], {} > [], null < false, false < true, true < 0"#, r#"[true,true,true,true,true,true,true,true]"#),
    (r#"1 == 1.0, "1" == 1, {"a":1,"b":2} == {"b":2,"a":1}"#, r#"[true,false,true]"#),
    (r#"{"a":2} < {"b":1}, {"a":2} < {"a":3}, {"a":1,"c":0} < {"b":1}"#, r#"[true,true,true]"#),
    (r#"true and false, null or 1, (true, false) and (true, false)"#, r#"[false,true,true,false,false]"#),
    (r#"(true,false) or (true,false)"#, r#"[true,true,false]"#),
    (r#"false and error("x")"#, r#"[false]"#),
    (r#".t | not"#, r#"[false]"#),
    (r#"if .t then "yes" else "no" end"#, r#"["yes"]"#),
    (r#"if .n then 1 elif .t then 2 else 3 end"#, r#"[2]"#),
    (r#"[if (true, false) then 1 else 2 end]"#, r#"[[1,2]]"#),
    (r#"reduce .a.b[] as $x (0; . + $x)"#, r#"[6]"#),
    (r#"reduce .items[] as $i ({}; .[$i.name] = $i.id)"#, r#"[{"a":1,"b":2,"c":3}]"#),
    (r#"[foreach .a.b[] as $x (0; . + $x)]"#, r#"[[1,3,6]]"#),
    (r#"[foreach .a.b[] as $x (0; . + $x; [$x, .])]"#, r#"[[[1,1],[2,3],[3,6]]]"#),
    (r#"reduce empty as $x (7; . + 1)"#, r#"[7]"#),
    (r#".s | length"#, r#"[11]"#),
    (r#".a.b | length"#, r#"[3]"#),
    (r#".items[0] | length"#, r#"[3]"#),
    (r#"null | length"#, r#"[0]"#),
    (r#"-5 | length"#, r#"[5]"#),
    (r#"true | length"#, r#"error"#),
    (r#".items | sort_by(.id) | map(.name)"#, r#"[["a","b","c"]]"#),
    (r#".items | sort_by(.tag, .id) | map(.name)"#, r#"[["b","c","a"]]"#),
    (r#".items | group_by(.tag) | map(map(.name))"#, r#"[[["c","b"],["a"]]]"#),
    (r#".items | unique_by(.tag) | map(.name)"#, r#"[["c","a"]]"#),
    (r#".items | min_by(.id).name, max_by(.id).name"#, r#"["a","c"]"#),
    (r#"[3,1,2,1,null,"a",[1],{"a":1},true,false] | sort"#, r#"[[null,false,true,1,1,2,3,"a",[1],{"a":1}]]"#),
    (r#"[3,1,2,1] | unique"#, r#"[[1,2,3]]"#),
    (r#"[3,1,2] | min, max"#, r#"[1,3]"#),
    (r#"[] | min, max, add"#, r#"[null,null,null]"#),
    (r#"[{"a":1,"b":1},{"a":1,"b":2}] | min_by(.a).b, max_by(.a).b"#, r#"[1,2]"#),
    (r#"["a","b"] | add"#, r#"["ab"]"#),
    (r#"[[1],[2,3]] | add"#, r#"[[1,2,3]]"#),
    (r#"[{"a":1},{"b":2}] | add"#, r#"[{"a":1,"b":2}]"#),
    (r#"[1,null,2] | add"#, r#"[3]"#),
    (r#"{"a":1,"b":2} | add"#, r#"[3]"#),
    (r#"["a",1,null,true] | join("-")"#, r#"["a-1--true"]"#),
    (r#"[] | join(",")"#, r#"[""]"#),
    (r#""a, b,c" | split(", ")"#, r#"[["a","b,c"]]"#),
    (r#""abc" | split("")"#, r#"[["a","b","c"]]"#),
    (r#""" | split(",")"#, r#"[[]]"#),
    (r#"[.a.b[] | . * 2] | first, last"#, r#"[2,6]"#),
    (r#"first(.items[].name), last(.items[].name)"#, r#"["c","b"]"#),
    (r#"[limit(2; .items[].name)]"#, r#"[["c","a"]]"#),
    (r#"[limit(0; 1,2)]"#, r#"[[]]"#),
    (r#"[limit(1; 1, error("x"))]"#, r#"[[1]]"#),
    (r#"first(empty)"#, r#"[]"#),
    (r#"[first(1, error("x"))]"#, r#"[[1]]"#),
    (r#"[range(5)], [range(2;5)], [range(0;10;3)], [range(5;0;-2)], [range(0,1;3,4)]"#, r#"[[0,1,2,3,4],[2,3,4],[0,3,6,9],[5,3,1],[0,1,2,0,1,2,3,1,2,1,2,3]]"#),
    (r#"nth(1; .items[].name), ([1,2,3] | nth(2))"#, r#"["a",3]"#),
    (r#"[1,[2,[3,[4]]]] | flatten, flatten(1)"#, r#"[[1,2,3,4],[1,2,[3,[4]]]]"#),
    (r#"[1,2,3] | reverse"#, r#"[[3,2,1]]"#),
    (r#"null | reverse"#, r#"[[]]"#),
    (r#""foobar" | contains("bar"), startswith("foo"), endswith("x"), ltrimstr("foo"), rtrimstr("bar")"#, r#"[true,true,false,"bar","foo"]"#),
    (r#"1 | ltrimstr("a")"#, r#"[1]"#),
    (r#"["foobar","baz"] | contains(["bar"])"#, r#"[true]"#),
    (r#"{"a":[1,2],"b":"xyz"} | contains({"a":[1],"b":"y"})"#, r#"[true]"#),
    (r#"1 | contains(1)"#, r#"[true]"#),
    (r#"1 | contains("a")"#, r#"error"#),
    (r#""bar" | inside("foobar")"#, r#"[true]"#),
    (r#""ÀBc" | ascii_downcase, ascii_upcase"#, r#"["Àbc","ÀBC"]"#),
    (r#"[1,"1",[1],{"a":1},null,true] | map(tostring)"#, r#"[["1","1","[1]","{\"a\":1}","null","true"]]"#),
    (r#"[1,"1.5","x"] | map(tonumber?)"#, r#"[[1,1.5]]"#),
    (r#""x" | tonumber"#, r#"error"#),
    (r#"[1,"1",[1],{"a":1},null,true] | map(type)"#, r#"[["number","string","array","object","null","boolean"]]"#),
    (r#"[1,"1",[1],{"a":"é"}] | tojson"#, r#"["[1,\"1\",[1],{\"a\":\"é\"}]"]"#),
    (r#""[1,{\"a\":2}]" | fromjson"#, r#"[[1,{"a":2}]]"#),
    (r#""{" | try fromjson catch "bad""#, r#"["bad"]"#),
    (r#"3.7 | floor, ceil, round, sqrt * sqrt"#, r#"[3,4,4,3.7]"#),
    (r#"-2.5 | round, floor, fabs"#, r#"[-3,-3,2.5]"#),
    (r#""test 123" | test("\\d+"), test("^x"), test("TEST"; "i")"#, r#"[true,false,true]"#),
    (r#"[true,false] | any, all"#, r#"[true,false]"#),
    (r#"[] | any, all"#, r#"[false,true]"#),
    (r#".items | any(.id > 2), all(.id > 2)"#, r#"[true,false]"#),
    (r#"any(.items[]; .id == 1), all(.items[]; .id < 3)"#, r#"[true,false]"#),
    (r#".items[0] | has("id", "nope")"#, r#"[true,false]"#),
    (r#"[1,2] | has(0, 5)"#, r#"[true,false]"#),
    (r#""id" | in({"id":1})"#, r#"[true]"#),
    (r#".items[0] | del(.id)"#, r#"[{"name":"c","tag":"x"}]"#),
    (r#".items | del(.[0,2]) | map(.id)"#, r#"[[1]]"#),
    (r#".items | del(.[] | select(.tag == "x")) | map(.id)"#, r#"[[1]]"#),
    (r#"[1,2,3,4] | del(.[1:3])"#, r#"[[1,4]]"#),
    (r#"{"a":{"b":1,"c":2}} | del(.a.b, .x.y)"#, r#"[{"a":{"c":2}}]"#),
    (r#"[paths]|length"#, r#"[21]"#),
    (r#"{"a":[1]} | [paths]"#, r#"[[["a"],["a",0]]]"#),
    (r#"{"a":[1,"x"]} | [paths(type == "number")]"#, r#"[[["a",0]]]"#),
    (r#"{"a":[1,{"b":2}]} | [path(..)]"#, r#"[[[],["a"],["a",0],["a",1],["a",1,"b"]]]"#),
    (r#"path(.a.b[0], .x[1:2])"#, r#"[["a","b",0],["x",{"end":2,"start":1}]]"#),
    (r#"{"a":[1,2]} | getpath(["a",1]), getpath(["x","y"])"#, r#"[2,null]"#),
    (r#"{"a":1} | setpath(["b",1]; 5)"#, r#"[{"a":1,"b":[null,5]}]"#),
    (r#"{"a":1,"b":2} | delpaths([["a"]])"#, r#"[{"b":2}]"#),
    (r#".a.b |= map(. + 1) | .a"#, r#"[{"b":[2,3,4]}]"#),
    (r#".a.b[] += 10 | .a"#, r#"[{"b":[11,12,13]}]"#),
    (r#".a.b[0] = 9 | .a"#, r#"[{"b":[9,2,3]}]"#),
    (r#".n //= 4 | .n"#, r#"[4]"#),
    (r#".a.b |= (.[] |= empty) | .t"#, r#"[true]"#),
    (r#"[1,2,3] | (.[] | select(. > 1)) |= . * 2"#, r#"[[1,4,6]]"#),
    (r#"[1,2,3] | .[1] |= empty"#, r#"[[1,3]]"#),
    (r#"[.. | numbers] | length"#, r#"[6]"#),
    (r#"[.[] | strings], [.[] | arrays | length]"#, r#"[["héllo wörld"],[3]]"#),
    (r#"[.items[] | {name, big: (.id > 1)}]"#, r#"[[{"big":true,"name":"c"},{"big":false,"name":"a"},{"big":true,"name":"b"}]]"#),
    (r#"try error("boom") catch ."#, r#"["boom"]"#),
    (r#"try error({"a":1}) catch .a"#, r#"[1]"#),
    (r#"[.[] | try tonumber catch "no"] | length"#, r#"[5]"#),
    (r#"error("boom")"#, r#"error"#),
    (r#"(1, error("x"))?"#, r#"[1]"#),
    (r#"[.[]?, 1] | length"#, r#"[6]"#),
    (r#".items | map(select(.name | test("a|b"))) | length"#, r#"[2]"#),
    (r#".items | map({(.name): .id}) | add"#, r#"[{"a":1,"b":2,"c":3}]"#),
    (r#"[.items[] | "\(.name)=\(.id)"] | join("&")"#, r#"["c=3&a=1&b=2"]"#),
    (r#".items | map(.id) | map(. * 2) | map(select(. > 2)) | length"#, r#"[2]"#),
    (r#"isempty(empty), isempty(1)"#, r#"[true,false]"#),
    (r#"[splits]|1"#, r#"syntax"#),
    (r#"map_values(1) | length"#, r#"[5]"#),
    (r#"{"a":1,"b":2} | map_values(. + 1), map_values(empty)"#, r#"[{"a":2,"b":3},{}]"#),
    (r#"{"a":1,"b":2} | map(. + 1)"#, r#"[[2,3]]"#),
    (r#"[[1,2],[3]] | transpose"#, r#"[[[1,3],[2,null]]]"#),
    (r#""a,b" | index(","), rindex("z")"#, r#"[1,null]"#),
    (r#""abcb" | index("b"), rindex("b"), indices("b")"#, r#"[1,3,[1,3]]"#),
    (r#"[0,1,2,1] | index(1), indices(1), indices([1,2])"#, r#"[1,[1,3],[1]]"#),
    (r#"[.items[] | .name as $n | .id as $i | "\($n)\($i)"]"#, r#"[["c3","a1","b2"]]"#),
    (r#". as $d | [$d.items[] | .id] | add"#, r#"[6]"#),
    (r#"[1,2] | .[0] as $a | .[1] as $b | $a - $b"#, r#"[-1]"#),
    (r#"1 as $x | 2 as $y | [$x,$y,$x]"#, r#"[[1,2,1]]"#),
    (r#"[.[] | numbers, booleans]"#, r#"[[true]]"#),
    (r#""x" as $x | "a" | . + $x"#, r#"["ax"]"#),
    (r#".items | length as $n | "\($n) items""#, r#"["3 items"]"#),
    (r#"{"a":null} | .a.b.c"#, r#"[null]"#),
    (r#"[[1,2],[3,4]] | .[][0]"#, r#"[1,3]"#),
    (r#"[[1,2],[3,4]] | map(.[1])"#, r#"[[2,4]]"#),
    (r#".a | .b | .[1]"#, r#"[2]"#),
    (r#".a .b"#, r#"[[1,2,3]]"#),
    (r#"{"if": 1} | .if"#, r#"[1]"#),
    (r#"{if: 1}"#, r#"[{"if":1}]"#),
    (r#"[1,2,3][1]"#, r#"[2]"#),
    (r#"{"a":1}.a"#, r#"[1]"#),
    (r#""abc"[1:]"#, r#"["bc"]"#),
    (r#"[.items[].id] | map(select(. != 2)) | sort | reverse"#, r#"[[3,1]]"#),
    (r#".items | map(.tag) | unique | length"#, r#"[2]"#),
    (r#".items | group_by(.tag) | map({tag: .[0].tag, n: length})"#, r#"[[{"n":2,"tag":"x"},{"n":1,"tag":"y"}]]"#),
    (r#".items | map(select(.id >= 2) | .name) | join(", ")"#, r#"["c, b"]"#),
    (r#"(.items | length) as $n | {count: $n, first: .items[0].name}"#, r#"[{"count":3,"first":"c"}]"#),
    (r#"[.items[] | if .id > 2 then "big" elif .id > 1 then "mid" else "small" end]"#, r#"[["big","small","mid"]]"#),
    (r#"1 # one"#, r#"[1]"#),
    (r#"[3,4] | .[1:][0]"#, r#"[4]"#),
    (r#".items[1:] | .[].id"#, r#"[1,2]"#),
    (r#"[1,null,2] | map(values)"#, r#"[[1,2]]"#),
    (r#""\(1;2)""#, r#"syntax"#),
    (r#".["#, r#"syntax"#),
    (r#"{a:}"#, r#"syntax"#),
    (r#"1 +"#, r#"syntax"#),
    (r#"foo"#, r#"syntax"#),
    (r#"map"#, r#"syntax"#),
    (r#"1 2"#, r#"syntax"#),
];

#[test]
fn what_both_know_gives_the_same() {
    let document = serde_json::from_str(DOCUMENT).unwrap();
    let mut wrong = vec![];
    for (filter, expected) in TABLE {
        let given = match Jq::parse(filter) {
            Err(_) => "syntax".to_owned(),
            Ok(jq) => jq.apply(&document).map_or_else(|_| "error".into(), |found| json!(found).to_string()),
        };
        let same = match serde_json::from_str::<Value>(expected) {
            Ok(expected) => serde_json::from_str::<Value>(&given).is_ok_and(|given| given == expected),
            Err(_) => given == *expected,
        };
        if !same {
            wrong.push(format!("{filter}\n  expected {expected}\n  given    {given}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check_syntax(filter: &str, expected: Expect) {
    expected.assert_eq(&Jq::parse(filter).unwrap_err());
}

#[test]
fn what_is_wrong_with_a_filter_is_said_with_its_place() {
    check_syntax("", expect!["at character 1: the filter ends too early (the end)"]);
    check_syntax(
        ".items[] | selct(.id)",
        expect!["at character 12: there is no function `selct` (`selct(.id)`)"],
    );
    check_syntax("map(.a; .b)", expect!["at character 1: `map` takes 1 arguments, not 2 (`map(.a; .b)`)"]);
    check_syntax(
        ".a | $x",
        expect!["at character 6: there is no variable `$x`; name a value with `… as $x | …` (`$x`)"],
    );
    check_syntax("{a: 1, b", expect!["at character 9: `,` or `}` was expected here (the end)"]);
    check_syntax("\"open", expect![[r#"at character 1: the string does not end (`"open`)"#]]);
    check_syntax("if .a then 1", expect!["at character 13: `end` was expected here (the end)"]);
    check_syntax("1 < 2 < 3", expect!["at character 7: put one of the two into brackets (`< 3`)"]);
    check_syntax(
        "def f: f; f",
        expect!["at character 1: `def`: functions cannot be defined here (`def f: f; f`)"],
    );
    check_syntax(
        "$ENV.KEY",
        expect![
            "at character 1: there is no variable `$ENV`; name a value with `… as $ENV | …` (`$ENV.KEY`)"
        ],
    );
    check_syntax(
        "env.KEY",
        expect!["at character 1: `env`: a filter sees the answer and nothing else (`env.KEY`)"],
    );
    check_syntax(
        "[.[] | @csv]",
        expect!["at character 8: formats such as `@csv` do not exist here (`@csv]`)"],
    );
    check_syntax(
        ". as [$a] | $a",
        expect!["at character 6: a variable such as `$x` was expected here (`[$a] | $a`)"],
    );
    check_syntax("天气", expect!["at character 1: a value was expected here (`天气`)"]);
    check_syntax(
        &"(".repeat(500),
        expect!["at character 86: the filter is nested deeper than 64 levels (`((((((((((((`)"],
    );
    check_syntax(&".a?".repeat(80), expect!["at character 1: the filter is nested deeper than 64 levels"]);
    check_syntax(&"1+".repeat(1_100), expect!["at character 1: a filter has 2048 bytes at most"]);
}

fn error(filter: &str, value: Value) -> String {
    match Jq::parse(filter).unwrap().apply(&value) {
        Ok(found) => format!("it gave {} values", found.len()),
        Err(error) => error,
    }
}

#[test]
fn errors_say_what_was_there_instead() {
    assert_eq!(error(".a.b", json!({"a": "text"})), "string (\"text\") has no member `b`");
    assert_eq!(error(".[]", json!(5)), "number (5) has no items");
    assert_eq!(error("error({a: 1})", json!(null)), "object (with a)");
}

#[test]
fn nothing_takes_more_steps_than_it_may() {
    let too_many = "it takes too many steps";
    let numbers: Value = (0..50_000).collect::<Vec<_>>().into();
    for filter in [
        "[range(1e9)]",
        "[range(1e18; 0; -1)]",
        "reduce range(1e9) as $i (0; . + 1)",
        "[.[] as $a | .[] as $b | $a * $b]",
        "[.. | ..] | [.[] | ..] | map(..) | [.[], .[], .[]] | sort | unique | group_by(.)",
        "reduce range(20) as $i (.; . + .)",
        ". - .",
    ] {
        assert_eq!(error(filter, numbers.clone()), too_many, "{filter}");
    }
    // Small by sharing, large to whoever looks at it.
    let doubled = "reduce range(60) as $i (1; [., .])";
    for filter in ["", "| tojson", "| . == .", "| flatten", "| [..]", "| [paths]"] {
        assert_eq!(error(&format!("{doubled} {filter}"), json!(null)), too_many, "{filter}");
    }
    assert_eq!(
        error("reduce range(1000) as $i (1; [.])", json!(null)),
        "its value is nested deeper than 256 levels"
    );
    assert_eq!(
        error("reduce range(60) as $i (\"x\"; . + .)", json!(null)),
        "a text in it is larger than 4194304 bytes"
    );
    assert_eq!(error("\"x\" * 1e18", json!(null)), "a text in it is larger than 4194304 bytes");
    assert_eq!(error("[range(1e5)] | .[]", json!(null)), "it gives more than 10000 values");
    assert_eq!(error(".[1e9] = 1", json!([])), "number (1000000000) is out of range");
    assert!(error("test(\"(a{300}){300}\")", json!("a")).contains("is wrong"));
}

#[test]
fn work_on_text_is_paid_for_by_its_bytes() {
    let too_many = "it takes too many steps";
    // 4 MB of text: a hundred thousand copies would be 400 GB.
    let long = json!("x".repeat(4 << 20));
    for each in [
        "ascii_downcase",
        "ascii_upcase",
        "trim",
        "ltrim",
        "rtrim",
        "ltrimstr(\"x\")",
        "rtrimstr(\"x\")",
        "startswith($x)",
        "endswith($x)",
        "try tonumber catch .",
        "test(\"y\")",
        "tojson",
        "reverse",
        ".[1:]",
    ] {
        assert_eq!(error(&format!(". as $x | [range(1e5) | $x | {each}]"), long.clone()), too_many, "{each}");
    }
    // What is caught quotes nothing long.
    for each in ["{} | .[$x] | .a", "1 | .[$x]", "\"a\" | test($x)", "$x | fromjson"] {
        let filter = format!(". as $x | [range(10) | try ({each}) catch length] | max");
        let found = Jq::parse(&filter).unwrap().apply(&long);
        if let Ok(found) = found {
            assert!(found[0].as_u64().unwrap_or(0) <= 1000, "{each}: {found:?}");
        }
    }
}

#[test]
fn a_pattern_is_paid_for_by_its_size_for_each_character() {
    let text = json!("ab".repeat(200_000));
    assert_eq!(
        error("test(\"^[ab]*$\")", text.clone()),
        "it gave 1 values",
        "a plain pattern on a long text is served"
    );
    let dear = r#"test(".{40}c")"#;
    assert_eq!(error(dear, text.clone()), "it takes too many steps");
    assert_eq!(error(dear, json!("ab".repeat(100))), "it gave 1 values");
    assert!(error("test(.)", text).contains("1000 are the most"));
    assert_eq!(error(r#"test("\\p{L} {9}"; "x")"#, json!("a")), "`x` is no flag of a pattern");
    assert!(error(r#"test("(?x)\\p{L} {9}")"#, json!("a")).contains("flag `x`"));
}

#[test]
fn looking_for_items_in_items_is_paid_for_also_where_their_kinds_differ() {
    let (texts, numbers) = (vec![json!("a"); 40_000], vec![json!(1); 40_000]);
    let whole: Vec<Value> = [texts, vec![json!(1)]].concat();
    let value = json!({"whole": whole, "part": numbers});
    assert_eq!(error(". as $v | .whole | contains($v.part)", value), "it takes too many steps");
}

#[test]
fn a_sort_that_runs_out_of_steps_ends_with_an_error() {
    let mixed: Vec<u64> = (0..90_000_u64).map(|n| n.wrapping_mul(2_654_435_761) % 99_991).collect();
    for filter in
        ["sort", "sort_by([., .])", "group_by([.])", "unique_by([.])", "del(.[])", "del(.[range(9e4)])"]
    {
        assert_eq!(error(filter, json!(mixed)), "it takes too many steps", "{filter}");
    }
}

#[test]
fn what_is_nested_as_deeply_as_it_may_be_fits_the_stack() {
    for (open, close) in [
        ("[", "]"),
        ("{a: ", "}"),
        ("(1 + ", ")"),
        ("map(", ")"),
        ("[.[]? | ", "]"),
        ("if . then ", " else . end"),
        ("try ", ""),
        (". as $x | ", ""),
        ("reduce (1, 2) as $i (0; ", ")"),
        ("first(", ")"),
        ("[paths(", ")]"),
        ("\"\\(", ")\""),
        ("with_entries(", ")"),
        ("sort_by(", ")"),
        (". // ", ""),
        ("-", ""),
    ] {
        let deepest = (1..64)
            .rev()
            .find_map(|depth| Jq::parse(&format!("{}.{}", open.repeat(depth), close.repeat(depth))).ok());
        _ = deepest.unwrap().apply(&json!([[[{"a": 1}]]]));
    }
}

#[test]
fn the_guide_names_every_function() {
    let guide = include_str!("../../../../../docs/guide/tools.md");
    let (_, list) = guide.split_once("- `abs add").unwrap();
    let (list, _) = list.split_once('`').unwrap();
    let named: std::collections::BTreeSet<&str> = list.split_whitespace().chain(["abs", "add"]).collect();
    let known: std::collections::BTreeSet<&str> =
        syntax::Function::ALL.iter().map(|(name, ..)| *name).collect();
    assert_eq!(named, known);
}

fn pieces() -> impl Strategy<Value = String> {
    let words = TABLE.iter().flat_map(|(filter, _)| filter.split_inclusive(['|', ' ', '(', ';']));
    let words: Vec<String> = words.map(str::to_owned).collect();
    proptest::collection::vec(proptest::sample::select(words), 1..8).prop_map(|words| words.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|bool| json!(bool)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        "[a-cé🦀]{0,4}".prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(|items| json!(items)),
            proptest::collection::btree_map("[abin]|items|id|name", inner, 0..5)
                .prop_map(|members| json!(members)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_a_filter_or_an_error_and_every_filter_ends(filter in pieces(), value in value()) {
        if let Ok(jq) = Jq::parse(&filter) {
            _ = jq.apply(&value);
        }
    }

    #[test]
    fn any_characters_are_a_filter_or_an_error(filter in r#"[ -~é\n]{0,40}"#) {
        _ = Jq::parse(&filter);
    }

    #[test]
    fn what_the_table_knows_works_on_any_value(row in 0..TABLE.len(), value in value()) {
        if let Ok(jq) = Jq::parse(TABLE[row].0) {
            _ = jq.apply(&value);
        }
    }
}
