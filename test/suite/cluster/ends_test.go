//go:build cluster

package cluster_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// policy is MISSING_WORKER=error: what was lost ends its monitor (section 10.4).
func policy(t *testing.T, s *site) {
	must(t, s.helm(t.Context(), "settings.MISSING_WORKER=error"))
	must(t, s.settled(t.Context(), 1)) // or the next one to be elected finds the loss, when it compares (10.4)
	p := watched(t, s)
	lost := time.Now()
	must(t, s.deleted(t.Context(), p.pod().Metadata.Name))
	e := p.arrives("monitor.error", 45*time.Second)
	say("monitor.error came %.1f s after the pod was deleted: %s", e.Received.Sub(lost).Seconds(), e.Data.ErrorDetails)
	if !strings.HasPrefix(e.Data.ErrorDetails, "the worker's end: ") {
		t.Errorf("error_details is %q", e.Data.ErrorDetails)
	}
	p.errs(e, fmt.Sprintf(`{"reason": "worker_lost", "terminal": true, "error_details": %q}`, e.Data.ErrorDetails))

	// A loss that no gateway has seen is found by the next when it starts (10.4).
	p = watched(t, s)
	pod := p.pod().Metadata.Name
	must(t, s.scaled(t.Context(), 0))
	must(t, s.deleted(t.Context(), pod))
	p.gone()
	must(t, s.scaled(t.Context(), 1))
	e = p.arrives("monitor.error", 45*time.Second)
	p.errs(e, `{
		"reason": "reconciliation_mismatch", "terminal": true, "reconciliation_action": "mark_as_error_missing_pod",
		"previous_status": "monitoring", "observed_state": {"pod_exists": false, "db_status": "monitoring"},
		"error_details": "Pod not found in Kubernetes cluster during startup reconciliation"
	}`)
}

// errs fails the test unless a monitor.error has this data and was the end.
func (p *play) errs(e webhookreceiver.Delivery, data string) {
	p.Helper()
	var body struct {
		Data json.RawMessage `json:"data"`
	}
	must(p.T, json.Unmarshal(e.Body, &body))
	same(p.T, "monitor.error", string(body.Data), data)
	_, err := p.site.Service.WaitStatus(limited(p.T, 10*time.Second), p.id, "error")
	must(p.T, err)
	p.only("stream.started", "monitor.error")
	p.gone()
}

// uninstall leaves nothing behind, though a stream is being watched.
func uninstall(t *testing.T, s *site) {
	watched(t, s)
	began := time.Now()
	_, err := run(t.Context(), "helm", "uninstall", release, "-n", namespace, "--wait", "--timeout", "300s")
	must(t, err)
	say("uninstalled after %.1f s", time.Since(began).Seconds())
	kinds := "pods,deployments,replicasets,services,endpoints,endpointslices,secrets,configmaps,jobs,serviceaccounts,roles,rolebindings,hpa,pdb,networkpolicies"
	var left string
	if err := until(t.Context(), 15*time.Second, "nothing left", func() bool {
		left, err = run(t.Context(), "kubectl", "-n", namespace, "get", kinds, "-o", "name")
		for _, here := range []string{"configmap/" + authority, "configmap/kube-root-ca.crt", "serviceaccount/default"} {
			left = strings.ReplaceAll(left, here+"\n", "")
		}
		return err == nil && strings.TrimSpace(left) == ""
	}); err != nil {
		t.Errorf("left behind:\n%s", left)
	}
}
