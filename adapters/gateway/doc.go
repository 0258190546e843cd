// Package gateway is the worker's side of the internal API (section 8.6,
// decision O1). It requests the assignment and delivers reports.
//
//	GET  <base>/internal/v1/monitors/{monitor_id}?generation=N ──▶ Assignment
//	PUT  <base>/internal/v1/monitors/{monitor_id}/status      ──▶ run | stop
//	POST <base>/internal/v1/monitors/{monitor_id}/evidence/…  ──▶ evidence (section 16.2)
//
// Each call is one request of at most 20 s, an upload of at most 90 s. The worker decides
// whether to repeat it. A call that times out closes its connection, because the
// connection may be cut. The client uses no proxy (decision O8), follows no redirect, and
// requires TLS 1.2 or newer of an https base. It trusts the system's roots or those of SSL_CERT_FILE, as crypto/x509 does.
//
// Only a response with the gateway's error code is final. A 400, 404, 409 or 413 without
// such a code may come from a wrong port or a proxy, so the worker may repeat the request.
package gateway
