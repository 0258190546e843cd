package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call is the command as a shell would call it.
func call(t *testing.T, args ...string) (code int, out, problems string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = command(t.Context(), args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestTheCommandChecksItsArguments(t *testing.T) {
	for name, c := range map[string]struct {
		args     []string
		code     int
		out      string // to be found in it
		problems string
	}{
		"teaches":                           {[]string{"--help"}, exitPassed, "", "-only \"fade of 4 s\""},
		"lists what the clips show":         {[]string{"-list"}, exitPassed, "two thirds of the picture, around a dark scene", ""},
		"refuses flags it does not know":    {[]string{"-pic-th", "0.5"}, exitUsage, "", "flag provided but not defined: -pic-th"},
		"refuses words without a flag":      {[]string{"credits"}, exitUsage, "", `unexpected argument "credits", try --help`},
		"refuses names it does not know":    {[]string{"-only", "nonsense"}, exitUsage, "", `no clip is called "nonsense"; -list shows all names`},
		"proposes names that are much like": {[]string{"-only", "fade of 4"}, exitUsage, "", `but "fade of 4 s", "fade of 4 s, segments of 5 s"`},
		"runs one clip of any case":         {[]string{"-only", "Credits"}, exitPassed, "0 events in 1 clip, each watched 12 times: 0 missed, 0 false alarms", ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, problems := call(t, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.Contains(out, c.out) || !strings.Contains(problems, c.problems) {
				t.Errorf("printed\n%s\nand complained\n%s", out, problems)
			}
			if strings.Contains(out, "\x1b") {
				t.Errorf("colours, and not on a terminal:\n%q", out)
			}
		})
	}
}
