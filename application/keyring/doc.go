// Package keyring keeps the API keys of people and programs, and what they did (section 12.4).
// Package access decides what each may do.
//
//	request ──▶ Keyring.Find    ──▶ access.Key   the keys, read from the Store at most once a second
//	        ──▶ Audit.Begin     ──▶ AuditStore   an entry, before the request is carried out
//	        ──▶ Audit.Finish                     its result
//	sign-in ──▶ SessionKeys.Key ──▶ SessionKey   read once; signs the cookies of the dashboard (section 18.2)
//
// Guarantees:
//
//   - The secret of a key is shown once and stored nowhere: the Store has its SHA-256. A secret is
//     256 random bits, which nobody finds by trying, so a slow hash would only slow requests down.
//   - A revoked key is refused within a second at every gateway, and at once at the one that
//     revoked it. Its feeds end within 3 s.
//   - A request waits for the Store until its own deadline, never until another's. Requests that come
//     at once share one read of the keys.
//   - Wrong keys cost the Store nothing more than one read a second.
//   - Nothing is done that is not recorded: if the entry cannot be stored, the request is refused.
//     An entry without a result belongs to a request whose gateway died, or lost the database.
package keyring
