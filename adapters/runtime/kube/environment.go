package kube

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// keyName is the variable of the key for the internal API, and the key's name in
// its Secret.
const keyName = "INTERNAL_API_KEY"

// variable has a value that is taken as it is: Kubernetes would replace $(NAME)
// by the variable of that name, and somebody's callback address could contain
// $(INTERNAL_API_KEY).
func variable(name, value string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, Value: strings.ReplaceAll(value, "$", "$$")}
}

// settings are the variables that all workers have.
func (c Config) settings() []corev1.EnvVar {
	all := []corev1.EnvVar{
		variable("GATEWAY_URL", c.GatewayURL),
		variable("LOG_LEVEL", c.LogLevel),
		variable("PROBE_LISTEN_ADDR", fmt.Sprintf(":%d", c.ProbePort)),
		variable("HOME", tmpPath),
		c.secret(keyName),
	}
	if c.CASecret != "" {
		all = append(all, variable("GATEWAY_CA_FILE", caPath+"/"+caKey))
	}
	for _, v := range c.Environ {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case slices.ContainsFunc(all, func(e corev1.EnvVar) bool { return e.Name == name }):
		case proxies[name] && hasUserinfo(value):
			all = append(all, c.secret(name))
		default:
			all = append(all, variable(name, value))
		}
	}
	return all
}

// secret is a variable whose value is that of the same name in the Secret. If it
// is not there the pod does not start, and says why.
func (c Config) secret(name string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: c.Secret}, Key: name,
	}}}
}

// proxies are the variables that may have a password in their address.
var proxies = map[string]bool{"HTTP_PROXY": true, "HTTPS_PROXY": true}

// hasUserinfo tells that a value is an address with a user, and perhaps a
// password, in it. Of one that makes no sense any @ will do: a password may be
// why.
func hasUserinfo(value string) bool {
	if !strings.Contains(value, "@") {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.Opaque != "" { // user:password@host is opaque
		return true
	}
	return u.User != nil
}

// assignment is the variables of one worker (section 8.1).
func assignment(j supervisor.WorkerSpec) ([]corev1.EnvVar, error) {
	config, err := json.Marshal(j.Config)
	if err != nil {
		return nil, fmt.Errorf("configuration of %s: %w", j.ID, err)
	}
	return []corev1.EnvVar{
		variable("MONITOR_ID", string(j.ID)),
		variable("STREAM_URL", string(j.StreamURL)),
		variable("CALLBACK_URL", string(j.CallbackURL)),
		variable("CONFIG_JSON", string(config)),
		variable("GENERATION", strconv.Itoa(j.Generation)),
	}, nil
}

// assign puts the variables of one worker before those that all have; of the
// same name they win.
func assign(own, others []corev1.EnvVar) []corev1.EnvVar {
	all := slices.Clone(own)
	for _, v := range others {
		if !slices.ContainsFunc(own, func(e corev1.EnvVar) bool { return e.Name == v.Name }) {
			all = append(all, v)
		}
	}
	return all
}
