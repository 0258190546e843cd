package kube

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Config is what a Launcher needs to know. Image, GatewayURL and Secret are
// required.
type Config struct {
	Image      string // of the worker's container
	GatewayURL string // where pods find the internal API, e.g. https://stream-monitor-internal.NAMESPACE.svc:8081

	// Secret is the Secret in the pods' namespace whose INTERNAL_API_KEY they get
	// (section 8.6), and HTTP_PROXY and HTTPS_PROXY where these have a password.
	Secret string

	// CASecret is the Secret whose ca.crt vouches for the gateway, beside the
	// system's certificates. Default: none.
	CASecret string

	// Instance tells this installation's pods from those of others in the
	// namespace, 1 to 63 characters. Default stream-monitor.
	Instance string

	// Template is a file, YAML or JSON of at most 256 KiB: part of a
	// PodTemplateSpec that is merged over that of a worker, as kubectl patch does
	// it. The worker's container is called monitor. It requests 256Mi and 100m, or
	// its limits if those are lower (512Mi and 500m). Default: none.
	Template string

	LogLevel  string // LOG_LEVEL of workers, default info
	ProbePort int    // where a pod answers the kubelet (section 8.7), default 8082

	// Environ is further variables of workers, NAME=value: proxies (section
	// 14.2), what concerns watching. None may be a secret of the gateway's. A
	// proxy's address with a user in it is not put into pods, which take it from
	// Secret; any other such address is refused.
	Environ []string

	// Grace is what a worker gets that is asked to stop, default 30 s (section
	// 8.3), in whole seconds: rounded up.
	Grace time.Duration

	Log *slog.Logger // default: none
}

const (
	// handover is what a worker gets at most that a newer generation replaces. It
	// has nothing to say.
	handover = 5 * time.Second

	// forceAfter is how long after its grace a pod is removed by force. Its kubelet
	// ends it by then, unless its node is gone.
	forceAfter = 5 * time.Second

	maxForce = 3 // times that a pod is removed by force, forceAfter apart, until it is given up

	firstLook   = 5 * time.Second  // at the start, beyond which the cluster is not waited for
	pollEvery   = 2 * time.Second  // whether a pod is gone that the watch says nothing of
	resyncEvery = 30 * time.Second // what is left of ended pods is looked at anew

	maxTemplate = 256 << 10 // bytes
)

// withheld are the variables that no pod may get in clear: whoever may read pods
// could read them.
var withheld = map[string]bool{
	"DB_DSN":              true,
	"API_KEY":             true,
	"WEBHOOK_SIGNING_KEY": true,
	"INTERNAL_API_KEY":    true,
	"PGPASSWORD":          true,
}

func (c Config) complete() (Config, error) {
	var wrong error
	for _, v := range []struct{ name, value string }{{"Image", c.Image}, {"GatewayURL", c.GatewayURL}, {"Secret", c.Secret}} {
		if v.value == "" {
			wrong = errors.Join(wrong, fmt.Errorf("kube: %s is required", v.name))
		}
	}
	for _, v := range c.Environ {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case withheld[name]:
			wrong = errors.Join(wrong, fmt.Errorf("kube: %s must not be put into a pod", name))
		case !proxies[name] && hasUserinfo(value):
			wrong = errors.Join(wrong, fmt.Errorf("kube: %s is an address with a user or a password in it, which must not be put into a pod", name))
		}
	}
	if c.Grace < 0 || c.ProbePort < 0 || c.ProbePort > 65535 {
		wrong = errors.Join(wrong, errors.New("kube: Grace must not be negative, and ProbePort at most 65535"))
	}
	if wrong != nil {
		return c, wrong
	}
	if c.Instance == "" {
		c.Instance = appName
	}
	if c.LogLevel == "" {
		c.LogLevel = "info"
	}
	if c.ProbePort == 0 {
		c.ProbePort = 8082
	}
	if c.Grace == 0 {
		c.Grace = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// seconds is a length of time as Kubernetes takes it.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
