-- By expiry, so that expired rows are deleted from the front.
CREATE TABLE IF NOT EXISTS nonces.nonce (
  until_ms INTEGER NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (until_ms, hash)
) STRICT, WITHOUT ROWID;
