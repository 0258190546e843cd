package kube_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"k8s.io/klog/v2"
)

const klogVariable = "STREAM_MONITOR_TEST_KLOG"

// Section 11.1. A process has one klog, so this one is another: itself again.
func TestWhatTheClientSaysIsInTheLog(t *testing.T) {
	if os.Getenv(klogVariable) != "" {
		cfg := settings()
		cfg.Log = slog.New(slog.NewJSONHandler(os.Stdout, nil))
		open(t, simulate(t), cfg)
		open(t, simulate(t), settings()) // the first decides
		klog.Warning("said by klog")
		klog.ErrorS(errors.New("away"), "said by klog as well")
		klog.Flush()
		return
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), klogVariable+"=1")
	var stdout, stderr bytes.Buffer
	again.Stdout, again.Stderr = &stdout, &stderr
	if err := again.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	expectContains(t, stdout.String(), `"level":"INFO","msg":"said by klog","component":"kube"`, // it has no WARN
		`"level":"ERROR","msg":"said by klog as well","component":"kube","err":"away"`)
	if stderr.Len() > 0 {
		t.Errorf("standard error has %q", &stderr)
	}
}
