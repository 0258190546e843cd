// Package gateway is the worker's side of the internal API (section 8.6,
// decision O1): where it gets its assignment and reports to.
//
//	GET <base>/internal/v1/monitors/{monitor_id}?generation=N ──▶ Assignment
//	PUT <base>/internal/v1/monitors/{monitor_id}/status       ──▶ run | stop
//
// Each call is one exchange of at most 20 s, or less if its context says so;
// asking again is the worker's decision. A call that was given up takes its
// connection with it, so that the next one does not wait on a connection that
// has been cut. It never goes through a proxy (decision O8), follows no
// redirect, and speaks TLS 1.2 or newer to an https base, trusting the system's
// roots or those of SSL_CERT_FILE, as crypto/x509 does.
//
// Only the gateway's own words are final: a 400, 404, 409 or 413 without its
// error code, from a wrong port or something in between, is an error that may
// pass.
package gateway
