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
