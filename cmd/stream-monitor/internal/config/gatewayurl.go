package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
)

// If the internal API listens on all addresses, workers on this machine use the loopback
// interface: with TLS by name, because the certificate contains a name.
const (
	loopbackName    = "localhost"
	loopbackAddress = "127.0.0.1"
)

// WorkersURL returns the URL at which workers on this machine reach the internal
// API, which listens at bound. With TLS, the host of the URL is certificateHost.
func (c *Serve) WorkersURL(bound net.Addr) (string, error) {
	at, err := netip.ParseAddrPort(bound.String())
	if err != nil {
		return "", fmt.Errorf("the internal API's address: %w", err)
	}
	u := url.URL{Scheme: "http"}
	host := at.Addr().String()
	switch {
	case c.TLSCertFile != "":
		u.Scheme, host = "https", c.certificateHost()
	case at.Addr().IsUnspecified():
		host = loopbackAddress
	}
	u.Host = net.JoinHostPort(host, fmt.Sprint(at.Port()))
	return u.String(), nil
}

// certificateHost returns the host name that the certificate must contain: in a cluster
// that of WORKER_GATEWAY_URL, else that of INTERNAL_LISTEN_ADDR, or localhost.
func (c *Serve) certificateHost() string {
	if c.WorkerRuntime == RuntimeKubernetes {
		u, _ := url.Parse(c.Pods.WorkerGatewayURL) // valid: parseHTTPURL accepted it
		return u.Hostname()
	}
	host, _, _ := net.SplitHostPort(c.InternalListenAddr) // valid: parseAddress accepted it
	if at, err := netip.ParseAddr(host); host == "" || err == nil && at.IsUnspecified() {
		return loopbackName
	}
	return host
}

// checkCertificate verifies the certificate as a worker would, and reports why
// workers could not trust the gateway.
func (c *Serve) checkCertificate() []problem {
	pair, err := tls.LoadX509KeyPair(c.TLSCertFile, c.TLSKeyFile)
	if err != nil {
		return []problem{{"tls-cert-file", fmt.Sprintf("TLS_CERT_FILE (--tls-cert-file) and TLS_KEY_FILE (--tls-key-file) do not match; "+
			"accepted are a certificate chain and its private key, both PEM (%v)", err)}}
	}
	roots, err := gateway.Roots(c.TLSCertFile)
	if err == nil {
		_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: c.certificateHost(), Roots: roots})
	}
	if err != nil {
		return []problem{{"tls-cert-file", fmt.Sprintf("TLS_CERT_FILE (--tls-cert-file) is not valid for %s, where workers reach the internal API; "+
			"use a certificate for that host, or set the host of %s to one that the certificate names (%v)", c.certificateHost(), c.certificateHostSetting(), err)}}
	}
	return nil
}

// certificateHostSetting names the setting that determines certificateHost.
func (c *Serve) certificateHostSetting() string {
	if c.WorkerRuntime == RuntimeKubernetes {
		return "WORKER_GATEWAY_URL"
	}
	return "INTERNAL_LISTEN_ADDR"
}
