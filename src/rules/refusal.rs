//! A refusal: what every call that cannot be granted or checked returns. All wording of errors that
//! users see is in this file.

pub mod rows;

/// Which SQLSTATE a refusal is reported under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// 55000: stale token, lost lease, nothing presented, cannot be checked here.
    NotInState,
    /// 55P03: held or busy where an error was asked for.
    Busy,
    /// 22023: bad name, owner, ttl, mode, setting.
    InvalidValue,
    /// 22004: NULL where a value is needed.
    NullValue,
    /// 42704: unknown lease or guard.
    UnknownObject,
    /// 42710: the guard is there already, in another form.
    DuplicateObject,
    /// 42P01: unknown table.
    UnknownTable,
    /// 42703: unknown column.
    UnknownColumn,
    /// 42501: not allowed for this role.
    NotAllowed,
    /// 39P01: a guard attached by hand in a wrong way.
    TriggerProtocol,
    /// 42809: a table that cannot be guarded.
    WrongObjectType,
    /// 25006: a writing call on a standby or in a read-only transaction.
    ReadOnly,
    /// 2200H: no token is left.
    TokensUsedUp,
    /// 0A000: PREPARE TRANSACTION of a change of ownership.
    NotSupported,
    /// 54000: more than a documented limit.
    LimitExceeded,
}

/// A refused call: a short message, the facts, and the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

pub type Result<T> = std::result::Result<T, Refusal>;

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None, hint: None }
    }

    pub fn detail(mut self, text: impl Into<String>) -> Self {
        self.detail = Some(text.into());
        self
    }

    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hint = Some(text.into());
        self
    }
}

/// A text shortened for a message, so that a million characters do not fill the log, and without
/// control characters.
fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let printable = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.into() };
    let shown: String = text.chars().take(MOST).map(printable).collect();
    if text.chars().nth(MOST).is_some() { shown + "..." } else { shown }
}

// --- arguments -------------------------------------------------------------------------------

pub fn null(argument: &str) -> Refusal {
    Refusal::new(Code::NullValue, format!("{argument} must not be null"))
        .detail("A call without a value cannot be checked.")
        .hint(format!("Give a value for {argument}."))
}

pub fn bad_name(name: &str) -> Refusal {
    Refusal::new(
        Code::InvalidValue,
        format!("invalid lease name \"{}\"", shown(name)),
    )
    .detail(format!(
        "A lease name has 1 to 200 characters from A-Z, a-z, 0-9 and . _ : @ / -; this one has {}.",
        name.chars().count()
    ))
    .hint(NAME_HINT)
}

const NAME_HINT: &str = "Choose a name that matches ^[A-Za-z0-9._:@/-]{1,200}$.";

/// Of another name than a lease's, by the same rule: a job, a queue.
pub fn bad_other_name(argument: &str, name: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid {argument} \"{}\"", shown(name)))
        .detail(format!(
            "{argument} must have 1 to 200 characters from A-Z, a-z, 0-9 and . _ : @ / -; this one \
             has {}.",
            name.chars().count()
        ))
        .hint(NAME_HINT)
}

pub fn bad_owner(owner: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid owner \"{}\"", shown(owner)))
        .detail(format!(
            "An owner has 1 to 200 characters and no control characters; this one has {}.",
            owner.chars().count()
        ))
        .hint("Name one incarnation of a process, for instance by host, pid and start time.")
}

/// Of a text that is free but for its length and control characters: a run, a key, a worker.
pub fn bad_label(argument: &str, text: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid {argument} \"{}\"", shown(text)))
        .detail(format!(
            "{argument} must have 1 to 200 characters and no control characters; this one has {}.",
            text.chars().count()
        ))
        .hint(format!("Give a shorter {argument}, or a hash of it."))
}

pub fn bad_span(argument: &str, why: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid {argument}: {why}"))
        .detail(format!(
            "{argument} must be a whole number of milliseconds from 1 ms to 1 day, without months."
        ))
        .hint("Give an interval such as '15 s'.")
}

