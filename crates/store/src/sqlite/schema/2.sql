-- How far an account has read each of its collections. token: the bytes of a sync token.
CREATE TABLE seen (
  uid INTEGER NOT NULL,
  collection TEXT NOT NULL,
  ver INTEGER NOT NULL,
  token BLOB NOT NULL,
  PRIMARY KEY (uid, collection)
) STRICT, WITHOUT ROWID;

-- A removed hook stays without its state, so that a later one of its name has a later version.
CREATE TABLE hook (
  owner INTEGER NOT NULL,
  name TEXT NOT NULL,
  ver INTEGER NOT NULL,
  id BLOB NOT NULL,
  shard INTEGER NOT NULL,
  removed INTEGER NOT NULL,
  state BLOB NOT NULL,
  PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_in ON hook (shard, owner, name) WHERE NOT removed;

-- Written by the holder of the shard's lease.
CREATE TABLE hook_progress (
  id BLOB PRIMARY KEY,
  ver INTEGER NOT NULL,
  state BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- The words under which public accounts are found. The words of accounts from before are in lower case as far as SQLite
-- knows (ASCII); the next change of such an account corrects them.
CREATE TABLE name_index (
  word TEXT NOT NULL,
  uid INTEGER NOT NULL,
  PRIMARY KEY (word, uid)
) STRICT, WITHOUT ROWID;
INSERT INTO name_index (word, uid) SELECT name, uid FROM account WHERE public AND NOT removed AND NOT disabled
  ON CONFLICT DO NOTHING;
INSERT INTO name_index (word, uid) SELECT lower(family_name), uid FROM account
  WHERE public AND NOT removed AND NOT disabled AND family_name IS NOT NULL ON CONFLICT DO NOTHING;
INSERT INTO name_index (word, uid) SELECT lower(trim(coalesce(given_name, '') || ' ' || coalesce(family_name, ''))), uid
  FROM account WHERE public AND NOT removed AND NOT disabled AND given_name IS NOT NULL ON CONFLICT DO NOTHING;

-- The texts of activities, by the number of their body. A text that is deleted leaves no words in the index.
-- Activities from before are indexed when they change.
CREATE VIRTUAL TABLE search USING fts5 (text, aid UNINDEXED, tokenize = 'unicode61 remove_diacritics 2');
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER body_cleared AFTER UPDATE OF content ON body WHEN length(new.content) = 0
  BEGIN DELETE FROM search WHERE rowid = new.id; END;
CREATE TRIGGER body_deleted AFTER DELETE ON body
  BEGIN DELETE FROM search WHERE rowid = old.id; END;

-- Who may address an account, by the numbers of AddressableBy: 0 everyone, 1 the accounts that it follows, 2 nobody.
ALTER TABLE account ADD COLUMN addressable_by INTEGER NOT NULL DEFAULT 0;

-- The filter of an edge, a message of the codec, with its own version. NULL: there is none.
ALTER TABLE following ADD COLUMN filter_ver INTEGER NOT NULL DEFAULT 0;
ALTER TABLE following ADD COLUMN filter BLOB;

-- Blocks and mutes by name. kind: 0 the account blocks the other, 1 it mutes the other, 2 the other blocks it, 3 the
-- latest change of the rows of kind 2, whose other name is empty.
CREATE TABLE relation (
  name TEXT NOT NULL,
  kind INTEGER NOT NULL,
  other TEXT NOT NULL,
  ver INTEGER NOT NULL,
  holds INTEGER NOT NULL,
  PRIMARY KEY (name, kind, other)
) STRICT, WITHOUT ROWID;
-- Rows that no longer hold stay for a while, so that a late write of an earlier version finds them.
CREATE INDEX relation_ended ON relation (ver) WHERE NOT holds;

-- What an account has stored, by the day of receipt in UTC: with a retention only the latest days count.
CREATE TABLE usage (
  uid INTEGER NOT NULL,
  day INTEGER NOT NULL,
  activities INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (uid, day)
) STRICT, WITHOUT ROWID;
INSERT INTO usage (uid, day, activities, bytes)
  SELECT activity.actor, activity.received_ms / 86400000, count(*), sum(length(body.content))
  FROM activity JOIN body ON body.id = activity.body
  WHERE activity.flags / 4 % 2 = 0 AND body.received_ms IS NOT NULL
  GROUP BY activity.actor, activity.received_ms / 86400000;

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
