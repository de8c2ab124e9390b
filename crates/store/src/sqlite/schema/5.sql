-- Sources, the connections of accounts to them, and leases for those who fetch.

-- What the service knows of a source may be long, so these rows have numbers.
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
