//! Which runs have a driver: one driver at a time in this process, found by those who have a command for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helve_agent::Command;
use helve_types::RunId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The runs that have a driver, or will have one in a moment.
#[derive(Default)]
pub(crate) struct DriverSlots {
    /// Commands are boxed: a channel reserves room for 32 of them, and most runs never get one.
    taken: Mutex<HashMap<RunId, UnboundedSender<Box<Command>>>>,
}

/// The right to drive one run. Given up when it is dropped, whatever the reason.
pub(crate) struct DriverSlot {
    run: RunId,
    slots: Arc<DriverSlots>,
    commands: UnboundedSender<Box<Command>>,
}

impl DriverSlots {
    fn lock_slots(&self) -> MutexGuard<'_, HashMap<RunId, UnboundedSender<Box<Command>>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self) -> usize {
        self.lock_slots().len()
    }

    pub(crate) fn is_taken(&self, run: RunId) -> bool {
        self.lock_slots().contains_key(&run)
    }

    /// Takes the slot of a run, with the commands for its driver; none if it has one.
    pub(crate) fn take_slot(
        self: &Arc<Self>,
        run: RunId,
    ) -> Option<(DriverSlot, UnboundedReceiver<Box<Command>>)> {
        let mut taken = self.lock_slots();
        if taken.contains_key(&run) {
            return None;
        }
        Some(self.open_slot(&mut taken, run))
    }

    /// Passes a command to the run's driver. Where there is none, the sender gets the slot, with the command waiting
    /// in it, and must make a driver.
    pub(crate) fn send_or_take_slot(
        self: &Arc<Self>,
        run: RunId,
        command: Command,
    ) -> Option<(DriverSlot, UnboundedReceiver<Box<Command>>)> {
        let mut taken = self.lock_slots();
        let command = Box::new(command);
        let command = match taken.get(&run) {
            Some(driver) => match driver.send(command) {
                Ok(()) => return None,
                // It has just stopped listening.
                Err(unsent) => unsent.0,
            },
            None => command,
        };
        let (slot, commands) = self.open_slot(&mut taken, run);
        // The receiver is at hand: this cannot fail.
        _ = slot.commands.send(command);
        Some((slot, commands))
    }

    fn open_slot(
        self: &Arc<Self>,
        taken: &mut HashMap<RunId, UnboundedSender<Box<Command>>>,
        run: RunId,
    ) -> (DriverSlot, UnboundedReceiver<Box<Command>>) {
        let (commands, receiver) = unbounded_channel();
        taken.insert(run, commands.clone());
        (DriverSlot { run, slots: self.clone(), commands }, receiver)
    }
}

impl DriverSlot {
    pub(crate) fn run_id(&self) -> RunId {
        self.run
    }

    /// Gives the slot up unless a command has come in; none can be sent in between.
    pub(crate) fn release_unless_commanded(&self, commands: &UnboundedReceiver<Box<Command>>) -> bool {
        let mut taken = self.slots.lock_slots();
        if !commands.is_empty() {
            return false;
        }
        self.remove_own_entry(&mut taken);
        true
    }

    /// Another driver may have it already.
    fn remove_own_entry(&self, taken: &mut HashMap<RunId, UnboundedSender<Box<Command>>>) {
        if taken.get(&self.run).is_some_and(|known| known.same_channel(&self.commands)) {
            taken.remove(&self.run);
        }
    }
}

impl Drop for DriverSlot {
    fn drop(&mut self) {
        let slots = self.slots.clone();
        self.remove_own_entry(&mut slots.lock_slots());
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    fn run() -> RunId {
        RunId(uuid::Uuid::from_u128(7))
    }

    fn stop() -> Command {
        Command::Cancel { by: "mei".into(), reply: oneshot::channel().0 }
    }

    #[test]
    fn a_run_has_one_driver_at_a_time() {
        let slots = Arc::new(DriverSlots::default());
        let (slot, _commands) = slots.take_slot(run()).unwrap();
        assert!(slots.take_slot(run()).is_none());
        drop(slot);
        assert!(slots.take_slot(run()).is_some());
        assert!(!slots.is_taken(run()));
    }

    #[test]
    fn a_command_reaches_the_driver_or_makes_one() {
        let slots = Arc::new(DriverSlots::default());
        let (slot, mut commands) = slots.send_or_take_slot(run(), stop()).unwrap();
        assert!(slots.send_or_take_slot(run(), stop()).is_none());
        assert!(!slot.release_unless_commanded(&commands), "two commands wait");
        while commands.try_recv().is_ok() {}
        assert!(slot.release_unless_commanded(&commands));
        assert!(!slots.is_taken(run()));
    }

    #[test]
    fn a_slot_that_is_released_late_is_not_taken_from_the_next_driver() {
        let slots = Arc::new(DriverSlots::default());
        let (old, commands) = slots.take_slot(run()).unwrap();
        drop(commands);
        let (_new, _commands) = slots.send_or_take_slot(run(), stop()).unwrap();
        drop(old);
        assert!(slots.is_taken(run()));
    }
}
