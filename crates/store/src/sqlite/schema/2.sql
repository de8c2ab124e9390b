-- OAuth: temporary credentials and access tokens; and sessions of browsers.

-- progress: 0 asked, 1 allowed, 2 refused, 3 exchanged.
CREATE TABLE temporary (
  key TEXT PRIMARY KEY,
  sealed_secret BLOB NOT NULL,
  consumer TEXT NOT NULL,
  callback TEXT,
  writes INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  progress INTEGER NOT NULL,
  allowed_by INTEGER,
  verifier BLOB,
  token TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX temporary_expires ON temporary (expires_ms);

CREATE TABLE token (
  key TEXT PRIMARY KEY,
  sealed_secret BLOB NOT NULL,
  consumer TEXT NOT NULL,
  owner INTEGER NOT NULL,
  writes INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER,
  revoked_ms INTEGER,
  used_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX token_owner ON token (owner, created_ms, key);

CREATE TABLE session (
  hash BLOB PRIMARY KEY,
  owner INTEGER NOT NULL,
  password BLOB NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_expires ON session (expires_ms);
