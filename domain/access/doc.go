// Package access decides what the holder of an API key may do (section 12.4). It is pure.
//
//	Role  ──▶ Read, Operate, Administer
//	Key   ──▶ active, expired, revoked
//
// API_KEY is Root: it has every right, does not expire and cannot be revoked, so that nobody
// locks themselves out.
package access
