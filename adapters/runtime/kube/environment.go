package kube

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/internal/workerenv"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// proxyVariables are the variables whose address may have a password.
var proxyVariables = map[string]bool{"HTTP_PROXY": true, "HTTPS_PROXY": true, egressProxies: true}

// egressProxies is the variable of a list of proxies.
const egressProxies = "EGRESS_PROXIES"

// literalEnv escapes $ in the value. Kubernetes replaces $(NAME) by the variable
// of that name, so a callback address could otherwise reveal $(INTERNAL_API_KEY).
func literalEnv(name, value string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, Value: strings.ReplaceAll(value, "$", "$$")}
}

// secretEnv takes the value from the key of the same name in the Secret. Without
// that key the pod does not start, and Kubernetes reports why.
func (c Config) secretEnv(name string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: c.Secret}, Key: name,
	}}}
}

// sharedEnv returns the variables that all workers have.
func (c Config) sharedEnv() []corev1.EnvVar {
	env := []corev1.EnvVar{
		literalEnv(workerenv.GatewayURL, c.GatewayURL),
		literalEnv(workerenv.LogLevel, c.LogLevel),
		literalEnv("PROBE_LISTEN_ADDR", fmt.Sprintf(":%d", probePort)),
		literalEnv("HOME", tmpPath),
	}
	if c.CASecret != "" {
		env = append(env, literalEnv(workerenv.GatewayCA, caPath+"/"+caKey))
	}
	for _, v := range c.Environ {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case hasVariable(env, name):
		case isSecretProxy(name, value):
			env = append(env, c.secretEnv(name))
		default:
			env = append(env, literalEnv(name, value))
		}
	}
	return env
}

// assignmentEnv returns the variables of one worker (section 8.1). Its token is good for this
// launch only, so it may be read by whoever may read pods (record 0022).
func (c Config) assignmentEnv(spec supervisor.WorkerSpec) ([]corev1.EnvVar, error) {
	assignment, err := workerenv.Assignment(spec, c.Tokens)
	if err != nil {
		return nil, err
	}
	var env []corev1.EnvVar
	for _, v := range assignment {
		env = append(env, literalEnv(v.Name, v.Value))
	}
	return env, nil
}

// overrideEnv puts one worker's variables before the shared ones, and drops
// shared variables of the same name.
func overrideEnv(own, shared []corev1.EnvVar) []corev1.EnvVar {
	env := slices.Clone(own)
	for _, v := range shared {
		if !hasVariable(own, v.Name) {
			env = append(env, v)
		}
	}
	return env
}

// refuses reports whether this gateway refuses the requests of a pod's worker, because its
// token comes from another INTERNAL_API_KEY.
func (c Config) refuses(pod *corev1.Pod, w supervisor.Worker) bool {
	container, err := workerContainer(&pod.Spec)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(container.Env, func(v corev1.EnvVar) bool {
		return v.Name == workerenv.Token && v.Value != c.Tokens.Token(w.ID, w.Generation)
	})
}

func hasVariable(env []corev1.EnvVar, name string) bool {
	return slices.ContainsFunc(env, func(v corev1.EnvVar) bool { return v.Name == name })
}

// isSecretProxy reports whether a variable has proxies of which one has a user in its address.
func isSecretProxy(name, value string) bool {
	if name == egressProxies { // a list is no address
		return strings.Contains(value, "@")
	}
	return proxyVariables[name] && hasUserinfo(value)
}

// hasUserinfo reports whether a value is an address with a user, and perhaps a
// password, in it. In an address that cannot be parsed any @ counts: a password
// with special characters may be why it cannot.
func hasUserinfo(value string) bool {
	if !strings.Contains(value, "@") {
		return false
	}
	u, err := url.Parse(value)
	if err != nil || u.Opaque != "" { // user:password@host parses as opaque
		return true
	}
	return u.User != nil
}
