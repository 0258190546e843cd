// Package webhook signs a webhook and sends it once, and decides to which addresses
// webhooks may go. Package delivery retries.
//
//	                 Guard.Check                          Guard, at every dial
//	register ──▶ scheme, every address ──▶ … ──▶ Sender ──▶ this address ──▶ receiver
//
// Sender posts the stored bytes with the headers of section 12.2 and decision
// W5: X-Signature-256 and X-Timestamp, X-Event-Id, X-Event-Type, User-Agent,
// and the Standard Webhooks trio. The timestamp is fresh for each attempt; the
// id and the body are not.
//
// Limits: one attempt takes 10 s at most. The response's header is read up to
// 64 KiB, its body up to 64 KiB and for a second at most. Redirects are not
// followed, no proxy is used (decision O8), and TLS is 1.2 or newer (decision O6).
//
// Guard keeps webhooks out of private networks (decision A2). It checks at
// registration, so that the caller learns of a refusal at once. It checks again at
// every dial, after the name was resolved, which defeats DNS rebinding. A name that
// cannot be resolved at registration is accepted, because the dial decides.
// Package adapters/internal/outbound defines which addresses are public.
package webhook
