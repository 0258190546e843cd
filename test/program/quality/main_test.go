package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call runs the command and returns its exit code and outputs.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = command(t.Context(), args, &out, &errOut)
	return code, out.String(), errOut.String()
}

func TestTheCommandChecksItsArguments(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		code   int
		stdout string // a part of it
		stderr string // a part of it
	}{
		"prints its help":                    {[]string{"--help"}, exitPassed, "", "-only \"fade of 4 s\""},
		"lists what the clips show":          {[]string{"-list"}, exitPassed, "two thirds of the picture, around a dark scene", ""},
		"refuses flags it does not know":     {[]string{"-pic-th", "0.5"}, exitUsage, "", "flag provided but not defined: -pic-th"},
		"refuses analysers it does not know": {[]string{"-analyser", "pyav"}, exitUsage, "", `there is no analyser "pyav", try --help`},
		"refuses other arguments":            {[]string{"credits"}, exitUsage, "", `unexpected argument "credits", try --help`},
		"refuses names it does not know":     {[]string{"-only", "nonsense"}, exitUsage, "", `no clip is called "nonsense"; -list shows all names`},
		"suggests similar names":             {[]string{"-only", "fade of 4"}, exitUsage, "", `but "fade of 4 s", "fade of 4 s, segments of 5 s"`},
		"ignores the case of names":          {[]string{"-only", "Credits"}, exitPassed, "0 events in 1 clip, each watched 12 times: 0 missed, 0 false alarms", ""},
		"compares on a random clip":          {[]string{"-only", "random 4"}, exitPassed, "compared with ffmpeg alone: 0 differences in 12 watches with 24 alerts", ""},
		"whose timestamps jump":              {[]string{"-only", "random 9"}, exitPassed, "compared with ffmpeg alone: 0 differences in 12 watches", ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call(t, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("stdout:\n%s\nstderr:\n%s", stdout, stderr)
			}
			if strings.Contains(stdout, "\x1b") {
				t.Errorf("colours in output that is not a terminal:\n%q", stdout)
			}
		})
	}
}
