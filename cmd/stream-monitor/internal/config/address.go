package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stream-monitor/stream-monitor/adapters/gateway"
	"github.com/stream-monitor/stream-monitor/adapters/stream/proxies"
)

func parseAddress(text string, _ *kong.Tag) (any, error) {
	host, port, err := net.SplitHostPort(text)
	n, errPort := strconv.ParseUint(port, 10, 16)
	if err != nil || errPort != nil || strings.ContainsAny(host, " /") {
		return nil, errors.New("accepted is [HOST]:PORT, such as :8080 or 127.0.0.1:8080")
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

func parseProxy(text string, _ *kong.Tag) (any, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, errors.New("accepted is http://[USER:PASSWORD@]HOST:PORT, or the same with https, socks5 or socks5h")
	}
	return text, nil
}

// parseEgress checks a list of proxies.
func parseEgress(text string, _ *kong.Tag) (any, error) {
	if _, err := proxies.Parse(text); err != nil {
		return nil, fmt.Errorf("in this list, separated by commas, %w", err)
	}
	return text, nil
}

func parseHTTPURL(text string, _ *kong.Tag) (any, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("accepted is http(s)://HOST[:PORT]")
	}
	return strings.TrimSuffix(text, "/"), nil
}

// parseProviderURL reads a URL that is an argument of a tool, which separates some characters and shows it to
// everybody on the machine.
func parseProviderURL(text string, tag *kong.Tag) (any, error) {
	accepted, err := parseHTTPURL(text, tag)
	if err != nil || strings.ContainsAny(text, "@;,\\") {
		return nil, errors.New("accepted is http(s)://HOST[:PORT], without a user and a password")
	}
	return accepted, nil
}

func parseDSN(text string, _ *kong.Tag) (any, error) {
	u, err := url.Parse(text)
	isURL := err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
	isPairs := !strings.Contains(text, "://") && strings.Contains(text, "=")
	if !isURL && !isPairs {
		return nil, errors.New("accepted is postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=… or key=value pairs")
	}
	return text, nil
}

var (
	dnsNamePattern  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	dnsLabelPattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// parseDNSName reads the name of a Kubernetes object (a DNS subdomain, RFC 1123).
func parseDNSName(text string, _ *kong.Tag) (any, error) {
	if !dnsNamePattern.MatchString(text) {
		return nil, errors.New("accepted are 1 to 253 small letters, digits, - and ., a letter or digit first and last")
	}
	return text, nil
}

// parseDNSLabel reads a DNS label (RFC 1123): the name of a namespace, or an instance name
// that is the value of a Kubernetes label.
func parseDNSLabel(text string, _ *kong.Tag) (any, error) {
	if !dnsLabelPattern.MatchString(text) {
		return nil, errors.New("accepted are 1 to 63 small letters, digits and -, a letter or digit first and last")
	}
	return text, nil
}

var imagePattern = regexp.MustCompile(`^[a-zA-Z0-9][-a-zA-Z0-9._/:@]{0,511}$`)

func parseImage(text string, _ *kong.Tag) (any, error) {
	if !imagePattern.MatchString(text) {
		return nil, errors.New("accepted is [REGISTRY/]NAME[:TAG][@DIGEST]")
	}
	return text, nil
}

// parseFile reads the path of a file and checks that the file can be read.
func parseFile(text string, _ *kong.Tag) (any, error) {
	f, err := os.Open(text)
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil && info.IsDir() {
			err = errors.New("is a directory")
		}
		_ = f.Close()
	}
	if err != nil {
		if path, ok := errors.AsType[*os.PathError](err); ok {
			err = path.Err
		}
		return nil, fmt.Errorf("accepted is a file that can be read (%w)", err)
	}
	return text, nil
}

// parseCertificates reads a PEM file of trusted certificates.
func parseCertificates(text string, _ *kong.Tag) (any, error) {
	roots, err := gateway.Roots(text)
	if err != nil {
		return nil, fmt.Errorf("accepted is a file of certificates in PEM (%w)", err)
	}
	return roots, nil
}

// parsePath makes a path absolute, because child processes have other working directories.
func parsePath(text string, _ *kong.Tag) (any, error) {
	path, err := filepath.Abs(text)
	if err != nil {
		return nil, fmt.Errorf("accepted is a path (%w)", err)
	}
	return path, nil
}
