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

func parseHTTPURL(text string, _ *kong.Tag) (any, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("accepted is http(s)://HOST[:PORT]")
	}
	return strings.TrimSuffix(text, "/"), nil
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
	nameForm  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	labelForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// parseName reads the name of something in a cluster (RFC 1123, a subdomain).
func parseName(text string, _ *kong.Tag) (any, error) {
	if !nameForm.MatchString(text) {
		return nil, errors.New("accepted are 1 to 253 small letters, digits, - and ., a letter or digit first and last")
	}
	return text, nil
}

// parseLabel reads the name of a namespace (RFC 1123, a label), or what may be a
// label's value, too.
func parseLabel(text string, _ *kong.Tag) (any, error) {
	if !labelForm.MatchString(text) {
		return nil, errors.New("accepted are 1 to 63 small letters, digits and -, a letter or digit first and last")
	}
	return text, nil
}

var imageForm = regexp.MustCompile(`^[a-zA-Z0-9][-a-zA-Z0-9._/:@]{0,511}$`)

func parseImage(text string, _ *kong.Tag) (any, error) {
	if !imageForm.MatchString(text) {
		return nil, errors.New("accepted is [REGISTRY/]NAME[:TAG][@DIGEST]")
	}
	return text, nil
}

// parseFile demands a file that can be read.
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

// parseRoots reads a file of certificates.
func parseRoots(text string, _ *kong.Tag) (any, error) {
	roots, err := gateway.Roots(text)
	if err != nil {
		return nil, fmt.Errorf("accepted is a file of certificates in PEM (%w)", err)
	}
	return roots, nil
}

// parsePath makes a path absolute: children have working directories of their own.
func parsePath(text string, _ *kong.Tag) (any, error) {
	path, err := filepath.Abs(text)
	if err != nil {
		return nil, fmt.Errorf("accepted is a path (%w)", err)
	}
	return path, nil
}
