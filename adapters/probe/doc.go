// Package probe serves a worker's liveness and readiness probes (section 8.7).
//
//	GET /healthz   liveness    200 "ok", or 503 and the cause: the kubelet restarts the container
//	GET /readyz    readiness   200 "ok", or 503 and the cause
//
// It uses plain HTTP, and its responses contain no secret. It responds within the 5 s
// that a probe may take; a check that takes longer gives 503.
package probe
