package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// parsers are the kinds of setting, by the name in their field's type tag.
var parsers = map[string]parser{
	"address":  parseAddress,
	"callback": parseCallback,
	"choice":   parseChoice,
	"config":   parseConfig,
	"decimal":  parseDecimal,
	"dsn":      parseDSN,
	"file":     parseFile,
	"httpurl":  parseHTTPURL,
	"instant":  parseInstant,
	"key":      parseKey,
	"monitor":  parseMonitor,
	"networks": parseNetworks,
	"path":     parsePath,
	"proxy":    parseProxy,
	"signing":  parseSigning,
	"span":     parseSpan,
	"stream":   parseStream,
	"whole":    parseWhole,
}

// parseChoice reads one of the words of the accept tag; the later tag lists
// those that the specification has and this version has not.
func parseChoice(text string, tag *kong.Tag) (any, error) {
	words := strings.Split(tag.Get("accept"), ",")
	switch {
	case slices.Contains(words, text):
		return text, nil
	case strings.Contains(tag.Get("later"), ","):
		return nil, fmt.Errorf("accepted is %s (%s come with a later version)",
			strings.Join(words, ", "), strings.ReplaceAll(tag.Get("later"), ",", " and "))
	case tag.Has("later"):
		return nil, fmt.Errorf("accepted is %s (%s comes with a later version)", strings.Join(words, ", "), tag.Get("later"))
	}
	return nil, fmt.Errorf("accepted are %s", strings.Join(words, ", "))
}

// parseWhole reads a whole number from the min to the max tag.
func parseWhole(text string, tag *kong.Tag) (any, error) {
	n, err := strconv.Atoi(text)
	low, _ := strconv.Atoi(tag.Get("min"))
	high, _ := strconv.Atoi(tag.Get("max"))
	if err != nil || n < low || n > high {
		return nil, fmt.Errorf("accepted is a whole number from %d to %d", low, high)
	}
	return n, nil
}

var negative = regexp.MustCompile(`^-[0-9.]+$`)

// parseDecimal reads a number from the min to the max tag.
func parseDecimal(text string, tag *kong.Tag) (any, error) {
	x, err := strconv.ParseFloat(text, 64)
	low, _ := strconv.ParseFloat(tag.Get("min"), 64)
	high, _ := strconv.ParseFloat(tag.Get("max"), 64)
	if err != nil || math.IsNaN(x) || x < low || x > high {
		return nil, fmt.Errorf("accepted is a number from %v to %v", low, high)
	}
	return x, nil
}

// parseSpan reads a length of time from the min to the max tag.
func parseSpan(text string, tag *kong.Tag) (any, error) {
	d, ok := span(text)
	low, _ := span(tag.Get("min"))
	high, _ := span(tag.Get("max"))
	if !ok || d < low || d > high {
		return nil, fmt.Errorf("accepted is a time from %s to %s, such as 45s, 10m, 2h or 90d; a bare number is seconds",
			tag.Get("min"), tag.Get("max"))
	}
	return d, nil
}

// span reads Go's durations, days, and bare seconds.
func span(text string) (time.Duration, bool) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, true
	}
	unit := time.Second
	if days, found := strings.CutSuffix(text, "d"); found {
		text, unit = days, 24*time.Hour
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > math.MaxInt64/int(unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

func parseInstant(text string, _ *kong.Tag) (any, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 2000 {
		return nil, errors.New("accepted is a time with its zone's offset, such as 2030-01-15T20:00:00+09:00")
	}
	return at, nil
}

// parseNetworks reads CIDRs, and single addresses, separated by commas.
func parseNetworks(text string, _ *kong.Tag) (any, error) {
	var networks Networks
	for field := range strings.SplitSeq(text, ",") {
		field = strings.TrimSpace(field)
		network, err := netip.ParsePrefix(field)
		if err != nil {
			var addr netip.Addr
			if addr, err = netip.ParseAddr(field); err == nil {
				network = netip.PrefixFrom(addr.WithZone(""), addr.BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%.40q is no network; accepted are CIDRs and addresses separated by commas, such as 10.0.0.0/8,fd00::/8", field)
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

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

// parsePath makes a path absolute: children have working directories of their own.
func parsePath(text string, _ *kong.Tag) (any, error) {
	path, err := filepath.Abs(text)
	if err != nil {
		return nil, fmt.Errorf("accepted is a path (%w)", err)
	}
	return path, nil
}

var keyForm = regexp.MustCompile(`^[!-~]+$`)

// parseKey accepts what an HTTP header carries unchanged.
func parseKey(text string, _ *kong.Tag) (any, error) {
	if !keyForm.MatchString(text) {
		return nil, errors.New("accepted are ASCII letters, digits and signs, without spaces")
	}
	return text, nil
}

func parseSigning(text string, _ *kong.Tag) (any, error) {
	return parseSigningKeys(text)
}

// parseStream, parseCallback, parseMonitor and parseConfig leave it to the
// domain to say what is accepted.
func parseStream(text string, _ *kong.Tag) (any, error) {
	return told(monitor.ParseStreamURL(text))
}

func parseCallback(text string, _ *kong.Tag) (any, error) {
	return told(monitor.ParseCallbackURL(text))
}

func parseMonitor(text string, _ *kong.Tag) (any, error) {
	if _, err := monitor.ParseID(text); err != nil {
		return nil, errors.New("accepted is mon- and 32 hexadecimal digits")
	}
	return monitor.ID(text), nil
}

// parseConfig fills what is not said with the defaults. Fields it does not know
// are left alone: the gateway may be newer than the worker.
func parseConfig(text string, _ *kong.Tag) (any, error) {
	config := monitor.DefaultConfig()
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return nil, fmt.Errorf("accepted is the config object of a registration (%w)", err)
	}
	return told(config, config.Valid())
}

// told turns the domain's refusal into the end of a sentence about a setting.
func told[T any](value T, err error) (any, error) {
	refusal, ok := errors.AsType[*monitor.Error](err)
	if !ok {
		return value, err
	}
	text := refusal.Message
	for _, field := range []string{"stream_url: ", "callback_url: "} {
		text = strings.TrimPrefix(text, field)
	}
	return nil, errors.New(text)
}
