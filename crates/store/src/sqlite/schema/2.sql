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
