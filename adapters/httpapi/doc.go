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
// serves one of them.
//
// A request passes through recovery, headers, logging, the time limit and the
// key, in that order, and then reaches one handler, which decodes it strictly,
// asks application/control and answers. Whatever goes wrong on the way (no such
// path, a body too large, a panic, a deadline) is answered in the envelope of
// section 3.5, by the one table in errors.go. Only what net/http refuses before
// there is a request (a malformed request line, oversized headers) is not.
//
// Internal errors are logged with their cause and answered without it.
package httpapi
