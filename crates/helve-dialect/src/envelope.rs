//! Which members of a JSON object are the call's name, id and arguments.
//!
//! Models wrap calls in many envelopes: `name` or `tool`, `arguments` or `parameters`, an object or a string with an
//! object in it, members beside the name, a `function` object within, a `tool_calls` array around. All are read in
//! one pass, in any order of members, while the text streams.

mod fields;
mod members;

use crate::calls::Report;
use fields::Field;
pub(crate) use fields::{holds_arguments, may_begin_with};
use helve_json::Repair;
use helve_json::inspect;
use helve_json::repair::Closing;
use helve_json::scanner::{Event, Faults, Kind, Scan};
use helve_json::unescape::Unescape;

/// What reading on led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
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
pub(crate) struct Rules {
    /// Without markup around it, only a call of a declared tool passes.
    pub(crate) gated: bool,
    /// Its members, mostly one, are named after tools.
    pub(crate) keyed: bool,
    /// Its arguments must be there, and be an object.
    pub(crate) strict: bool,
}

pub(crate) struct Envelope {
    scan: Scan,
    rules: Rules,
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
    call: Fields,
    field: Field,
    into: Target,
    /// The name of the member, as written.
    key: String,
    /// The text of a name or an id, as written.
    capture: String,
    encoded: Unescape,
}

