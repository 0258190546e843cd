// Package httpapi is the gateway's front: the public API of chapter 3, the
// internal API that workers report to (section 8.6), the probes (8.7) and the
// document that describes them all, openapi.yaml.
//
//	Public()    POST   /api/v1/monitors                              X-API-Key
//	            GET    /api/v1/monitors
//	            GET    /api/v1/monitors/{monitor_id}
//	            DELETE /api/v1/monitors/{monitor_id}
//	            GET    /api/v1/monitors/{monitor_id}/events
//	            POST   /api/v1/monitors/{monitor_id}/events/{event_id}/redeliver
//	            POST   /api/v1/webhooks/test
//	            GET    /healthz, /readyz, /openapi.yaml               no key
//	Internal()  GET    /internal/v1/monitors/{monitor_id}            X-Internal-API-Key
//	            PUT    /internal/v1/monitors/{monitor_id}/status
//
// The two are separate handlers for separate ports (decision O1); a Server
// serves one of them, by TLS 1.2 or newer if it is given a certificate.
//
// A request passes through recovery, headers, logging, the time limit, the key
// and, in the public API, the client's budget (section 12.3), in that order, and
// then reaches one handler, which decodes it strictly, asks application/control
// and answers. Whatever goes wrong on the way (no such path, a body too large, a
// panic, a deadline) is answered in the envelope of section 3.5, by the one table
// in errors.go. Only what net/http refuses before there is a request (a malformed
// request line, oversized headers, an Expect it does not know) is not.
//
// openapi.yaml is held against this package from both sides: in the tests every
// answer must be as described and every described answer must happen, and "make
// test-api" sends what a client made up from the document would send.
//
// Internal errors are logged with their cause and answered without it.
package httpapi
