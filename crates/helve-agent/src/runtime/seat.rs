//! Who drives a run: one driver at a time in this process, found by whoever has something to say to it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use helve_types::RunId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::command::Command;

/// The runs that have a driver, or will have one in a moment.
#[derive(Default)]
pub(crate) struct Seats {
    taken: Mutex<HashMap<RunId, UnboundedSender<Command>>>,
}

/// The right to drive one run. Given up when it is dropped, whatever the reason.
pub(crate) struct Seat {
    run: RunId,
    seats: Arc<Seats>,
    commands: UnboundedSender<Command>,
}

impl Seats {
    fn taken(&self) -> MutexGuard<'_, HashMap<RunId, UnboundedSender<Command>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self) -> usize {
        self.taken().len()
    }

    pub(crate) fn is_taken(&self, run: RunId) -> bool {
        self.taken().contains_key(&run)
    }

    /// Takes the seat of a run, with the commands for whoever sits there; none if somebody does.
    pub(crate) fn take(self: &Arc<Self>, run: RunId) -> Option<(Seat, UnboundedReceiver<Command>)> {
        let mut taken = self.taken();
        if taken.contains_key(&run) {
            return None;
        }
        Some(self.sit(&mut taken, run))
    }

    /// Passes a command to the run's driver. Where there is none, the sender gets the seat, with the command waiting
    /// in it, and must see to it.
    pub(crate) fn send(
        self: &Arc<Self>,
        run: RunId,
        command: Command,
    ) -> Option<(Seat, UnboundedReceiver<Command>)> {
        let mut taken = self.taken();
        let command = match taken.get(&run) {
            Some(driver) => match driver.send(command) {
                Ok(()) => return None,
                // It has just stopped listening.
                Err(unsent) => unsent.0,
            },
            None => command,
        };
        let (seat, commands) = self.sit(&mut taken, run);
        // The receiver is at hand: this cannot fail.
        _ = seat.commands.send(command);
        Some((seat, commands))
    }

    fn sit(
        self: &Arc<Self>,
        taken: &mut HashMap<RunId, UnboundedSender<Command>>,
        run: RunId,
    ) -> (Seat, UnboundedReceiver<Command>) {
        let (commands, receiver) = unbounded_channel();
        taken.insert(run, commands.clone());
        (Seat { run, seats: self.clone(), commands }, receiver)
    }
}

impl Seat {
    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    /// Leaves the seat unless a command has come in; nobody can send one in between.
    pub(crate) fn leave(&self, commands: &UnboundedReceiver<Command>) -> bool {
        let mut taken = self.seats.taken();
        if !commands.is_empty() {
            return false;
        }
        self.vacate(&mut taken);
        true
    }

    /// Another may sit here already.
    fn vacate(&self, taken: &mut HashMap<RunId, UnboundedSender<Command>>) {
        if taken.get(&self.run).is_some_and(|known| known.same_channel(&self.commands)) {
            taken.remove(&self.run);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let seats = self.seats.clone();
        self.vacate(&mut seats.taken());
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
        let seats = Arc::new(Seats::default());
        let (seat, _commands) = seats.take(run()).unwrap();
        assert!(seats.take(run()).is_none());
        drop(seat);
        assert!(seats.take(run()).is_some());
        assert!(!seats.is_taken(run()));
    }

    #[test]
    fn a_command_reaches_the_driver_or_makes_one() {
        let seats = Arc::new(Seats::default());
        let (seat, mut commands) = seats.send(run(), stop()).unwrap();
        assert!(seats.send(run(), stop()).is_none());
        assert!(!seat.leave(&commands), "two commands wait");
        while commands.try_recv().is_ok() {}
        assert!(seat.leave(&commands));
        assert!(!seats.is_taken(run()));
    }

    #[test]
    fn whoever_leaves_late_does_not_take_the_successors_seat_away() {
        let seats = Arc::new(Seats::default());
        let (old, commands) = seats.take(run()).unwrap();
        drop(commands);
        let (_new, _commands) = seats.send(run(), stop()).unwrap();
        drop(old);
        assert!(seats.is_taken(run()));
    }
}
