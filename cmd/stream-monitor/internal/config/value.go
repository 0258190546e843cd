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
	"image":    parseImage,
	"instant":  parseInstant,
	"key":      parseKey,
	"label":    parseLabel,
	"monitor":  parseMonitor,
	"name":     parseName,
	"networks": parseNetworks,
	"path":     parsePath,
	"proxy":    parseProxy,
	"roots":    parseRoots,
	"signing":  parseSigning,
	"span":     parseSpan,
	"stream":   parseStream,
	"whole":    parseWhole,
}

// parseChoice reads one of the words of the accept tag.
func parseChoice(text string, tag *kong.Tag) (any, error) {
	words := strings.Split(tag.Get("accept"), ",")
	if slices.Contains(words, text) {
		return text, nil
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

var negativeNumber = regexp.MustCompile(`^-[0-9.]+$`)

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

var keyForm = regexp.MustCompile(`^[!-~]+$`)

// parseKey accepts what an HTTP header carries unchanged.
func parseKey(text string, _ *kong.Tag) (any, error) {
	if !keyForm.MatchString(text) {
		return nil, errors.New("accepted are ASCII letters, digits and signs, without spaces")
	}
	return text, nil
}