/// What is known of the call so far.
#[derive(Default)]
struct Fields {
    naming: Naming,
    form: Form,
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
enum Form {
    #[default]
    Open,
    /// The arguments are a member.
    Nested,
    /// The arguments stand beside the name.
    Flat,
}

/// Where the bytes of the value being read go.
#[derive(Clone, Copy, PartialEq)]
enum Target {
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
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            scan: Scan::new(1),
            rules,
            base: 0,
            inner: false,
            wrapper: false,
            usual: false,
            recognised: false,
            call: Fields::default(),
            field: Field::Other,
            into: Target::Nowhere,
            key: String::new(),
            capture: String::new(),
            encoded: Unescape::default(),
        }
    }

    /// Begins anew, with the buffers it has.
    pub(crate) fn restart(&mut self) {
        self.scan = Scan::new(1);
        self.base = 0;
        self.inner = false;
        self.wrapper = false;
        self.usual = false;
        self.recognised = false;
        self.field = Field::Other;
        self.into = Target::Nowhere;
    }

    /// Whether plain text from here on is nothing but argument text.
    pub(crate) fn flows(&self) -> bool {
        let through = match self.into {
            Target::Arguments => true,
            Target::Encoded => self.encoded.is_plain(),
            Target::Member => self.call.form == Form::Flat,
            _ => false,
        };
        through && self.scan.in_plain_text()
    }

    /// Whether it has shown itself to be meant as a call, well or badly written.
    pub(crate) fn is_recognised(&self) -> bool {
        self.recognised
    }

    pub(crate) fn faults(&self) -> Faults {
        self.scan.faults()
    }

    pub(crate) fn depth(&self) -> usize {
        self.scan.depth()
    }

    pub(crate) fn feed(&mut self, text: &str, from: usize, report: &mut Report<'_, '_>) -> Flow {
        let bytes = text.as_bytes();
        let mut pos = from;
        // Where the bytes of the value being read begin in this chunk.
        let mut begin = from;
        loop {
            match self.scan.run(bytes, &mut pos) {
                Event::More => {
                    self.take(&text[begin..pos], report);
                    return Flow::More;
                }
                Event::Bad => return Flow::Bad(pos),
                Event::Start(kind) => {
                    if !self.start(kind, report) {
                        return Flow::Refused(pos);
                    }
                    // An encoded object is what stands between the quotes.
                    begin = if self.into == Target::Encoded { pos } else { pos - 1 };
                }
                Event::Stop => {
                    let end = if self.into == Target::Encoded { pos - 1 } else { pos };
                    let was = self.into;
                    if was != Target::Nowhere {
                        self.take(&text[begin..end], report);
                    }
                    self.into = Target::Nowhere;
                    match self.stop(was, report) {
                        Stop::On => {}
                        Stop::Call => return Flow::Call(pos),
                        Stop::Done => return Flow::Done(pos),
                        Stop::Refused => return Flow::Refused(pos),
                    }
                }
            }
        }
    }

    fn start(&mut self, kind: Kind, report: &mut Report<'_, '_>) -> bool {
        let opened = matches!(kind, Kind::Object | Kind::Array) as usize;
        let depth = self.scan.depth() - opened;
        if depth == self.base {
            self.call = Fields::default();
            return kind == Kind::Object;
        }
        if depth < self.base {
            // Members of the wrapper beside its calls.
            return true;
        }
        if kind == Kind::Key {
            self.capture.clear();
            self.into = Target::Key;
            return true;
        }
        if self.is_keyed() {
            self.into = self.keyed(kind, report);
            return true;
        }
        self.into = match self.role(report) {
            Field::Name | Field::Tool if kind == Kind::String => {
                Target::Name { strong: self.field == Field::Tool }
            }
            Field::Name | Field::Tool => return false,
            Field::Function if kind == Kind::String => Target::Name { strong: true },
            Field::Function if kind == Kind::Object && !self.inner => {
                self.inner = true;
                self.scan.watch(self.base + 2);
                Target::Nowhere
            }
            Field::Calls if kind == Kind::Array && !self.wrapper => {
                self.wrapper = true;
                self.base += 2;
                self.scan.watch(self.base + 1);
                Target::Nowhere
            }
            Field::Id if kind == Kind::String => Target::Id,
            Field::Arguments => self.arguments(kind),
            Field::Other => self.member(report),
            _ => Target::Nowhere,
        };
        if matches!(self.into, Target::Name { .. } | Target::Id) {
            self.capture.clear();
        }
        true
    }

    /// The arguments begin.
    fn arguments(&mut self, kind: Kind) -> Target {
        self.call.form = Form::Nested;
        match kind {
            Kind::String => {
                self.encoded = Unescape::default();
                Target::Encoded
            }
            Kind::Scalar => {
                self.capture.clear();
                Target::Scalar
            }
            _ => Target::Arguments,
        }
    }

    fn take(&mut self, text: &str, report: &mut Report<'_, '_>) {
        match self.into {
            Target::Nowhere => {}
            Target::Key | Target::Name { .. } | Target::Id | Target::Scalar => self.capture.push_str(text),
            Target::Arguments => report.arguments(text),
            Target::Encoded => self.encoded.feed(text, |decoded| report.arguments(decoded)),
            Target::Member if self.call.form == Form::Flat => report.arguments(text),
            Target::Member => self.call.members.push_str(text),
        }
    }

    fn stop(&mut self, was: Target, report: &mut Report<'_, '_>) -> Stop {
        let passed = match was {
            Target::Nowhere => return self.closed(report),
            Target::Key => self.key_read(report),
            Target::Name { strong } => self.name_read(strong, report),
            Target::Id => {
                if let Some(id) = inspect::unquoted(&self.capture) {
                    report.id(id.into_owned());
                }
                true
            }
            Target::Encoded => {
                self.encoded.finish(|decoded| report.arguments(decoded));
                // Inside `function` they are written so by rule.
                if decoded_arguments(report) && !self.inner {
                    report.repaired(vec![Repair::Encoding]);
                }
                true
            }
            Target::Scalar => {
                if self.capture != "null" {
                    report.arguments(&self.capture);
                }
                true
            }
            Target::Arguments | Target::Member => true,
        };
        if passed && self.is_keyed() && self.call.form == Form::Nested {
            // The member is a call, and whole.
            self.wrapper = true;
            return if self.whole(report) { Stop::Call } else { Stop::Refused };
        }
        if passed { Stop::On } else { Stop::Refused }
    }

    /// A value that goes nowhere, or a container around values, has ended.
    fn closed(&mut self, report: &mut Report<'_, '_>) -> Stop {
        let depth = self.scan.depth();
        if self.inner && depth == self.base + 1 {
            self.inner = false;
            self.scan.watch(self.base + 1);
            return Stop::On;
        }
        if depth == self.base {
            if self.base == 0 && self.wrapper {
                return Stop::Done;
            }
            if !self.whole(report) {
                return Stop::Refused;
            }
            return if self.base == 0 { Stop::Done } else { Stop::Call };
        }
        if self.wrapper && self.base > 0 && depth + 1 == self.base {
            // The array of calls is over; nothing else in the wrapper matters.
            self.base = 0;
            self.scan.watch(0);
        }
        Stop::On
    }

    /// The object is over: is it a call, and what are its arguments?
    fn whole(&mut self, report: &mut Report<'_, '_>) -> bool {
        let call = std::mem::take(&mut self.call);
        // A model that repeats a tool's declaration does not call it.
        if call.naming == Naming::None || call.described && call.parameters {
            return false;
        }
        // It would run without the argument.
        if call.astray && call.form == Form::Nested {
            return false;
        }
        if self.rules.strict && !(call.form == Form::Nested && report.arguments_so_far().starts_with('{')) {
            return false;
        }
        match call.form {
            Form::Flat => report.arguments("}"),
            Form::Nested if report.arguments_so_far().is_empty() => report.arguments("{}"),
            Form::Nested => {}
            Form::Open if call.members.is_empty() => {
                if self.rules.gated && report.tools.is_unknown() {
                    return false;
                }
                report.arguments("{}");
            }
            Form::Open => {
                if call.naming == Naming::Weak && call.undeclared_member {
                    return false;
                }
                report.arguments("{");
                report.arguments(&call.members);
                report.arguments("}");
            }
        }
        true
    }
}

enum Stop {
    On,
    Call,
    Done,
    Refused,
}

/// Arguments that came as a string with JSON inside; says whether they are an object. What is none even when repaired stays
/// the string it was.
pub(crate) fn decoded_arguments(report: &mut Report<'_, '_>) -> bool {
    let text = report.arguments_so_far();
    if inspect::is_object(text) {
        return true;
    }
    if text.trim().is_empty() {
        let blanks = (!text.is_empty()).then_some(Repair::Blanks);
        report.arguments_are(String::new(), blanks.into_iter().collect());
    } else if let Some(repaired) =
        report.repair(text, Closing::AsWritten).filter(|r| inspect::is_object(&r.text))
    {
        report.arguments_are(repaired.text, repaired.changes);
        return true;
    } else {
        let text = helve_json::coerce::quoted(text);
        report.arguments_are(text, vec![Repair::Quotes]);
    }
    false
}
