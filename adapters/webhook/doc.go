// Package webhook signs a webhook and sends it once, to addresses to which webhooks may
// go. Package delivery retries.
//
//	                 Guard.Check                          Guard, at every dial
//	register ──▶ scheme, every address ──▶ … ──▶ Sender ──▶ this address ──▶ receiver
//
// Sender posts the stored bytes with the headers of section 12.2 and decision W5. These
// are X-Signature-256, X-Timestamp, X-Event-Id, X-Event-Type, User-Agent, and the three
// headers of Standard Webhooks. Each attempt has a new timestamp, and the
// same ID and body.
//
// Adviser asks for second opinions about alerts (section 19.9). It posts a form with the event and its pictures, signs it
// in the same way, and reads the answer.
//
// Limits: one attempt takes at most 10 s, one question 5 s. Both read at most 64 KiB of a response's
// header, and at most 64 KiB of its body for at most 1 s. It follows no redirects, uses no
// proxy (decision O8), and requires TLS 1.2 or newer (decision O6).
//
// Guard keeps webhooks out of private networks (decision A2). It checks at
// registration, so that the caller learns of a refusal at once. It checks again at
// every dial, after the name was resolved, which defeats DNS rebinding. A name that
// cannot be resolved at registration is accepted, because the dial decides.
// Package adapters/internal/outbound does both, and makes the requests.
package webhook
