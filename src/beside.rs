//! Work beside the threads that poll sockets: to parse, plan, certify and print a statement may
//! keep a processor for long, and everybody whose sockets that thread polls would wait.
//!
//! As many pieces of work are done at a time for one user as there are processors, and a few times
//! as many for all, in the order of arrival; the system divides the processors among them. A
//! statement whose work was brief the last time is worked on where it is polled: to hand a thread's
//! other tasks on costs more than it takes.

use answer::PerUser;
use rustix::time::{ClockId, clock_gettime};
use std::future::poll_fn;
use std::num::NonZero;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::thread::available_parallelism;
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::block_in_place;

/// A piece of work that nobody else waits for takes at most this much of a processor; how long it took by the clock says more of what
/// else the machine did.
const BRIEF: Duration = Duration::from_millis(1);
/// Pieces of work at a time, for each processor.
const PIECES: usize = 4;

static USERS: LazyLock<PerUser<Semaphore>> = LazyLock::new(PerUser::default);
static ALL: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(PIECES * *PROCESSORS)));
/// Known once: to ask for it reads files of the system.
static PROCESSORS: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, NonZero::get));

/// A step of the work on a statement.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A statement is run as it is written.
    Run,
    /// Columns of a statement are told.
    Describe,
    /// Parameters get values.
    Bind,
    /// A statement is run as it was bound.
    Execute,
}

/// Steps of a statement that were brief the last time.
#[derive(Clone, Debug, Default)]
pub struct Brief(Arc<[AtomicBool; 4]>);

impl Brief {
    fn of(&self, step: Step) -> &AtomicBool {
        let [run, describe, bind, execute] = &*self.0;
        match step {
            Step::Run => run,
            Step::Describe => describe,
            Step::Bind => bind,
            Step::Execute => execute,
        }
    }
}

/// The user's, and one of all.
type Permits = [Option<OwnedSemaphorePermit>; 2];

/// The place in the queue of a piece of work.
struct Place {
    user: Arc<Semaphore>,
    waiting: Option<Pin<Box<dyn Future<Output = Permits> + Send>>>,
}

impl Place {
    fn of(user: &str) -> Self {
        Self { user: USERS.of(user, || Semaphore::new(*PROCESSORS)), waiting: None }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Permits> {
        let own = self.user.clone();
        if self.waiting.is_none()
            && let Ok(own) = own.clone().try_acquire_owned()
            && let Ok(one) = ALL.clone().try_acquire_owned()
        {
            return Poll::Ready([Some(own), Some(one)]);
        }
        // They are never closed.
        let permits = async move { [own.acquire_owned().await.ok(), ALL.clone().acquire_owned().await.ok()] };
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(permits));
        let permits = ready!(waiting.as_mut().poll(cx));
        self.waiting = None;
        Poll::Ready(permits)
    }
}

/// A step of a user's statement, and where it is worked on.
pub struct Beside {
    brief: Brief,
    step: Step,
    /// None for a step that was brief the last time.
    place: Option<Place>,
}

impl Beside {
    /// Of this user's statement.
    pub fn of(user: &str, brief: Brief, step: Step) -> Self {
        let was_brief = brief.of(step).load(Ordering::Relaxed);
        Self { brief, step, place: (!was_brief).then(|| Place::of(user)) }
    }

    /// Whether it was brief the last time.
    pub fn was_brief(&self) -> bool {
        self.place.is_none()
    }

    /// Does the work of the step, piece by piece.
    pub async fn work<T>(mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut longest = Duration::ZERO;
        let done = poll_fn(|cx| {
            let permits = match &mut self.place {
                Some(place) => Some(ready!(place.poll(cx))),
                None => None,
            };
            let begun = on_this_thread();
            let done = match permits {
                Some(_) => off_sockets(|| work.as_mut().poll(cx)),
                None => work.as_mut().poll(cx),
            };
            longest = longest.max(on_this_thread().saturating_sub(begun));
            done
        })
        .await;
        self.brief.of(self.step).store(longest <= BRIEF, Ordering::Relaxed);
        done
    }
}

/// The processor's time that this thread has had.
fn on_this_thread() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

/// Runs what may take a processor for a while. What else this thread would poll, another polls meanwhile.
pub fn off_sockets<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}
