//! Which members of a JSON object are the call's name, id and arguments.
//!
//! Models wrap calls in many envelopes: `name` or `tool`, `arguments` or `parameters`, an object or a string with an
//! object in it, members beside the name, a `function` object within, a `tool_calls` array around. All are read in
//! one pass, in any order of members, while the text streams.

mod fields;
mod members;

use crate::calls::CallReport;
use fields::Field;
pub(crate) use fields::{holds_arguments, may_begin_with};
use helve_json::Repair;
use helve_json::inspect;
use helve_json::repair::Closing;
use helve_json::scanner::{JsonScanner, ScanEvent, StringFaults, ValueKind};
use helve_json::unescape::Unescaper;

/// What reading on led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnvelopeFlow {
    /// The chunk is used up.
    More,
    /// A call inside a wrapper is whole; the wrapper goes on.
    Call(usize),
    /// The object ended.
    Done(usize),
    /// It is JSON, but no call.
    Refused(usize),
    /// It is not JSON from here on.
    Bad(usize),
}

/// What an object must be to be a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EnvelopeRules {
    /// Without markup around it, only a call of a declared tool passes.
    pub(crate) gated: bool,
    /// Its members, mostly one, are named after tools.
    pub(crate) keyed: bool,
    /// Its arguments must be there, and be an object.
    pub(crate) strict: bool,
}

pub(crate) struct Envelope {
    scan: JsonScanner,
    rules: EnvelopeRules,
    /// Depth of the object that is the call.
    base: usize,
    /// Inside its `function` object.
    inner: bool,
    /// Calls stand inside it.
    wrapper: bool,
    /// It is written as calls usually are, where another way is expected.
    usual: bool,
    /// Something was read that belongs into an envelope.
    recognised: bool,
    call: CallFields,
    field: Field,
    into: EnvelopeTarget,
    /// The name of the member, as written.
    key: String,
    /// The text of a name or an id, as written.
    capture: String,
    encoded: Unescaper,
}

