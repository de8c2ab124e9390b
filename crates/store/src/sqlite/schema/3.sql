-- The second factor of an account, a message of the codec.
CREATE TABLE second_factor (
  owner INTEGER PRIMARY KEY,
  ver INTEGER NOT NULL,
  factor BLOB NOT NULL
) STRICT;

-- The audit log. A shard is one process run. Details and salt are erased with the account, and nothing else changes.
CREATE TABLE audit (
  time_ms INTEGER NOT NULL,
  shard BLOB NOT NULL,
  number INTEGER NOT NULL,
  event TEXT NOT NULL,
  details TEXT,
  salt BLOB,
  digest BLOB NOT NULL,
  mac BLOB NOT NULL,
  PRIMARY KEY (time_ms, shard, number)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit
WHEN NEW.details IS NOT NULL OR NEW.salt IS NOT NULL OR (NEW.time_ms, NEW.shard, NEW.number, NEW.event, NEW.digest, NEW.mac)
  IS NOT (OLD.time_ms, OLD.shard, OLD.number, OLD.event, OLD.digest, OLD.mac)
BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only');
END;

-- The records that concern an account.
CREATE TABLE audit_of (
  uid INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  shard BLOB NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (uid, time_ms, shard, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_of_time ON audit_of (time_ms);

CREATE TABLE audit_head (
  shard BLOB PRIMARY KEY,
  number INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  mac BLOB NOT NULL,
  tag BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Removed accounts that are not erased yet. Those that were removed before this version are erased too.
CREATE TABLE erasure (
  uid INTEGER PRIMARY KEY
) STRICT;
INSERT INTO erasure (uid) SELECT uid FROM account WHERE removed;
