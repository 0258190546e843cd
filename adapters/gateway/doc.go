// Package gateway is the worker's side of the internal API (section 8.6,
// decision O1). It requests the assignment and delivers reports.
//
//	GET <base>/internal/v1/monitors/{monitor_id}?generation=N ──▶ Assignment
//	PUT <base>/internal/v1/monitors/{monitor_id}/status       ──▶ run | stop
//
// Each call is one exchange of at most 20 s; the worker decides about another attempt. A
// call that times out closes its connection, because the connection may be cut. The client uses no
// proxy (decision O8), follows no redirect and speaks TLS 1.2 or newer to an https
// base. It trusts the system's roots or those of SSL_CERT_FILE, as crypto/x509 does.
//
// Only a response with the gateway's error code is final. A 400, 404, 409 or 413
// without one, from a wrong port or a proxy, is an error that may pass.
package gateway