pub fn zero_is_taken_too(bad_span: Refusal) -> Refusal {
    bad_span.hint("Give an interval such as '15 s', or '0'.")
}

pub fn out_of_range(argument: &str, given: i64, least: i64, most: i64) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("{argument} is out of range: {given}"))
        .detail(format!("It must be from {least} to {most}."))
        .hint("Give a number in this range.")
}

pub fn infinite_time(argument: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid {argument}: it is not finite"))
        .detail("Such a time never comes, or is always past.")
        .hint("Give a point in time.")
}

pub fn bad_choice(argument: &str, given: &str, choices: &[&str]) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid {argument} \"{}\"", shown(given)))
        .detail(format!("The values of {argument} are {}.", choices.join(", ")))
        .hint(format!("Use one of the values of {argument}."))
}

pub fn bad_token(token: i64) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid token {token}"))
        .detail("Tokens are positive numbers.")
        .hint("Present the token that the grant returned.")
}

pub fn bad_setting(why: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, "invalid value for parameter \"pg_lease.token\"")
        .detail(format!("{why}."))
        .hint("Write lease=token, several separated by commas, for instance 'arbitrum=41'.")
}

pub fn bad_signature() -> Refusal {
    Refusal::new(Code::InvalidValue, "invalid signature")
        .detail("A signature has 86 characters from A-Z, a-z, 0-9 and - _.")
        .hint("Give the text that lease_token_sign returned.")
}

pub fn bad_public_key(text: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid public_key \"{}\"", shown(text)))
        .detail(
            "A public key has 43 characters from A-Z, a-z, 0-9 and - _, and is a point of Ed25519.",
        )
        .hint("Give the text that lease_key_make returned.")
}

pub fn bad_pattern(pattern: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid pattern \"{}\"", shown(pattern)))
        .detail("A pattern is one lease name, the beginning of names with * after it, or * alone.")
        .hint("Write for instance 'mover', 'shard:*' or '*'.")
}

pub fn bad_client_time() -> Refusal {
    Refusal::new(Code::InvalidValue, "invalid client_now: it is not finite")
        .detail("The skew of an infinite time has no meaning.")
        .hint("Pass the client's own clock.")
}

pub fn too_many(what: &str, most: usize, given: usize) -> Refusal {
    Refusal::new(Code::LimitExceeded, format!("too many {what} in one call"))
        .detail(format!("At most {most} are taken; {given} were given."))
        .hint("Split the call.")
}

/// Of two arrays, each told by its argument and its length.
pub fn unequal_arrays(first: (&str, i64), second: (&str, i64)) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("{} and {} do not pair up", first.0, second.0))
        .detail(format!("There are {} {} and {} {}.", first.1, first.0, second.1, second.0))
        .hint(format!("Give as many {} as {}, in the same order.", second.0, first.0))
}

// --- where a call cannot run -------------------------------------------------------------------

pub fn read_only(function: &str, standby: bool) -> Refusal {
    let place = if standby { "on a standby" } else { "in a read-only transaction" };
    let hint = if standby {
        "Connect to the primary, for instance with target_session_attrs=read-write."
    } else {
        "Begin a READ WRITE transaction."
    };
    Refusal::new(Code::ReadOnly, format!("cannot run {function}() {place}"))
        .detail("The call writes.")
        .hint(hint)
}

pub fn standby_check(lease: &str) -> Refusal {
    Refusal::new(Code::NotInState, format!("lease \"{lease}\" cannot be checked on a standby"))
        .detail("A standby does not know the newest token.")
        .hint("Connect to the primary, for instance with target_session_attrs=read-write.")
}

pub fn prepare_after_change(lease: &str) -> Refusal {
    Refusal::new(
        Code::NotSupported,
        format!("cannot prepare a transaction that changed who owns lease \"{lease}\""),
    )
    .detail("A prepared change of ownership would hold the lease for as long as nobody commits it.")
    .hint("Change ownership in a transaction of its own and commit that first.")
}

