package kube

import (
	"log/slog"
	"sync"

	"k8s.io/klog/v2"
)

var klogKept sync.Once

// keepKlog has what the client library says by itself, wherever that is, put
// into the log, in its shape (section 11.1), rather than on standard error. A
// process has one klog, and the first that calls this decides.
func keepKlog(log *slog.Logger) {
	klogKept.Do(func() { klog.SetSlogLogger(log.With("component", "kube")) })
}
