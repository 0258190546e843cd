package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
)

// nearby is by which name, and which address, workers on this machine reach an
// internal API that listens everywhere.
const (
	nearbyName    = "localhost"
	nearbyAddress = "127.0.0.1"
)

// workersURL is where workers on this machine reach the internal API, which
// listens at bound. With TLS they go by the name that the certificate is for.
func (c *ServeCmd) workersURL(bound net.Addr) (string, error) {
	at, err := netip.ParseAddrPort(bound.String())
	if err != nil {
		return "", fmt.Errorf("the internal API's address: %w", err)
	}
	u := url.URL{Scheme: "http"}
	host := at.Addr().String()
	switch {
	case c.TLSCertFile != "":
		u.Scheme, host = "https", c.workersName()
	case at.Addr().IsUnspecified():
		host = nearbyAddress
	}
	u.Host = net.JoinHostPort(host, fmt.Sprint(at.Port()))
	return u.String(), nil
}

// workersName is what the certificate has to name: in a cluster the host that
// workers are told, else the host that the internal API is told to listen on, or
// localhost.
func (c *ServeCmd) workersName() string {
	if c.WorkerRuntime == runtimeKubernetes {
		u, _ := url.Parse(c.Pods.WorkerGatewayURL) // parseHTTPURL has seen it
		return u.Hostname()
	}
	host, _, _ := net.SplitHostPort(c.InternalListenAddr) // parseAddress has seen it
	if at, err := netip.ParseAddr(host); host == "" || err == nil && at.IsUnspecified() {
		return nearbyName
	}
	return host
}

// checkCertificate finds what would keep workers from trusting the gateway, by
// the check that they make themselves.
func (c *ServeCmd) checkCertificate() []problem {
	pair, err := tls.LoadX509KeyPair(c.TLSCertFile, c.TLSKeyFile)
	if err != nil {
		return []problem{{"tls-cert-file", fmt.Sprintf("TLS_CERT_FILE (--tls-cert-file) and TLS_KEY_FILE (--tls-key-file) do not go together; "+
			"accepted are a certificate chain and its private key, both PEM (%v)", err)}}
	}
	roots, err := gateway.Roots(c.TLSCertFile)
	if err == nil {
		_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: c.workersName(), Roots: roots})
	}
	if err != nil {
		return []problem{{"tls-cert-file", fmt.Sprintf("TLS_CERT_FILE (--tls-cert-file) is not good for %s, where workers reach the internal API; "+
			"accepted is a certificate that names it, or one of its names as the host of %s (%v)", c.workersName(), c.workersSetting(), err)}}
	}
	return nil
}

// workersSetting is where workersName comes from.
func (c *ServeCmd) workersSetting() string {
	if c.WorkerRuntime == runtimeKubernetes {
		return "WORKER_GATEWAY_URL"
	}
	return "INTERNAL_LISTEN_ADDR"
}