pub fn prepare_after_run(job: &str) -> Refusal {
    Refusal::new(
        Code::NotSupported,
        format!("cannot prepare a transaction that began a run of job \"{job}\""),
    )
    .detail("Nobody else could begin the run, or learn who did, for as long as nobody commits it.")
    .hint("Begin the run in a transaction of its own and commit that first.")
}

// --- leases --------------------------------------------------------------------------------------

pub fn unknown_lease(lease: &str) -> Refusal {
    Refusal::new(Code::UnknownObject, format!("lease \"{lease}\" does not exist"))
        .detail("Nobody has acquired it, or it was dropped.")
        .hint("Look at lease.status for the leases there are.")
}

pub fn busy(lease: &str, who: &str, waited_ms: u64) -> Refusal {
    Refusal::new(Code::Busy, format!("lease \"{lease}\" is busy"))
        .detail(format!("Waited {waited_ms} ms for {who}."))
        .hint("Try again, or raise lock_timeout.")
}

/// `why` is a full sentence.
pub fn cannot_wait(lease: &str, why: &str) -> Refusal {
    Refusal::new(Code::NotInState, format!("cannot wait for lease \"{lease}\" in this transaction"))
        .detail(why)
        .hint("Wait for a lease in a READ COMMITTED transaction of its own.")
}

/// `fact` says who has the lease.
pub fn waited_in_vain(lease: &str, waited_ms: i32, fact: &str) -> Refusal {
    Refusal::new(Code::Busy, format!("lease \"{lease}\" did not become free in time"))
        .detail(format!("Waited {waited_ms} ms. {fact}"))
        .hint("Ask again, or wait for longer.")
}

pub fn guarded_work_open(waited_ms: u64) -> Refusal {
    Refusal::new(Code::Busy, "leases are in use")
        .detail(format!("Waited {waited_ms} ms for open transactions that use leases."))
        .hint("End the workers' transactions, or raise lock_timeout, and try again.")
}

pub fn not_idle(lease: &str, owner: &str, expires_at: &str) -> Refusal {
    Refusal::new(Code::Busy, format!("lease \"{lease}\" is held"))
        .detail(format!("It is held by \"{owner}\" until {expires_at}."))
        .hint("Release it first, or wait until it has expired.")
}

pub fn in_quiet_period(lease: &str, owner: &str, until: &str) -> Refusal {
    Refusal::new(Code::Busy, format!("lease \"{lease}\" is in its quiet period"))
        .detail(format!(
            "\"{owner}\" has let it expire, and it is granted to nobody before {until}."
        ))
        .hint("Wait until then, or take it over and release it.")
}

pub fn guards_tables(lease: &str, table: &str) -> Refusal {
    Refusal::new(Code::NotInState, format!("lease \"{lease}\" guards table \"{table}\""))
        .detail("Without the lease nobody could write the table.")
        .hint("Call lease_unguard for the table first.")
}

/// `fact` says what the row says now.
pub fn lost(lease: &str, token: i64, fact: &str) -> Refusal {
    Refusal::new(
        Code::NotInState,
        format!("lease \"{lease}\" is no longer held with token {token}"),
    )
    .detail(fact.to_owned())
    .hint("Stop the work, and acquire the lease again before going on.")
}

pub fn stalled(lease: &str, token: i64, since: &str, stall_ms: i32) -> Refusal {
    Refusal::new(
        Code::NotInState,
        format!("lease \"{lease}\" is stalled under token {token}, and is not renewed"),
    )
    .detail(format!(
        "Its progress has not moved since {since}, and the lease was acquired to stall after \
         {stall_ms} ms."
    ))
    .hint("Find out what the work waits for, and renew with a progress that has moved.")
}

// --- roles ---------------------------------------------------------------------------------------

