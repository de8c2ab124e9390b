-- By which way what is followed comes into collections: what is marked as pulled, who pulls from whom, who sleeps.
--
-- A bit more of the flags says that something is marked: 8 in activity, 32 in entry. More kinds of tasks: 6 audience,
-- 7 sleep, 8 return; the last one has its place within somebody's activities in formerly.

-- stage: 0 pushed, 1 preparing, 2 pulled, 3 pushed again.
CREATE TABLE audience (
  uid INTEGER PRIMARY KEY,
  ver INTEGER NOT NULL,
  stage INTEGER NOT NULL
) STRICT;

-- What was decided for a pair stays in pulled for ever; the rest is of the latest edge between them.
CREATE TABLE way (
  follower INTEGER NOT NULL,
  followee INTEGER NOT NULL,
  pulled INTEGER NOT NULL,
  ver INTEGER NOT NULL,
  follows INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (follower, followee)
) STRICT, WITHOUT ROWID;
-- With everything that they are asked for, so that only these are read: SQLite wants also what is the same in all.
CREATE INDEX way_pulled ON way (follower, followee, seq, pulled, follows) WHERE pulled AND follows;
CREATE INDEX way_pushed ON way (followee, follower, seq, pulled, follows) WHERE NOT pulled AND follows;

-- phase: 0 awake, 1 asleep, 2 returning; seq: since where in the log, unless it is awake.
CREATE TABLE reader (
  uid INTEGER PRIMARY KEY,
  read_ms INTEGER,
  ver INTEGER NOT NULL DEFAULT 0,
  phase INTEGER NOT NULL DEFAULT 0,
  seq INTEGER
) STRICT;

-- seq: awake for what is accepted after that; without it asleep. It outlives the edge, so that an earlier version that
-- comes late finds the later one.
CREATE TABLE sleep (
  followee INTEGER NOT NULL,
  follower INTEGER NOT NULL,
  ver INTEGER NOT NULL,
  seq INTEGER,
  PRIMARY KEY (followee, follower)
) STRICT, WITHOUT ROWID;

-- The version of the edge at its other end too.
ALTER TABLE follower ADD COLUMN ver INTEGER NOT NULL DEFAULT 0;
UPDATE follower SET ver = following.ver FROM following
  WHERE following.follower = follower.follower AND following.followee = follower.followee;

-- Arrivals of what an account did itself: those of others may be many more.
CREATE INDEX entry_own ON entry (uid, seq, aid) WHERE run % 4 = 0;
