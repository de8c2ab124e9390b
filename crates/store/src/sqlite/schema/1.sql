-- Times are whole milliseconds, identifiers their 16 bytes, versions and positions plain numbers.
-- Tables are WITHOUT ROWID where their key is what they are read by.

-- A number is never given again, so it is safe in the rows of other tables when its account is removed.
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
  removed INTEGER NOT NULL
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
  used_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX key_owner ON key (owner, created_ms, id);

CREATE TABLE application (
  key TEXT PRIMARY KEY,
  sealed_secret BLOB NOT NULL,
  name TEXT NOT NULL,
  callback TEXT NOT NULL,
  rsa_key BLOB,
  created_ms INTEGER NOT NULL,
  removed_ms INTEGER
) STRICT, WITHOUT ROWID;

-- Every edge that ever was, by who follows.
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

-- The other end: only those who follow now. Written with the edge, in one transaction.
CREATE TABLE follower (
  followee INTEGER NOT NULL,
  follower INTEGER NOT NULL,
  PRIMARY KEY (followee, follower)
) STRICT, WITHOUT ROWID;

-- Service, type and verb as one number. Rows are never changed and never deleted: processes keep copies.
CREATE TABLE facet (
  id INTEGER PRIMARY KEY,
  service TEXT NOT NULL,
  kind TEXT NOT NULL,
  verb TEXT NOT NULL,
  UNIQUE (service, kind, verb)
) STRICT;

-- What is shown of an activity. With a rowid, because long rows fill the pages of such tables better.
CREATE TABLE body (
  id INTEGER PRIMARY KEY,
  json BLOB NOT NULL
) STRICT;

-- flags: visibility + 4 * deleted. addressed: account numbers, 8 bytes each.
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

-- Collections. run: facet * 4 + box; flags: visibility + 4 * gone; seq: position of arrival. Keys ascend and
-- pages are read backwards: new rows then come at the right end of their run, where SQLite leaves pages 84 %
-- full behind them. Descending keys, appended at the left end, leave them half full.
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

-- Which runs an account has, and the newest times in each. It only grows, so a run of which a page needs nothing is
-- known without looking into it.
CREATE TABLE run_of (
  uid INTEGER NOT NULL,
  run INTEGER NOT NULL,
  received_ms INTEGER NOT NULL,
  published_ms INTEGER NOT NULL,
  PRIMARY KEY (uid, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE removal (
  uid INTEGER NOT NULL,
  aid BLOB NOT NULL,
  ver INTEGER NOT NULL,
  PRIMARY KEY (uid, aid)
) STRICT, WITHOUT ROWID;

-- What is still to be delivered; an acknowledged task's row is deleted, its number never given again.
CREATE TABLE log (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  aid BLOB NOT NULL REFERENCES activity,
  ver INTEGER NOT NULL,
  formerly BLOB NOT NULL
) STRICT;

CREATE TABLE fact (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