pub fn not_allowed(role: &str, right: &str, lease: &str) -> Refusal {
    Refusal::new(Code::NotAllowed, format!("role \"{role}\" may not {right} lease \"{lease}\""))
        .detail("No pattern in lease.access that covers this name gives the role that right.")
        .hint("Let the extension's owner call lease_allow() for the role.")
}

/// `taker` is None if the role that took the lease has been dropped.
pub fn other_role(lease: &str, role: &str, taker: Option<&str>) -> Refusal {
    let detail = match taker {
        Some(taker) => {
            format!("Role \"{taker}\" took it, and role \"{role}\" is not a member of that role.")
        }
        None => "The role that took it has been dropped.".to_owned(),
    };
    Refusal::new(Code::NotAllowed, format!("lease \"{lease}\" was taken by another role"))
        .detail(detail)
        .hint("Work as the role that took the lease, or acquire it anew once it is free.")
}

pub fn unknown_role(role: &str) -> Refusal {
    Refusal::new(Code::UnknownObject, format!("role \"{}\" does not exist", shown(role)))
        .detail("Role names are taken as they are, without folding to lower case.")
        .hint("Name an existing role.")
}

pub fn nothing_allowed(role: &str, pattern: &str) -> Refusal {
    Refusal::new(
        Code::UnknownObject,
        format!("role \"{}\" is not allowed pattern \"{}\"", shown(role), shown(pattern)),
    )
    .detail("There is nothing to take away.")
    .hint("Look at lease.access for what is allowed.")
}

pub fn tokens_used_up(lease: &str) -> Refusal {
    Refusal::new(Code::TokensUsedUp, format!("no token is left for lease \"{lease}\""))
        .detail("The sequence lease.token has reached the end of bigint.")
        .hint("Restore the leases into a new database, whose tokens start at the present time.")
}

// --- the fleet -----------------------------------------------------------------------------------

pub fn bad_shards(shards: i32) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid number of shards {shards}"))
        .detail("A fleet has 1 to 65,536 shards.")
        .hint("Give the same number to all workers of a fleet, and never change it lightly.")
}

pub fn bad_shard(shard: i32) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid shard {shard}"))
        .detail("Shards are numbered from 0 to 65,535 at most.")
        .hint("Give a number that lease_shard_of returns.")
}

pub fn bad_worker(worker: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid worker \"{}\"", shown(worker)))
        .detail("A worker has 1 to 200 characters, no control characters and no #.")
        .hint("Name the worker without #, and tell its processes apart by incarnation.")
}

pub fn bad_fleet(fleet: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("invalid fleet \"{}\"", shown(fleet)))
        .detail("A fleet's name begins its leases' names: A-Z, a-z, 0-9 and . _ : @ / -.")
        .hint("Choose a name of 1 to 100 such characters.")
}

pub fn not_a_singleton(name: &str) -> Refusal {
    Refusal::new(Code::InvalidValue, format!("\"{name}\" is a shard and no singleton"))
        .detail("A fleet's workers share its shards by themselves.")
        .hint("Name singletons otherwise, for instance 'singleton:sweeper'.")
}

pub fn fenced(owner: &str, newer: &str) -> Refusal {
    Refusal::new(Code::NotInState, format!("worker \"{owner}\" is fenced"))
        .detail(format!("A newer incarnation of it has passed: \"{newer}\"."))
        .hint("Stop this process: it holds nothing any more.")
}

pub fn worker_elsewhere(owner: &str, fleet: &str) -> Refusal {
    Refusal::new(Code::NotInState, format!("worker \"{owner}\" is in fleet \"{fleet}\""))
        .detail("The owner of a lease is in one fleet only.")
        .hint("Give the worker another name.")
}

pub fn worker_of_other_role(owner: &str, role: &str) -> Refusal {
    Refusal::new(Code::NotAllowed, format!("worker \"{owner}\" is another role's"))
        .detail(format!(
            "Another role passes as it, and role \"{role}\" is not a member of that role."
        ))
        .hint("Give the worker another name, or work as the role that began it.")
}

