// Package probe lets a kubelet ask a worker how it is (section 8.7).
//
//	GET /healthz   liveness    200 "ok", or 503 and why: the container is started again
//	GET /readyz    readiness   200 "ok", or 503 and why
//
// It speaks plain HTTP, as kubelets do, and its answers hold no secret. It answers
// within the 5 s that a probe may take; a check that takes longer gives 503.
package probe
