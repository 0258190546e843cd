// Package httpapi serves the gateway's HTTP: the public API (chapter 3), the internal
// API for workers (section 8.6) and the probes (8.7). openapi.yaml describes all.
//
//	Public()    POST   /api/v1/monitors                              X-API-Key
//	            GET    /api/v1/monitors
//	            GET    /api/v1/monitors/{monitor_id}
//	            PATCH  /api/v1/monitors/{monitor_id}
//	            DELETE /api/v1/monitors/{monitor_id}
//	            GET    /api/v1/monitors/{monitor_id}/events
//	            POST   /api/v1/monitors/{monitor_id}/events/{event_id}/redeliver
//	            POST   /api/v1/webhooks/test
//	            GET    /api/v1/feed                                   no time limit
//	            GET    /api/v1/evidence, /api/v1/evidence/{evidence_id}
//	            POST   /api/v1/evidence/{evidence_id}/link, …/class
//	            GET    /evidence/{evidence_id}/{variant}              a signature
//	            GET    /healthz, /readyz, /openapi.yaml               no key
//	Internal()  GET    /internal/v1/monitors/{monitor_id}            X-Internal-API-Key
//	            PUT    /internal/v1/monitors/{monitor_id}/status
//	            PUT    /internal/v1/monitors/{monitor_id}/evidence/{evidence_id}
//	            POST   /internal/v1/monitors/{monitor_id}/evidence/{evidence_id}/{variant}
//
// The two are separate handlers for separate ports (decision O1); a Server
// serves one of them, by TLS 1.2 or newer if it is given a certificate.
//
// A request passes through recovery, headers, logging, the time limit, the key and,
// in the public API, the rate limit (section 12.3), in this order. Its handler then
// decodes it strictly, calls application/registry and answers. The API answers every
// error in the envelope of section 3.5, by the table in errors.go. The only
// exceptions are requests that net/http refuses itself, such as a malformed request
// line or oversized headers.
//
// The tests compare every answer with openapi.yaml, and cause every answer that it
// describes. "make test-api" sends requests generated from it.
//
// Internal errors are logged with their cause and answered without it.
package httpapi
