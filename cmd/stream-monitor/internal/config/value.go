package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// parsers maps the type tag of a settings field to the parser of its values.
var parsers = map[string]parser{
	"address":       parseAddress,
	"apikey":        parseAPIKey,
	"callback":      parseCallback,
	"clients":       parseClients,
	"choice":        parseChoice,
	"config":        parseConfig,
	"decimal":       parseDecimal,
	"detectors":     parseDetectors,
	"dsn":           parseDSN,
	"file":          parseFile,
	"httpurl":       parseHTTPURL,
	"image":         parseImage,
	"jsruntime":     parseJSRuntime,
	"time":          parseTime,
	"key":           parseKey,
	"dnslabel":      parseDNSLabel,
	"monitor":       parseMonitor,
	"dnsname":       parseDNSName,
	"networklist":   parseNetworkList,
	"networks":      parseNetworks,
	"path":          parsePath,
	"providerurl":   parseProviderURL,
	"proxy":         parseProxy,
	"certificates":  parseCertificates,
	"signing":       parseSigning,
	"duration":      parseDuration,
	"egress":        parseEgress,
	"evidencestore": parseEvidenceStore,
	"linkkeys":      parseLinkKeys,
	"secretskeys":   parseSecretsKeys,
	"stream":        parseStream,
	"streamtext":    parseStreamText,
	"integer":       parseInteger,
	"numeral":       parseNumeral,
}

// parseChoice reads one of the words in the tag accept.
func parseChoice(text string, tag *kong.Tag) (any, error) {
	words := strings.Split(tag.Get("accept"), ",")
	if slices.Contains(words, text) {
		return text, nil
	}
	return nil, fmt.Errorf("accepted are %s", strings.Join(words, ", "))
}

var (
	clientPattern    = regexp.MustCompile(`^-?[a-z0-9_]{1,40}$`)
	jsRuntimePattern = regexp.MustCompile(`^(deno|node|bun|quickjs)(:/.+)?$`)
)

// parseClients reads names of clients of yt-dlp. Those with a minus are left out of the default ones.
func parseClients(text string, _ *kong.Tag) (any, error) {
	names := strings.Split(text, ",")
	for i, name := range names {
		if names[i] = strings.TrimSpace(name); !clientPattern.MatchString(names[i]) {
			return nil, errors.New("accepted are names of clients of yt-dlp, such as visionos,web, or default,-web")
		}
	}
	return strings.Join(names, ","), nil
}

func parseJSRuntime(text string, _ *kong.Tag) (any, error) {
	if !jsRuntimePattern.MatchString(text) {
		return nil, errors.New("accepted are deno, node, bun and quickjs, also with a path, such as node:/usr/bin/node")
	}
	return text, nil
}

// parseInteger reads a whole number in the range of the tags min and max.
func parseInteger(text string, tag *kong.Tag) (any, error) {
	n, err := strconv.Atoi(text)
	low, _ := strconv.Atoi(tag.Get("min"))
	high, _ := strconv.Atoi(tag.Get("max"))
	if err != nil || n < low || n > high {
		return nil, fmt.Errorf("accepted is a whole number from %d to %d", low, high)
	}
	return n, nil
}

// parseNumeral accepts what parseInteger reads and returns its digits, for a field that is
// a string.
func parseNumeral(text string, tag *kong.Tag) (any, error) {
	n, err := parseInteger(text, tag)
	return fmt.Sprint(n), err
}

var negativeNumber = regexp.MustCompile(`^-[0-9.]+$`)

// parseDecimal reads a number in the range of the tags min and max.
func parseDecimal(text string, tag *kong.Tag) (any, error) {
	x, err := strconv.ParseFloat(text, 64)
	low, _ := strconv.ParseFloat(tag.Get("min"), 64)
	high, _ := strconv.ParseFloat(tag.Get("max"), 64)
	if err != nil || math.IsNaN(x) || x < low || x > high {
		return nil, fmt.Errorf("accepted is a number from %v to %v", low, high)
	}
	return x, nil
}

// parseDuration reads a duration in the range of the tags min and max.
func parseDuration(text string, tag *kong.Tag) (any, error) {
	d, ok := duration(text)
	low, _ := duration(tag.Get("min"))
	high, _ := duration(tag.Get("max"))
	if !ok || d < low || d > high {
		return nil, fmt.Errorf("accepted is a duration from %s to %s, such as 45s, 10m, 2h or 90d; a bare number is seconds",
			tag.Get("min"), tag.Get("max"))
	}
	return d, nil
}

// duration reads a Go duration, days such as 90d, or a bare number of seconds.
func duration(text string) (time.Duration, bool) {
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

func parseTime(text string, _ *kong.Tag) (any, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 2000 {
		return nil, errors.New("accepted is a time with its zone's offset, such as 2030-01-15T20:00:00+09:00")
	}
	return at, nil
}

var keyPattern = regexp.MustCompile(`^[!-~]+$`)

// minAPIKey is the least length of an API key, in characters (section 12.1). A shorter one
// could be guessed.
const minAPIKey = 16

// parseAPIKey reads a key that the gateway accepts from callers or workers.
func parseAPIKey(text string, tag *kong.Tag) (any, error) {
	if len(text) < minAPIKey {
		return nil, fmt.Errorf("accepted are %d characters or more; make one with: openssl rand -hex 32", minAPIKey)
	}
	return parseKey(text, tag)
}

// parseKey accepts the characters that an HTTP header transmits unchanged.
func parseKey(text string, _ *kong.Tag) (any, error) {
	if !keyPattern.MatchString(text) {
		return nil, errors.New("accepted are ASCII letters, digits and signs, without spaces")
	}
	return text, nil
}
