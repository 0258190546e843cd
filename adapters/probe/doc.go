// Package probe lets a kubelet ask a worker how it is (section 8.7).
//
//	GET /healthz   liveness    200 "ok", or 503 and why: the container is started again
//	GET /readyz    readiness   200 "ok", or 503 and why
//
// It speaks plain HTTP, as kubelets do, says nothing that is a secret, and
// answers within the 5 s that a probe may take: a question that is not answered
// by then is answered with 503.
package probe
