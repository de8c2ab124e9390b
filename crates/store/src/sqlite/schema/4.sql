-- Accounts that are disabled, their pictures, who registered an application, sessions that people can tell apart, and
-- tickets.

ALTER TABLE account ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;

-- In three sizes; all of them empty: there is no picture any more.
CREATE TABLE picture (
  uid INTEGER PRIMARY KEY,
  ver INTEGER NOT NULL,
  small BLOB NOT NULL,
  medium BLOB NOT NULL,
  large BLOB NOT NULL
) STRICT;

ALTER TABLE application ADD COLUMN owner INTEGER;
CREATE INDEX application_owner ON application (owner, created_ms, key);

ALTER TABLE session ADD COLUMN device TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN used_ms INTEGER NOT NULL DEFAULT 0;
UPDATE session SET used_ms = created_ms;
CREATE INDEX session_owner ON session (owner, created_ms, hash);

-- reset: the account that gets a new password; without one it is an invitation. A used one stays until its time is over,
-- so that nobody can bring it back by keeping it again.
CREATE TABLE ticket (
  hash BLOB PRIMARY KEY,
  reset INTEGER,
  made_by INTEGER,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  used INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX ticket_expires ON ticket (expires_ms);
