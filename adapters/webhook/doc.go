// Package webhook signs a webhook and sends it once, and decides where
// webhooks may go at all. Retrying is the dispatcher's.
//
//	                 Guard.Check                          Guard, at every dial
//	register ──▶ scheme, every address ──▶ … ──▶ Sender ──▶ this address ──▶ receiver
//
// Sender posts the stored bytes with the headers of section 12.2 and decision
// W5: X-Signature-256 and X-Timestamp, X-Event-Id, X-Event-Type, User-Agent,
// and the Standard Webhooks trio. The timestamp is fresh for each attempt; the
// id and the body are not.
//
// What a receiver can do to it: nothing beyond its 10 s. An answer's header is
// read up to 64 KiB, its body likewise and for a second at most, then both are
// dropped. Redirects are not followed. There is never a proxy in between
// (decision O8). TLS is 1.2 or newer (decision O6).
//
// Guard keeps webhooks out of private networks (decision A2). It is asked at
// registration, to tell the caller at once, and at every dial, after the name
// was resolved: a name that changes its address after registration reaches
// nothing (DNS rebinding). Whatever it is not sure of at registration it lets
// pass, because the dial decides. What is outside, and which spellings of it are
// accepted, is said in adapters/internal/outbound.
package webhook