/// What is known of the call so far.
#[derive(Default)]
struct CallFields {
    naming: Naming,
    form: ArgumentForm,
    /// Members beside the name, while it is open whether they are the arguments.
    members: String,
    undeclared_member: bool,
    /// An argument stands beside the member that holds the arguments, if there is one, and not among them.
    astray: bool,
    described: bool,
    parameters: bool,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum Naming {
    #[default]
    None,
    /// By `name`, which many objects have.
    Weak,
    /// By a member that only calls have.
    Strong,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum ArgumentForm {
    #[default]
    Open,
    /// The arguments are a member.
    Nested,
    /// The arguments stand beside the name.
    Flat,
}

/// Where the bytes of the value being read go.
#[derive(Clone, Copy, PartialEq)]
enum EnvelopeTarget {
    Nowhere,
    Key,
    Name {
        strong: bool,
    },
    Id,
    Arguments,
    /// Arguments that are no container: `null` means none, anything else is for the schema to refuse.
    Scalar,
    Encoded,
    Member,
}

impl Envelope {
    pub(crate) fn new(rules: EnvelopeRules) -> Self {
        Self {
            scan: JsonScanner::new(1),
            rules,
            base: 0,
            inner: false,
            wrapper: false,
            usual: false,
            recognised: false,
            call: CallFields::default(),
            field: Field::Other,
            into: EnvelopeTarget::Nowhere,
            key: String::new(),
            capture: String::new(),
            encoded: Unescaper::default(),
        }
    }

    /// Begins anew, with the buffers it has.
    pub(crate) fn restart(&mut self) {
        self.scan = JsonScanner::new(1);
        self.base = 0;
        self.inner = false;
        self.wrapper = false;
        self.usual = false;
        self.recognised = false;
        self.field = Field::Other;
        self.into = EnvelopeTarget::Nowhere;
    }

    /// Whether plain text from here on is nothing but argument text.
    pub(crate) fn is_plain_text(&self) -> bool {
        let through = match self.into {
            EnvelopeTarget::Arguments => true,
            EnvelopeTarget::Encoded => self.encoded.is_plain(),
            EnvelopeTarget::Member => self.call.form == ArgumentForm::Flat,
            _ => false,
        };
        through && self.scan.in_plain_text()
    }

    /// Whether it has shown itself to be meant as a call, well or badly written.
    pub(crate) fn is_recognised(&self) -> bool {
        self.recognised
    }

    pub(crate) fn string_faults(&self) -> StringFaults {
        self.scan.faults()
    }

    pub(crate) fn depth(&self) -> usize {
        self.scan.depth()
    }

    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut CallReport<'_, '_>) -> EnvelopeFlow {
        let bytes = text.as_bytes();
        let mut pos = from;
        // Where the bytes of the value being read begin in this chunk.
        let mut begin = from;
        loop {
            match self.scan.run(bytes, &mut pos) {
                ScanEvent::More => {
                    self.push_text(&text[begin..pos], report);
                    return EnvelopeFlow::More;
                }
                ScanEvent::Bad => return EnvelopeFlow::Bad(pos),
                ScanEvent::Start(kind) => {
                    if !self.start_value(kind, report) {
                        return EnvelopeFlow::Refused(pos);
                    }
                    // An encoded object is what stands between the quotes.
                    begin = if self.into == EnvelopeTarget::Encoded { pos } else { pos - 1 };
                }
                ScanEvent::Stop => {
                    let end = if self.into == EnvelopeTarget::Encoded { pos - 1 } else { pos };
                    let was = self.into;
                    if was != EnvelopeTarget::Nowhere {
                        self.push_text(&text[begin..end], report);
                    }
                    self.into = EnvelopeTarget::Nowhere;
                    match self.finish_value(was, report) {
                        ValueEnd::On => {}
                        ValueEnd::Call => return EnvelopeFlow::Call(pos),
                        ValueEnd::Done => return EnvelopeFlow::Done(pos),
                        ValueEnd::Refused => return EnvelopeFlow::Refused(pos),
                    }
                }
            }
        }
    }

    fn start_value(&mut self, kind: ValueKind, report: &mut CallReport<'_, '_>) -> bool {
        let opened = matches!(kind, ValueKind::Object | ValueKind::Array) as usize;
        let depth = self.scan.depth() - opened;
        if depth == self.base {
            self.call = CallFields::default();
            return kind == ValueKind::Object;
        }
        if depth < self.base {
            // Members of the wrapper beside its calls.
            return true;
        }
        if kind == ValueKind::Key {
            self.capture.clear();
            self.into = EnvelopeTarget::Key;
            return true;
        }
        if self.has_tool_names_as_keys() {
            self.into = self.read_member_named_after_tool(kind, report);
            return true;
        }
        self.into = match self.field_role(report) {
            Field::Name | Field::Tool if kind == ValueKind::String => {
                EnvelopeTarget::Name { strong: self.field == Field::Tool }
            }
            Field::Name | Field::Tool => return false,
            Field::Function if kind == ValueKind::String => EnvelopeTarget::Name { strong: true },
            Field::Function if kind == ValueKind::Object && !self.inner => {
                self.inner = true;
                self.scan.watch_depth(self.base + 2);
                EnvelopeTarget::Nowhere
            }
            Field::Calls if kind == ValueKind::Array && !self.wrapper => {
                self.wrapper = true;
                self.base += 2;
                self.scan.watch_depth(self.base + 1);
                EnvelopeTarget::Nowhere
            }
            Field::Id if kind == ValueKind::String => EnvelopeTarget::Id,
            Field::Arguments => self.begin_arguments(kind),
            Field::Other => self.read_extra_member(report),
            _ => EnvelopeTarget::Nowhere,
        };
        if matches!(self.into, EnvelopeTarget::Name { .. } | EnvelopeTarget::Id) {
            self.capture.clear();
        }
        true
    }

    /// The arguments begin.
    fn begin_arguments(&mut self, kind: ValueKind) -> EnvelopeTarget {
        self.call.form = ArgumentForm::Nested;
        match kind {
            ValueKind::String => {
                self.encoded = Unescaper::default();
                EnvelopeTarget::Encoded
            }
            ValueKind::Scalar => {
                self.capture.clear();
                EnvelopeTarget::Scalar
            }
            _ => EnvelopeTarget::Arguments,
        }
    }

    fn push_text(&mut self, text: &str, report: &mut CallReport<'_, '_>) {
        match self.into {
            EnvelopeTarget::Nowhere => {}
            EnvelopeTarget::Key
            | EnvelopeTarget::Name { .. }
            | EnvelopeTarget::Id
            | EnvelopeTarget::Scalar => self.capture.push_str(text),
            EnvelopeTarget::Arguments => report.push_arguments(text),
            EnvelopeTarget::Encoded => self.encoded.feed(text, |decoded| report.push_arguments(decoded)),
            EnvelopeTarget::Member if self.call.form == ArgumentForm::Flat => report.push_arguments(text),
            EnvelopeTarget::Member => self.call.members.push_str(text),
        }
    }

    fn finish_value(&mut self, was: EnvelopeTarget, report: &mut CallReport<'_, '_>) -> ValueEnd {
        let passed = match was {
            EnvelopeTarget::Nowhere => return self.close_container(report),
            EnvelopeTarget::Key => self.finish_key(report),
            EnvelopeTarget::Name { strong } => self.finish_name(strong, report),
            EnvelopeTarget::Id => {
                if let Some(id) = inspect::decode_string(&self.capture) {
                    report.set_id(id.into_owned());
                }
                true
            }
            EnvelopeTarget::Encoded => {
                self.encoded.finish(|decoded| report.push_arguments(decoded));
                // Inside `function` they are written so by rule.
                if decode_arguments(report) && !self.inner {
                    report.add_repairs(vec![Repair::Encoding]);
                }
                true
            }
            EnvelopeTarget::Scalar => {
                if self.capture != "null" {
                    report.push_arguments(&self.capture);
                }
                true
            }
            EnvelopeTarget::Arguments | EnvelopeTarget::Member => true,
        };
        if passed && self.has_tool_names_as_keys() && self.call.form == ArgumentForm::Nested {
            // The member is a call, and whole.
            self.wrapper = true;
            return if self.finish_object(report) { ValueEnd::Call } else { ValueEnd::Refused };
        }
        if passed { ValueEnd::On } else { ValueEnd::Refused }
    }

    /// A value that goes nowhere, or a container around values, has ended.
    fn close_container(&mut self, report: &mut CallReport<'_, '_>) -> ValueEnd {
        let depth = self.scan.depth();
        if self.inner && depth == self.base + 1 {
            self.inner = false;
            self.scan.watch_depth(self.base + 1);
            return ValueEnd::On;
        }
        if depth == self.base {
            if self.base == 0 && self.wrapper {
                return ValueEnd::Done;
            }
            if !self.finish_object(report) {
                return ValueEnd::Refused;
            }
            return if self.base == 0 { ValueEnd::Done } else { ValueEnd::Call };
        }
        if self.wrapper && self.base > 0 && depth + 1 == self.base {
            // The array of calls is over; nothing else in the wrapper matters.
            self.base = 0;
            self.scan.watch_depth(0);
        }
        ValueEnd::On
    }

    /// The object is over: is it a call, and what are its arguments?
    fn finish_object(&mut self, report: &mut CallReport<'_, '_>) -> bool {
        let call = std::mem::take(&mut self.call);
        // A model that repeats a tool's declaration does not call it.
        if call.naming == Naming::None || call.described && call.parameters {
            return false;
        }
        // It would run without the argument.
        if call.astray && call.form == ArgumentForm::Nested {
            return false;
        }
        if self.rules.strict
            && !(call.form == ArgumentForm::Nested && report.arguments_so_far().starts_with('{'))
        {
            return false;
        }
        match call.form {
            ArgumentForm::Flat => report.push_arguments("}"),
            ArgumentForm::Nested if report.arguments_so_far().is_empty() => report.push_arguments("{}"),
            ArgumentForm::Nested => {}
            ArgumentForm::Open if call.members.is_empty() => {
                if self.rules.gated && report.tools.is_unknown() {
                    return false;
                }
                report.push_arguments("{}");
            }
            ArgumentForm::Open => {
                if call.naming == Naming::Weak && call.undeclared_member {
                    return false;
                }
                report.push_arguments("{");
                report.push_arguments(&call.members);
                report.push_arguments("}");
            }
        }
        true
    }
}

enum ValueEnd {
    On,
    Call,
    Done,
    Refused,
}

/// Arguments that came as a string with JSON inside; says whether they are an object. What is none even when repaired stays
/// the string it was.
pub(crate) fn decode_arguments(report: &mut CallReport<'_, '_>) -> bool {
    let text = report.arguments_so_far();
    if inspect::is_object(text) {
        return true;
    }
    if text.trim().is_empty() {
        let blanks = (!text.is_empty()).then_some(Repair::Blanks);
        report.replace_arguments(String::new(), blanks.into_iter().collect());
    } else if let Some(repaired) =
        report.repair(text, Closing::AsWritten).filter(|r| inspect::is_object(&r.text))
    {
        report.replace_arguments(repaired.text, repaired.changes);
        return true;
    } else {
        let text = helve_json::coerce::quote_text(text);
        report.replace_arguments(text, vec![Repair::Quotes]);
    }
    false
}
