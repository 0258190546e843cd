// Package sink is somebody who receives our webhooks: an HTTP server on
// loopback that verifies, remembers and, on command, misbehaves.
//
//	POST ──▶ read ──▶ verify both signatures ──▶ remember ──▶ fault, or 204, or 401
//
// It knows the contract from the specification (sections 4.2, 4.3, 12.2,
// decision W5) and from the Standard Webhooks library, not from our own code:
// what the sender and the sink agree on is what the specification says. A
// delivery is verified when
//
//   - X-Timestamp is within 300 s of now (Config.Tolerance) and X-Signature-256 is right,
//   - the Standard Webhooks library accepts webhook-id, webhook-timestamp and
//     webhook-signature, its secret being whsec_ and the key in base64,
//   - X-Event-Id, webhook-id and event_id agree, and so do X-Event-Type and
//     event_type.
//
// What is not verified is remembered too, with the reason, and answered 401 as
// section 12.2 wants it.
package webhookreceiver
