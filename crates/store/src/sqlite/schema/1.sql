-- Times are whole milliseconds, identifiers their 16 bytes, versions and positions plain numbers. Tables are WITHOUT
-- ROWID if they are read by their key.

-- A uid is never reused, so rows of other tables may keep the uid of a removed account.
CREATE TABLE account (
  uid INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  ver INTEGER NOT NULL,
  given_name TEXT,
  family_name TEXT,
  public INTEGER NOT NULL,
  operator INTEGER NOT NULL,
  password TEXT,
  created_ms INTEGER NOT NULL,
  removed INTEGER NOT NULL,
  disabled INTEGER NOT NULL DEFAULT 0,
  -- Sessions, tokens and grants count in the epoch in which they were made.
  credential_epoch INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Three sizes. A picture that was deleted has three empty ones.
CREATE TABLE picture (
  uid INTEGER PRIMARY KEY,
  ver INTEGER NOT NULL,
  small BLOB NOT NULL,
  medium BLOB NOT NULL,
  large BLOB NOT NULL
) STRICT;

CREATE TABLE key (
  hash BLOB PRIMARY KEY,
  id INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  name TEXT NOT NULL,
  writes INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER,
  revoked_ms INTEGER,
  used_ms INTEGER,
  parent BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX key_owner ON key (owner, created_ms, id);

CREATE TABLE application (
  key TEXT PRIMARY KEY,
  sealed_secret BLOB NOT NULL,
  name TEXT NOT NULL,
  callback TEXT NOT NULL,
  rsa_key BLOB,
  owner INTEGER,
  created_ms INTEGER NOT NULL,
  removed_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX application_owner ON application (owner, created_ms, key);

-- Edges by follower, including ended ones.
CREATE TABLE following (
  follower INTEGER NOT NULL,
  followee INTEGER NOT NULL,
  ver INTEGER NOT NULL,
  follows INTEGER NOT NULL,
  since_ms INTEGER NOT NULL,
  from_ms INTEGER,
  from_aid BLOB,
  PRIMARY KEY (follower, followee)
) STRICT, WITHOUT ROWID;

-- Edges by followee, live ones only, written in the same transaction. seq: the position at which the edge was
-- created: backfill delivers activities accepted before it, fan-out those accepted after it.
CREATE TABLE follower (
  followee INTEGER NOT NULL,
  follower INTEGER NOT NULL,
  ver INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (followee, follower)
) STRICT, WITHOUT ROWID;

-- Service, type and verb as one number. Rows are never changed or deleted: processes cache them.
CREATE TABLE facet (
  id INTEGER PRIMARY KEY,
  service TEXT NOT NULL,
  kind TEXT NOT NULL,
  verb TEXT NOT NULL,
  UNIQUE (service, kind, verb)
) STRICT;

-- The content of an activity, a message of the codec. With a rowid, because long rows fill the pages of such tables better.
-- received_ms: that of the activity; NULL if the content has expired and is empty. The row stays, because deleting one
-- would search all activities for a reference to it.
CREATE TABLE body (
  id INTEGER PRIMARY KEY,
  received_ms INTEGER,
  content BLOB NOT NULL
) STRICT;
CREATE INDEX body_received ON body (received_ms) WHERE received_ms IS NOT NULL;

-- flags: visibility + 4 * deleted + 8 * pulled. addressed: uids, 8 bytes each. prior_*: the widest visibility and all
-- recipients of the versions before the current one.
CREATE TABLE activity (
  aid BLOB PRIMARY KEY,
  ver INTEGER NOT NULL,
  actor INTEGER NOT NULL,
  facet INTEGER NOT NULL REFERENCES facet,
  received_ms INTEGER NOT NULL,
  published_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  flags INTEGER NOT NULL,
  addressed BLOB NOT NULL,
  prior_visibility INTEGER,
  prior_addressed BLOB,
  body INTEGER NOT NULL REFERENCES body
) STRICT, WITHOUT ROWID;

CREATE TABLE claim (
  actor INTEGER NOT NULL,
  service TEXT NOT NULL,
  source_id TEXT NOT NULL,
  aid BLOB NOT NULL REFERENCES activity,
  ver INTEGER NOT NULL,
  fingerprint BLOB NOT NULL,
  deleted INTEGER NOT NULL,
  PRIMARY KEY (actor, service, source_id)
) STRICT, WITHOUT ROWID;

-- Collections. run: facet * 4 + reason; flags: visibility + 4 * retracted + 8 * prior + 32 * pulled, where prior is 3
-- - the prior visibility, or 0 without one; seq: position of arrival. Keys ascend and pages are read backwards: new
-- rows then come at the right end of their run, where SQLite leaves pages 84 % full behind them. Descending keys,
-- appended at the left end, leave them half full.
CREATE TABLE entry (
  uid INTEGER NOT NULL,
  run INTEGER NOT NULL,
  received_ms INTEGER NOT NULL,
  aid BLOB NOT NULL,
  published_ms INTEGER NOT NULL,
  actor INTEGER NOT NULL,
  ver INTEGER NOT NULL,
  flags INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (uid, run, received_ms, aid)
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_published ON entry (uid, run, published_ms, aid);
CREATE INDEX entry_arrival ON entry (uid, seq, aid);
-- Arrivals of authored entries; there may be many more of other entries.
CREATE INDEX entry_own ON entry (uid, seq, aid) WHERE run % 4 = 0;

-- The runs of an account with the newest times in each, so a page skips the runs that it does not need. oldest_ms: no
-- entry of the run was received earlier, so the expiry finds the runs with expired entries.
CREATE TABLE run_of (
  uid INTEGER NOT NULL,
  run INTEGER NOT NULL,
  received_ms INTEGER NOT NULL,
  published_ms INTEGER NOT NULL,
  oldest_ms INTEGER NOT NULL,
  PRIMARY KEY (uid, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_oldest ON run_of (oldest_ms);

CREATE TABLE removal (
  uid INTEGER NOT NULL,
  aid BLOB NOT NULL,
  ver INTEGER NOT NULL,
  PRIMARY KEY (uid, aid)
) STRICT, WITHOUT ROWID;

-- Positions at which something changed for an account without an entry: an edge, or a visibility.
CREATE TABLE change (
  uid INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (uid, seq)
) STRICT, WITHOUT ROWID;

-- The delivery log. A task's row is deleted when it is acknowledged, and its number is never reused. work: a message of
-- the codec.
CREATE TABLE task (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  work BLOB NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before_ms INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Failed tasks until their retry is due. They are outside the log, so that they do not hold the floor.
CREATE TABLE waiting (
  number INTEGER PRIMARY KEY,
  work BLOB NOT NULL,
  attempts INTEGER NOT NULL,
  not_before_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX waiting_due ON waiting (not_before_ms);

CREATE TABLE dead_letter (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  work BLOB NOT NULL,
  attempts INTEGER NOT NULL,
  error TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT;

-- stage: 0 push, 1 preparing, 2 pull, 3 reverted.
CREATE TABLE fanout_state (
  uid INTEGER PRIMARY KEY,
  ver INTEGER NOT NULL,
  stage INTEGER NOT NULL
) STRICT;

-- pulled is assigned to a pair once and stays; the other columns belong to the latest edge between the two.
CREATE TABLE fanout_mode (
  follower INTEGER NOT NULL,
  followee INTEGER NOT NULL,
  pulled INTEGER NOT NULL,
  ver INTEGER NOT NULL,
  follows INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (follower, followee)
) STRICT, WITHOUT ROWID;
-- Covering indexes: SQLite wants the columns of the condition too.
CREATE INDEX fanout_mode_pulled ON fanout_mode (follower, followee, seq, pulled, follows) WHERE pulled AND follows;
CREATE INDEX fanout_mode_pushed ON fanout_mode (followee, follower, seq, pulled, follows) WHERE NOT pulled AND follows;

-- dormancy: 0 active, 1 dormant, 2 catching up; seq: the floor when the account became dormant.
CREATE TABLE delivery_state (
  uid INTEGER PRIMARY KEY,
  read_ms INTEGER,
  ver INTEGER NOT NULL DEFAULT 0,
  dormancy INTEGER NOT NULL DEFAULT 0,
  seq INTEGER
) STRICT;

-- seq: active for activities accepted after this position; NULL is dormant. Rows outlive their edge, so that a late
-- write of an earlier version finds the later one.
CREATE TABLE edge_dormancy (
  followee INTEGER NOT NULL,
  follower INTEGER NOT NULL,
  ver INTEGER NOT NULL,
  seq INTEGER,
  PRIMARY KEY (followee, follower)
) STRICT, WITHOUT ROWID;

CREATE TABLE fact (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- OAuth temporary credentials. progress: 0 requested, 1 allowed, 2 refused, 3 exchanged.
CREATE TABLE temporary (
  key TEXT PRIMARY KEY,
  sealed_secret BLOB NOT NULL,
  consumer TEXT NOT NULL,
  callback TEXT,
  writes INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  progress INTEGER NOT NULL,
  allowed_by INTEGER,
  allowed_epoch INTEGER,
  verifier BLOB,
  token TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX temporary_expires ON temporary (expires_ms);

-- OAuth access tokens.
CREATE TABLE token (
  key TEXT PRIMARY KEY,
  sealed_secret BLOB NOT NULL,
  consumer TEXT NOT NULL,
  owner INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  writes INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER,
  revoked_ms INTEGER,
  used_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX token_owner ON token (owner, created_ms, key);

-- Browser sessions.
CREATE TABLE session (
  hash BLOB PRIMARY KEY,
  owner INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  password BLOB NOT NULL,
  device TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  used_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_expires ON session (expires_ms);
CREATE INDEX session_owner ON session (owner, created_ms, hash);

-- Invitations and password resets. reset: the account whose password is reset; NULL is an invitation. A used ticket stays
-- until it expires, so that it cannot be added again.
CREATE TABLE ticket (
  hash BLOB PRIMARY KEY,
  reset INTEGER,
  made_by INTEGER,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  used INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX ticket_expires ON ticket (expires_ms);

-- Networks from which an account has signed in, by a keyed hash.
CREATE TABLE network (
  owner INTEGER NOT NULL,
  hash BLOB NOT NULL,
  expires_ms INTEGER NOT NULL,
  PRIMARY KEY (owner, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX network_expires ON network (expires_ms);

-- With a rowid, because the state of a source may be long.
CREATE TABLE source (
  id BLOB PRIMARY KEY,
  shard INTEGER NOT NULL,
  due_ms INTEGER,
  ver INTEGER NOT NULL,
  state BLOB NOT NULL
) STRICT;
CREATE INDEX source_due ON source (shard, due_ms, id) WHERE due_ms IS NOT NULL;

CREATE TABLE connection (
  owner INTEGER NOT NULL,
  name TEXT NOT NULL,
  ver INTEGER NOT NULL,
  source BLOB NOT NULL,
  removed INTEGER NOT NULL,
  state BLOB NOT NULL,
  PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX connection_source ON connection (source, owner, name) WHERE NOT removed;

CREATE TABLE lease (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
