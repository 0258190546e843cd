package docgen_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/suite/docgen"
)

const readme = "../../../README.md"

// TestBothExamplesOfVerificationAcceptAndRefuseTheSame runs the Go and the Python
// example on the same webhooks (section 12.2).
func TestBothExamplesOfVerificationAcceptAndRefuseTheSame(t *testing.T) {
	const key, body = "an-example-key", `{"event_type":"alert.blackout"}`
	now := time.Now().Unix()
	sign := func(timestamp string) string {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(timestamp + "." + body))
		return "sha256=" + hex.EncodeToString(mac.Sum(nil))
	}
	at := func(offset int64) string { return strconv.FormatInt(now+offset, 10) }
	cases := []struct {
		name, signature, timestamp string
		valid                      bool
	}{
		{"a fresh webhook", sign(at(0)), at(0), true},
		{"one of four minutes ago", sign(at(-240)), at(-240), true},
		{"one of six minutes ago", sign(at(-360)), at(-360), false},
		{"one of six minutes ahead", sign(at(360)), at(360), false},
		{"one with another timestamp", sign(at(-1)), at(0), false},
		{"one without a timestamp", sign(""), "", false},
		{"one with a timestamp in text", sign("soon"), "soon", false},
		{"one with superscript digits", sign("²"), "²", false},
		{"one without a signature", "", at(0), false},
		{"one with another signature", "sha256=" + strings.Repeat("0", 64), at(0), false},
		{"one with a foreign signature", "sha256=é", at(0), false},
	}
	var arguments [][]string
	for _, c := range cases {
		if got := docgen.Verify([]byte(body), c.signature, c.timestamp, key); got != c.valid {
			t.Errorf("%s: the Go example says %v, want %v", c.name, got, c.valid)
		}
		arguments = append(arguments, []string{body, c.signature, c.timestamp, key})
	}
	given, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	// One process: a minute may pass on a busy machine while it starts, more would change what is fresh.
	script := python + "\nimport json, sys\nprint(json.dumps([verify(body.encode(), *rest) for body, *rest in json.loads(sys.argv[1])]))\n"
	out, err := exec.CommandContext(t.Context(), "python3", "-c", script, string(given)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var valid []bool
	if err := json.Unmarshal(out, &valid); err != nil || len(valid) != len(cases) {
		t.Fatalf("the Python example says %s (%v)", out, err)
	}
	for i, c := range cases {
		if valid[i] != c.valid {
			t.Errorf("%s: the Python example says %v, want %v", c.name, valid[i], c.valid)
		}
	}
}

func TestTheReadmeHasTheSameVerification(t *testing.T) {
	page, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```python\n"+python+"```") {
		t.Error("the Python example of README.md is not verify.py")
	}
}

// TestTheExampleOfTheReadmeCannotBeRegistered keeps somebody who copies it from
// watching a stranger's stream.
func TestTheExampleOfTheReadmeCannotBeRegistered(t *testing.T) {
	page, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), `"stream_url":   "`)
	example, _, closed := strings.Cut(rest, `"`)
	if !found || !closed {
		t.Fatal("README.md has no example of a registration")
	}
	if _, err := monitor.ParseStreamURL(example); err == nil {
		t.Errorf("%s is a valid stream URL", example)
	}
}
