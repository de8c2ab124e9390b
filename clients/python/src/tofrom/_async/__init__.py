"""The client, written once with async. clients/generate makes `tofrom._sync` of it."""
