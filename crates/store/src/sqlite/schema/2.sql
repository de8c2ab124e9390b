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
