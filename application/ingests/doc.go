// Package ingests keeps the logins of owners, and asks with them what arrives from the encoders of their broadcasts (decision S24).
// The elected gateway runs Service.Run. Package domain/ingest decides.
//
//	administrator ──▶ Create, Replace, Delete ──▶ Store, which encrypts ──▶ List: never the token
//	a login that is due ──▶ Account.Spend ──▶ access token ──▶ broadcasts, their signals ──▶ Health of each stream ──▶ stored
//
// Units are counted before they are used, with those of package officialstates. A login that Google rejects is kept, shown and
// told once; it is tried again every 10 minutes. A look that fails changes no Health, which grows old.
package ingests
