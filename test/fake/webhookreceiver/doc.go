// Package webhookreceiver receives webhooks: an HTTP server on loopback that
// verifies and stores each delivery, and fails on command.
//
//	POST ──▶ read ──▶ verify both signatures ──▶ store ──▶ fault, or 204, or 401
//
// It implements sections 4.2, 4.3 and 12.2 (decision W5) without the product's code,
// so that it does not repeat a mistake of the sender. A delivery is verified when
//
//   - X-Timestamp is within 300 s of now (Config.Tolerance) and X-Signature-256 is right,
//   - the Standard Webhooks library accepts webhook-id, webhook-timestamp and
//     webhook-signature, its secret being whsec_ and the key in base64,
//   - X-Event-Id, webhook-id and event_id agree, and so do X-Event-Type and
//     event_type.
//
// A delivery that is not verified is stored too, with the reason, and answered
// 401 (section 12.2).
package webhookreceiver
