//go:build linux && !amd64 && !arm64

package subprocess

// auditArch is unknown: tools have no filter here.
const auditArch, firstUnknown = 0, 0

var refusedCalls, internetOnly, noSockets, hiddenCalls, analysingCalls []callRule