pub fn worker_busy(owner: &str) -> Refusal {
    Refusal::new(Code::Busy, format!("worker \"{owner}\" is busy"))
        .detail("Another transaction runs a pass of it, or has run one and is still open.")
        .hint("Run one pass at a time, in a transaction of its own, and try again.")
}

pub fn other_shards(fleet: &str, there: u32, given: u32, worker: &str) -> Refusal {
    Refusal::new(Code::NotInState, format!("fleet \"{fleet}\" has {there} shards"))
        .detail(format!(
            "Worker \"{worker}\" passes with that number, this call names {given}: the same key would \
             be in two shards at once."
        ))
        .hint("Stop all workers of the fleet before the number is changed.")
}

pub fn no_workers() -> Refusal {
    Refusal::new(Code::InvalidValue, "no workers to share the shards among")
        .detail("The array of workers is empty, so no shard has an owner.")
        .hint("Name at least one worker.")
}

// --- runs and queues ----------------------------------------------------------------------------

pub fn run_not_begun(job: &str, run: &str) -> Refusal {
    Refusal::new(
        Code::UnknownObject,
        format!("run \"{}\" of job \"{}\" was not begun", shown(run), shown(job)),
    )
    .detail("lease_once has not answered true for it, or not in a transaction that committed.")
    .hint("Call lease_once first, and commit.")
}

/// `worker` has claimed the key since, if anybody.
pub fn claim_lost(queue: &str, key: &str, generation: i64, worker: Option<&str>) -> Refusal {
    let fact = match worker {
        Some(worker) => format!("It has been claimed by \"{}\" since.", shown(worker)),
        None => "It is not claimed, or not in the queue any more.".to_owned(),
    };
    Refusal::new(
        Code::NotInState,
        format!(
            "key \"{}\" of queue \"{queue}\" is not claimed under generation {generation}",
            shown(key)
        ),
    )
    .detail(fact)
    .hint("Roll the work back; claim for longer than the work takes.")
}

// --- the fence -----------------------------------------------------------------------------------

pub fn nothing_presented(lease: &str, table: Option<&str>) -> Refusal {
    let detail = match table {
        Some(table) => format!("Table \"{table}\" takes writes under a token of this lease only."),
        None => "The check needs a token of this lease.".to_owned(),
    };
    Refusal::new(Code::NotInState, format!("no token presented for lease \"{lease}\""))
        .detail(detail)
        .hint(format!(
            "Call lease_fence_check('{lease}', token) first in the transaction, or set \
             pg_lease.token to '{lease}=token'."
        ))
}

pub fn never_granted(lease: &str, token: i64) -> Refusal {
    Refusal::new(Code::NotInState, format!("token {token} was never granted for lease \"{lease}\""))
        .detail(
            "The lease does not exist in this database: nobody has acquired it, or it was dropped.",
        )
        .hint("Acquire the lease and present the token that the grant returns.")
}

pub fn takeover_under_way(lease: &str, token: i64) -> Refusal {
    lost(lease, token, "A takeover of the lease is under way.")
}

pub fn change_under_way(lease: &str, token: i64, leases: usize) -> Refusal {
    Refusal::new(
        Code::NotInState,
        format!("lease \"{lease}\" cannot be confirmed with token {token}"),
    )
    .detail(format!(
        "The transaction wrote under {leases} leases, and a change of ownership, of one lease or \
         another, did not end in time."
    ))
    .hint("Run the transaction again, or write under fewer leases at once.")
}

pub fn expired(lease: &str, token: i64, since: &str) -> Refusal {
    Refusal::new(Code::NotInState, format!("lease \"{lease}\" has expired under token {token}"))
        .detail(format!("It expired at {since}, and the guard asks for a live lease."))
        .hint("Renew the lease, then run the transaction again.")
}

