package kube

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Config holds the settings of a Launcher. Image, GatewayURL and Tokens are required.
type Config struct {
	Image      string // of the worker's container
	GatewayURL string // internal API as pods reach it, e.g. https://stream-monitor-internal.NAMESPACE.svc:8081

	// Tokens makes the credential of each worker, a variable of its pod (decision O9).
	Tokens monitor.TokenKey

	// Secret names the Secret from which pods get HTTP_PROXY, HTTPS_PROXY and
	// EGRESS_PROXIES with a user in an address, and is required for those. It is in the
	// pods' namespace.
	Secret string

	// CASecret names a Secret with a certificate in ca.crt. Workers trust it for the
	// gateway, in addition to the system's certificates. Default: none.
	CASecret string

	// Instance separates the pods of several installations in one namespace. 1 to 63
	// characters. Default: stream-monitor.
	Instance string

	// PodTemplateFile is a file with a partial PodTemplateSpec, YAML or JSON, at most
	// 256 KiB. It is merged over the worker's template as kubectl patch does. The
	// worker's container is called monitor. Default: none.
	//
	// The worker requests 256Mi and 100m, or its limits if those are lower. The
	// default limits are 512Mi and 500m.
	PodTemplateFile string

	LogLevel string // LOG_LEVEL of workers; default: info

	// Environ lists the settings of workers, NAME=value, with their proxies (section 14.2). If the address in
	// HTTP_PROXY or HTTPS_PROXY has a user, pods get the variable from Secret. New refuses
	// any other address with a user.
	Environ []string

	// Grace is how long a worker has to stop (section 8.3), rounded up to whole
	// seconds. Default: 30 s.
	Grace time.Duration

	Log *slog.Logger // default: none
}

const (
	defaultGrace = 30 * time.Second

	// supersedeGrace is the grace period of a worker that a newer generation replaces. It
	// is short, because the gateway refuses that worker's reports.
	supersedeGrace = 5 * time.Second

	// forceDelay is how long after its grace period a pod is force-deleted. By then
	// the kubelet has ended it, unless its node is gone.
	forceDelay = 5 * time.Second

	maxForceAttempts = 3 // forceDelay apart

	initialSyncTimeout = 5 * time.Second  // limits how long New waits for the first list
	gonePollInterval   = 2 * time.Second  // between reads of a terminating pod, in case the watch hangs
	resyncInterval     = 30 * time.Second // between retries of failed deletions of ended pods

	// watchTimeout is how long the API server keeps one watch open; the next one begins where
	// it ended. So a watch that hangs without an error is behind for a minute at most.
	watchTimeout = time.Minute

	maxPodTemplateBytes = 256 << 10

	probePort = 8082 // of a worker (section 8.7)
)

// withDefaults validates c and fills in the defaults. The error names every
// wrong field.
func (c Config) withDefaults() (Config, error) {
	var errs []error
	for _, field := range []struct{ name, value string }{{"Image", c.Image}, {"GatewayURL", c.GatewayURL}} {
		if field.value == "" {
			errs = append(errs, fmt.Errorf("kube: %s is required", field.name))
		}
	}
	if c.Tokens == (monitor.TokenKey{}) {
		errs = append(errs, errors.New("kube: Tokens is required"))
	}
	for _, variable := range c.Environ {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case c.Secret == "" && isSecretProxy(name, value):
			errs = append(errs, fmt.Errorf("kube: %s is an address with a user or a password in it, which pods take from WORKER_SECRET; that is required", name))
		case !proxyVariables[name] && hasUserinfo(value):
			errs = append(errs, fmt.Errorf("kube: %s is an address with a user or a password in it, which must not be put into a pod", name))
		}
	}
	if c.Grace < 0 {
		errs = append(errs, errors.New("kube: Grace must not be negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return c, err
	}
	if c.Instance == "" {
		c.Instance = appName
	}
	if c.LogLevel == "" {
		c.LogLevel = "info"
	}
	if c.Grace == 0 {
		c.Grace = defaultGrace
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// wholeSeconds rounds d up to seconds, the unit of Kubernetes.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
