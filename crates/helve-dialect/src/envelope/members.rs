//! What each member of the object says about the call, given what the others have said.

use super::fields::Field;
use super::{ArgumentForm, Envelope, EnvelopeTarget, Naming};
use crate::calls::CallReport;
use helve_json::inspect;
use helve_json::scanner::ValueKind;

impl Envelope {
    /// What the member is, given what the call has shown so far: beside a `tool`, nearly any member may be an
    /// argument, and a declared parameter is one.
    pub(super) fn field_role(&self, report: &CallReport<'_, '_>) -> Field {
        let strong = self.call.naming == Naming::Strong;
        if strong && self.call.form != ArgumentForm::Nested {
            let key = self.key.trim_matches('"');
            let declared = report.call_name().is_some_and(|name| report.tools.has_parameter(name, key));
            let free = report.tools.is_unknown() && key != "type";
            let is_argument = match self.field {
                _ if declared => true,
                Field::Arguments | Field::Id => self.call.form == ArgumentForm::Flat,
                Field::Known | Field::Name | Field::Tool => free,
                _ => false,
            };
            if is_argument {
                return Field::Other;
            }
        }
        match self.field {
            Field::Name | Field::Tool | Field::Function if self.call.naming != Naming::None => Field::Known,
            Field::Arguments if self.call.form != ArgumentForm::Open => Field::Known,
            field => field,
        }
    }

    /// Whether the members are named after tools.
    pub(super) fn has_tool_names_as_keys(&self) -> bool {
        self.rules.keyed && !self.usual
    }

    /// A member that is named after a tool, or says something else about the call. Nothing but a declared tool is called
    /// without an object.
    pub(super) fn read_member_named_after_tool(
        &mut self,
        kind: ValueKind,
        report: &mut CallReport<'_, '_>,
    ) -> EnvelopeTarget {
        let key = inspect::decode_string(&self.key).unwrap_or_default();
        let name = key.trim();
        let declared = report.tools.resolve(name).is_some();
        let calls = kind == ValueKind::Object && self.field == Field::Other;
        if declared || calls && !name.is_empty() {
            self.recognised = true;
            self.call.naming = Naming::Strong;
            report.set_name(name);
            return self.begin_arguments(kind);
        }
        if self.field == Field::Id && kind == ValueKind::String && !self.wrapper {
            self.capture.clear();
            return EnvelopeTarget::Id;
        }
        EnvelopeTarget::Nowhere
    }

    /// A member beside the name: written out at once where it can only be an argument, kept where it is open.
    pub(super) fn read_extra_member(&mut self, report: &mut CallReport<'_, '_>) -> EnvelopeTarget {
        let key = self.key.trim_matches('"');
        let declared = report.call_name().is_some_and(|name| report.tools.has_parameter(name, key));
        if self.call.form == ArgumentForm::Nested {
            self.call.astray |= declared && !report.arguments_so_far().contains(&self.key);
            return EnvelopeTarget::Nowhere;
        }
        if self.call.naming == Naming::Strong {
            let open = match self.call.form {
                ArgumentForm::Flat => ", ",
                _ if self.call.members.is_empty() => "{",
                _ => {
                    let members = std::mem::take(&mut self.call.members);
                    report.push_arguments("{");
                    report.push_arguments(&members);
                    ", "
                }
            };
            self.call.form = ArgumentForm::Flat;
            report.push_arguments(open);
            report.push_arguments(&self.key);
            report.push_arguments(": ");
        } else {
            self.call.undeclared_member |= !declared;
            self.call.astray |= declared;
            if !self.call.members.is_empty() {
                self.call.members.push_str(", ");
            }
            self.call.members.push_str(&self.key);
            self.call.members.push_str(": ");
        }
        EnvelopeTarget::Member
    }

    pub(super) fn finish_key(&mut self, report: &mut CallReport<'_, '_>) -> bool {
        std::mem::swap(&mut self.key, &mut self.capture);
        let Some(key) = inspect::decode_string(&self.key) else {
            return false;
        };
        if self.has_tool_names_as_keys() {
            // A model may write the usual envelope all the same.
            let field = Field::from_key(&key);
            let usual = matches!(
                field,
                Field::Name | Field::Tool | Field::Function | Field::Arguments | Field::Calls
            );
            self.usual = usual && !self.wrapper && report.tools.resolve(&key).is_none();
            if !self.usual {
                self.field = field;
                return true;
            }
        }
        self.field = Field::from_key(&key);
        self.recognised |= self.field != Field::Other;
        self.call.described |= key == "description";
        self.call.parameters |= key == "parameters";
        // Unmarked JSON whose members are no call's is an answer in JSON, and should not be held back.
        if !self.rules.gated || self.field != Field::Other {
            return true;
        }
        match self.call.naming {
            // The name of the tool may come last.
            Naming::None => report.tools.any_has_parameter(&key),
            Naming::Strong => true,
            Naming::Weak => {
                self.call.form == ArgumentForm::Nested
                    || report.call_name().is_some_and(|name| report.tools.has_parameter(name, &key))
            }
        }
    }

    pub(super) fn finish_name(&mut self, strong: bool, report: &mut CallReport<'_, '_>) -> bool {
        let Some(name) = inspect::decode_string(&self.capture).filter(|name| !name.trim().is_empty()) else {
            return false;
        };
        if self.rules.gated && !report.tools.is_unknown() && report.tools.resolve(&name).is_none() {
            return false;
        }
        self.call.naming = if strong { Naming::Strong } else { Naming::Weak };
        report.set_name(name.trim());
        true
    }
}
