-- Tasks of several kinds, their retries, and those that were given up.

-- kind: 0 version, 1 followers, 2 edge, 3 account, 4 removal. one and other are accounts; what they are, the kind says.
-- visibility and formerly: of the version before.
CREATE TABLE task (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  kind INTEGER NOT NULL,
  aid BLOB,
  ver INTEGER,
  one INTEGER,
  other INTEGER,
  visibility INTEGER,
  formerly BLOB,
  accepted INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before_ms INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Tasks that failed and wait for their time: outside the log, so that they hold nobody up.
CREATE TABLE waiting (
  number INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL,
  aid BLOB,
  ver INTEGER,
  one INTEGER,
  other INTEGER,
  visibility INTEGER,
  formerly BLOB,
  accepted INTEGER,
  attempts INTEGER NOT NULL,
  not_before_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX waiting_due ON waiting (not_before_ms);

-- What waits goes on waiting, and no number is given again.
INSERT INTO task (seq, kind, aid, ver, visibility, formerly) SELECT seq, 0, aid, ver, 0, formerly FROM log;
DELETE FROM sqlite_sequence WHERE name = 'task';
INSERT INTO sqlite_sequence (name, seq) SELECT 'task', seq FROM sqlite_sequence WHERE name = 'log';
DROP TABLE log;

CREATE TABLE dead_letter (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  kind INTEGER NOT NULL,
  aid BLOB,
  ver INTEGER,
  one INTEGER,
  other INTEGER,
  visibility INTEGER,
  formerly BLOB,
  accepted INTEGER,
  attempts INTEGER NOT NULL,
  why TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT;

-- What the versions before the present one were together: the widest visibility, and everybody whom they addressed.
ALTER TABLE activity ADD COLUMN formerly_visibility INTEGER;
ALTER TABLE activity ADD COLUMN formerly_addressed BLOB;

-- Where in the log an edge was made: what was accepted before comes with the edge, what comes after by itself.
ALTER TABLE follower ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;

-- Places in the log at which something changed for an account that no entry tells of.
CREATE TABLE change (
  uid INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (uid, seq)
) STRICT, WITHOUT ROWID;