pub fn granted_in_this_snapshot(lease: &str, token: i64) -> Refusal {
    Refusal::new(
        Code::NotInState,
        format!("token {token} of lease \"{lease}\" cannot be used in the transaction that got it"),
    )
    .detail(
        "The transaction is REPEATABLE READ or SERIALIZABLE, and its snapshot may miss the \
         predecessor's last write.",
    )
    .hint("Commit first, then write under the token in the next transaction.")
}

pub fn snapshot_too_old(lease: &str, token: i64) -> Refusal {
    Refusal::new(
        Code::NotInState,
        format!("token {token} of lease \"{lease}\" is newer than this transaction's snapshot"),
    )
    .detail(
        "The transaction is REPEATABLE READ or SERIALIZABLE and began before the grant, so it may \
         miss the predecessor's last write.",
    )
    .hint("Roll back, and do the work in a new transaction.")
}

pub fn below_newest(lease: &str, token: i64, newest: i64) -> Refusal {
    Refusal::new(Code::NotInState, format!("token {token} of lease \"{lease}\" is stale"))
        .detail(format!("This database has obeyed token {newest} already."))
        .hint("Stop the work, and acquire the lease again before going on.")
}

pub fn unraised_in_snapshot(lease: &str, token: i64) -> Refusal {
    Refusal::new(
        Code::NotInState,
        format!("token {token} of lease \"{lease}\" is new to this database"),
    )
    .detail(
        "The transaction is REPEATABLE READ or SERIALIZABLE, and its snapshot may miss the \
         predecessor's last write.",
    )
    .hint(format!("Call lease_fence_raise('{lease}', {token}) in a transaction of its own first."))
}

pub fn may_not_raise(lease: &str, token: i64) -> Refusal {
    Refusal::new(
        Code::NotAllowed,
        format!("token {token} of lease \"{lease}\" is new to this database"),
    )
    .detail("A check is open to everybody, so it raises the newest token only for who may do that.")
    .hint("Grant the role EXECUTE on lease_fence_raise, or let a guarded write raise it.")
}

pub fn token_from_the_future(lease: &str, token: i64, reads_as: &str) -> Refusal {
    Refusal::new(Code::NotInState, format!("token {token} was never granted for lease \"{lease}\""))
        .detail(format!(
            "It reads as a grant at {reads_as}, more than a day ahead of this database's clock."
        ))
        .hint(
            "Present the token that the grant returned; the extension's owner can raise the fence.",
        )
}

// --- signatures ----------------------------------------------------------------------------------

pub fn not_signed(lease: &str, token: i64, table: Option<&str>) -> Refusal {
    let detail = match table {
        Some(table) => format!("Table \"{table}\" takes signed tokens of this lease only."),
        None => "A guard in this database takes signed tokens of this lease only, so nothing else \
                 raises its newest token."
            .to_owned(),
    };
    Refusal::new(Code::NotInState, format!("token {token} of lease \"{lease}\" is not signed"))
        .detail(detail)
        .hint(
            "Present it with the signature that lease_token_sign returned where the lease was \
             granted.",
        )
}

pub fn not_trusted(lease: &str, token: i64, trusted: usize) -> Refusal {
    Refusal::new(
        Code::NotInState,
        format!("the signature of token {token} of lease \"{lease}\" is not good here"),
    )
    .detail(format!(
        "Of the keys that this database trusts ({trusted}), none has made it for this lease."
    ))
    .hint("Look at lease.keys here and where the lease was granted.")
}

pub fn sign_before_commit(lease: &str, token: i64) -> Refusal {
    Refusal::new(
        Code::NotInState,
        format!(
            "token {token} of lease \"{lease}\" cannot be signed in the transaction that got it"
        ),
    )
    .detail("A grant that is rolled back was none, and its signature would outlive it.")
    .hint("Commit first, then have the token signed.")
}

