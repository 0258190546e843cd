// Package httpapi serves the gateway's HTTP. Chapters 3, 16, 17 and 19 specify the public API,
// chapter 18 the dashboard, section 8.6 the internal API for workers, and 8.7 the probes.
// openapi.yaml describes every route, and routetable.go has a row for each.
//
//	Public()    /api/v1/monitors…                        X-API-Key, or the session of a browser
//	            /api/v1/webhooks/test, …/deliveries
//	            /api/v1/incidents…, …/evidence…
//	            /api/v1/destinations…, …/destination-kinds
//	            /api/v1/routes…, …/silences…
//	            /api/v1/keys…, …/audit
//	            /api/v1/feed                             no time limit
//	            /api/v1/statistics, …/service, …/preview, …/thumbnails/watch
//	            /evidence/{evidence_id}/{variant}        the signature of the link
//	            /act/{token}                             the signature of the link
//	            /api/v1/session, the pages               no key
//	            /healthz, /readyz, /openapi.yaml         no key
//	Internal()  /internal/v1/monitors/{monitor_id}…      X-Internal-API-Key
//
// The two are separate handlers for separate ports (decision O1); a Server
// serves one of them, by TLS 1.2 or newer if it is given a certificate.
//
// A request passes through recovery, headers, logging, the time limit and the key, in this
// order. In the public API, the role of the key (section 12.4) and the rate limit (section 12.3)
// follow. A request that changes something is first recorded in the audit list. The row of its
// route says which time limit, right, rate limit and action that are. The handler decodes the
// request strictly, calls a package of the application, and answers. The API answers every
// error in the envelope of section 3.5, by the table in errors.go. The only
// exceptions are links in messages, whose errors are pages, and requests that net/http
// refuses itself, such as a malformed request line or oversized headers.
//
// The tests compare every answer with openapi.yaml, and cause every answer that it
// describes. "make test-api" sends requests generated from it.
//
// Internal errors are logged with their cause and answered without it.
package httpapi
