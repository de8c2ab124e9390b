-- Networks from which the password of an account was right, by a keyed hash.
CREATE TABLE network (
  owner INTEGER NOT NULL,
  hash BLOB NOT NULL,
  expires_ms INTEGER NOT NULL,
  PRIMARY KEY (owner, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX network_expires ON network (expires_ms);