pub fn no_signing_key() -> Refusal {
    Refusal::new(Code::UnknownObject, "there is no key to sign tokens with")
        .detail("No key was made in this database; keys do not come along with a copy of it.")
        .hint("Call lease_key_make, and lease_key_trust with what it returns on each resource.")
}

pub fn not_a_key_of_ours(public_key: &str) -> Refusal {
    Refusal::new(Code::UnknownObject, format!("no key \"{}\" was made here", shown(public_key)))
        .detail("It is not the public half of a key that lease_key_make made in this database.")
        .hint("Look at lease.keys for the keys there are.")
}

pub fn not_a_trusted_key(public_key: &str) -> Refusal {
    Refusal::new(Code::UnknownObject, format!("key \"{}\" is not trusted", shown(public_key)))
        .detail("There is nothing to take back.")
        .hint("Look at lease.keys for the keys there are.")
}

// --- guards --------------------------------------------------------------------------------------

pub fn attached_wrongly(what: &str) -> Refusal {
    Refusal::new(Code::TriggerProtocol, "a pg_lease guard is attached in a wrong way")
        .detail(format!("{what}."))
        .hint("Drop the trigger and attach it with lease_guard().")
}

pub fn unknown_table(oid: u32) -> Refusal {
    Refusal::new(Code::UnknownTable, format!("table with OID {oid} does not exist"))
        .detail("It may have been dropped meanwhile.")
        .hint("Name an existing table.")
}

pub fn not_guardable(table: &str, why: &str) -> Refusal {
    Refusal::new(Code::WrongObjectType, format!("\"{table}\" cannot be guarded"))
        .detail(format!("{why}."))
        .hint("Guard an ordinary or partitioned table whose whole tree can be checked.")
}

pub fn open_parent(table: &str, lease: &str, parent: &str) -> Refusal {
    Refusal::new(Code::WrongObjectType, format!("\"{table}\" cannot be guarded alone"))
        .detail(format!(
            "Its parent \"{parent}\" has no guard of lease \"{lease}\", and a statement that names the \
             parent would write it unseen."
        ))
        .hint("Guard the topmost parent; the guard covers everything below it.")
}

pub fn not_owner(table: &str) -> Refusal {
    Refusal::new(Code::NotAllowed, format!("must be owner of table \"{table}\""))
        .detail("A guard decides who may write the table, so only its owner may set or remove it.")
        .hint("Call as the table's owner.")
}

pub fn other_guard(table: &str, lease: &str, there: &str, asked: &str) -> Refusal {
    Refusal::new(
        Code::DuplicateObject,
        format!("table \"{table}\" is already guarded by lease \"{lease}\""),
    )
    .detail(format!("The guard there is {there}; asked for was {asked}."))
    .hint("Call lease_unguard first, in the same transaction.")
}

pub fn guard_disabled(table: &str, lease: &str) -> Refusal {
    Refusal::new(
        Code::DuplicateObject,
        format!("table \"{table}\" has a guard of lease \"{lease}\" that is disabled"),
    )
    .detail("A disabled guard lets every writer through.")
    .hint("Call lease_unguard first, or enable the trigger.")
}

pub fn no_guard(table: &str, lease: Option<&str>) -> Refusal {
    let message = match lease {
        Some(lease) => format!("table \"{table}\" is not guarded by lease \"{lease}\""),
        None => format!("table \"{table}\" is not guarded"),
    };
    Refusal::new(Code::UnknownObject, message)
        .detail("There is no guard to remove.")
        .hint("Look at lease.guards for the guards there are.")
}

pub fn guarded_through_parent(table: &str, parent: &str) -> Refusal {
    Refusal::new(Code::NotInState, format!("table \"{table}\" is guarded through its parent"))
        .detail(format!(
            "Its parent \"{parent}\" has the same guard; a hole in the tree is no guard."
        ))
        .hint("Call lease_unguard for the parent.")
}
