// Package probe serves the liveness and readiness probes of a worker, or of a gateway beside
// its public port (section 8.7).
//
//	GET /healthz   liveness    200 "ok", or 503 and the cause: the kubelet restarts the container
//	GET /readyz    readiness   200 "ok", or 503 and the cause
//
// It uses plain HTTP, and its responses contain no secret. It responds within the 5 s
// that a probe may take; a check that takes longer gives 503. Of more than 16 idle
// connections of one address, or 256 in all, the longest idle one is closed.
package probe
