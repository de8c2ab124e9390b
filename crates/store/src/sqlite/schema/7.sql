-- Credential epochs: sessions, tokens and decisions to allow one count in the epoch of their account in which they were
-- made.

ALTER TABLE account ADD COLUMN credential_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE token ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE temporary ADD COLUMN allowed_epoch INTEGER;
