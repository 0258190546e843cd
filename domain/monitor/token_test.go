package monitor_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestATokenIsGenuineForOneLaunchOnly(t *testing.T) {
	const (
		id    = monitor.ID("mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d")
		other = monitor.ID("mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7e")
	)
	key := monitor.NewTokenKey("the internal key")
	token := key.Token(id, 2)
	if !regexp.MustCompile(`^v1\.mon-[0-9a-f]{32}\.2\.[A-Za-z0-9_-]{43}$`).MatchString(token) {
		t.Errorf("the token is %s", token)
	}
	if gotID, generation, genuine := key.Check(token); gotID != id || generation != 2 || !genuine {
		t.Errorf("it is of %s, generation %d, genuine %t", gotID, generation, genuine)
	}
	if again := monitor.NewTokenKey("the internal key").Token(id, 2); again != token {
		t.Errorf("another gateway makes %s", again)
	}
	mac := token[strings.LastIndexByte(token, '.'):]
	altered := []byte(token)
	altered[len(altered)-2] ^= 1
	for name, forged := range map[string]string{
		"nothing":                       "",
		"the root":                      "the internal key",
		"no MAC":                        strings.TrimSuffix(token, mac),
		"an empty MAC":                  strings.TrimSuffix(token, mac) + ".",
		"another monitor":               strings.Replace(token, string(id), string(other), 1),
		"another generation":            strings.Replace(token, ".2.", ".3.", 1),
		"the generation in other words": strings.Replace(token, ".2.", ".02.", 1),
		"a signed generation":           strings.Replace(token, ".2.", ".+2.", 1),
		"another version":               strings.Replace(token, "v1.", "v2.", 1),
		"an altered MAC":                string(altered),
		"a cut MAC":                     token[:len(token)-1],
		"something behind it":           token + ".",
		"a space behind it":             token + " ",
		"a token of another key":        monitor.NewTokenKey("another key").Token(id, 2),
		"a token made with the root":    monitor.TokenKey([]byte(strings.Repeat("the internal key", 2))).Token(id, 2),
	} {
		if gotID, generation, genuine := key.Check(forged); genuine || gotID != "" || generation != 0 {
			t.Errorf("%s: %s is accepted as of %s, generation %d", name, forged, gotID, generation)
		}
	}
}
