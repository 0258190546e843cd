package cookie_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/cookie"
)

var (
	noon  = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	hosts = []string{"www.example.com", "example.com"}
	site  = cookie.Site{Hosts: hosts, Login: [][]string{{"LOGIN"}, {"SID", "SID2"}}}
)

// line is a line of a cookie file that expires a number of hours after noon.
func line(name, value string, hours int) string {
	return fmt.Sprintf(".example.com\tTRUE\t/\tTRUE\t%d\t%s\t%s\n", noon.Unix()+int64(hours)*3600, name, value)
}

func jar(version int, lines ...string) cookie.Jar {
	f, err := cookie.Parse(strings.Join(lines, ""))
	if err != nil {
		panic(err)
	}
	return cookie.Jar{Name: "members", Version: version, Text: f.Text()}
}

func TestWhatIsNoCookieFileIsToldWhatIsExpected(t *testing.T) { // section 17.7
	const good = ".example.com\tTRUE\t/\tTRUE\t1795000000\tSID\tsecret"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                {"", "has no cookie"},
		"a header alone":         {"# Netscape HTTP Cookie File\n\n", "has no cookie"},
		"JSON":                   {"\ufeff [{\"name\":\"secret\"}]", "is JSON"},
		"a header of a request":  {"Cookie: SID=secret", "line 1 has 1"},
		"spaces instead of tabs": {"# x\n" + strings.ReplaceAll(good, "\t", " "), "line 2 has 1"},
		"a field too many":       {good + "\tsecret", "line 1 has 8"},
		"a wrong flag":           {strings.Replace(good, "TRUE", "secret", 1), "TRUE or FALSE as field 2"},
		"no time":                {strings.Replace(good, "1795000000", "secret", 1), "Unix time in seconds as field 5"},
		"a time before 1970":     {strings.Replace(good, "1795000000", "-1", 1), "Unix time in seconds as field 5"},
		"no number":              {strings.Replace(good, "1795000000", "NaN", 1), "Unix time in seconds as field 5"},
		"no path":                {strings.Replace(good, "/", "secret", 1), "no path"},
		"no name":                {strings.Replace(good, "SID", "", 1), "no name"},
		"no domain":              {strings.Replace(good, ".example.com", ".", 1), "no domain"},
		"a control character":    {good + "\x00", "control characters"},
	} {
		_, err := cookie.Parse(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "expected is a cookie file") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestACookieFileIsReadAsBrowsersAndToolsWriteIt(t *testing.T) { // section 17.7
	f, err := cookie.Parse("\ufeff# HTTP Cookie File\r\n\r\n" +
		"#HttpOnly_.example.com\tTRUE\t/\tTRUE\t1795000000.5\tSID\ta=\"b\"; c\r\n" +
		"www.example.com\tFALSE\t/\tfalse\t\tsession\t\r\n" +
		"www.example.com\tFALSE\t/\tFALSE\t0\tsession\tlast\r\n" +
		"notexample.com\tFALSE\t/\tFALSE\t0\tother\tx\r\n" +
		".sub.www.example.com\tTRUE\t/\tFALSE\t0\tdeeper\tx\r\n" +
		"example.com\tTRUE\t/a\tFALSE\t0\tdotless\tx\r\n" +
		".com\tTRUE\t/\tFALSE\t0\twide\tx\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "# Netscape HTTP Cookie File\n" +
		".com\tTRUE\t/\tFALSE\t0\twide\tx\n" +
		".example.com\tTRUE\t/\tTRUE\t1795000000\tSID\ta=\"b\"; c\n" +
		".example.com\tTRUE\t/a\tFALSE\t0\tdotless\tx\n" +
		"www.example.com\tFALSE\t/\tFALSE\t0\tsession\tlast\n"
	kept := f.Keep(hosts).Text()
	if string(kept) != want {
		t.Errorf("kept\n%q, want\n%q", string(kept), want)
	}
	if again, err := cookie.Parse(want); err != nil || again.Text() != kept {
		t.Errorf("read again: %v", err)
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", kept, cookie.Jar{Text: kept}, []cookie.Text{kept}, kept); strings.Contains(shown, "SID") {
		t.Errorf("it prints as %s", shown)
	}
}

func TestTheNewestLoginWins(t *testing.T) { // section 17.7
	login := line("LOGIN", "one", 100) + line("SID", "s", 100)
	stored := jar(5, login, line("TS", "stored", 10))
	for name, c := range map[string]struct {
		use  cookie.Use
		want cookie.Jar
	}{
		"nothing has changed":                  {cookie.Use{Jar: stored}, stored},
		"nothing but the order":                {cookie.Use{Jar: cookie.Jar{Version: 5, Text: cookie.Text(line("TS", "stored", 10) + login)}}, stored},
		"a cookie was rotated":                 {cookie.Use{Jar: jar(5, login, line("TS", "new", 11))}, jar(6, login, line("TS", "new", 11))},
		"a cookie was deleted":                 {cookie.Use{Jar: jar(5, login)}, jar(6, login)},
		"the login itself was renewed":         {cookie.Use{Jar: jar(5, line("LOGIN", "two", 100), line("SID2", "s", 100))}, jar(6, line("LOGIN", "two", 100), line("SID2", "s", 100))},
		"the source has deleted the login":     {cookie.Use{Jar: jar(5, line("SID", "s", 100), line("TS", "new", 11))}, stored},
		"one half of the login":                {cookie.Use{Jar: jar(5, line("LOGIN", "one", 100), line("TS", "new", 11))}, stored},
		"an empty cookie of the login":         {cookie.Use{Jar: jar(5, line("LOGIN", "", 100), line("SID", "s", 100))}, stored},
		"the login has expired":                {cookie.Use{Jar: jar(5, line("LOGIN", "one", -1), line("SID", "s", 100))}, stored},
		"the login of another site":            {cookie.Use{Jar: cookie.Jar{Version: 5, Text: cookie.Text(strings.ReplaceAll(login, "example", "elsewhere"))}}, stored},
		"it was rejected":                      {cookie.Use{Jar: jar(5, login, line("TS", "new", 11)), Rejected: true}, stored},
		"the file was cut":                     {cookie.Use{Jar: cookie.Jar{Version: 5, Text: stored.Text[:len(stored.Text)-9]}}, stored},
		"renewed meanwhile, and before":        {cookie.Use{Jar: jar(4, login, line("TS", "older", 9))}, stored},
		"renewed meanwhile, and after":         {cookie.Use{Jar: jar(4, login, line("TS", "newer", 11))}, jar(6, login, line("TS", "newer", 11))},
		"each has renewed another cookie":      {cookie.Use{Jar: jar(4, login, line("TS", "older", 9), line("CC", "new", 9))}, jar(6, login, line("TS", "stored", 10), line("CC", "new", 9))},
		"another login was uploaded meanwhile": {cookie.Use{Jar: jar(4, line("LOGIN", "zero", 900), line("SID", "s", 900), line("TS", "newer", 11))}, stored},
	} {
		c.want.Name = stored.Name
		if got := site.Renew(stored, c.use, hosts, noon); got != c.want {
			t.Errorf("%s: version %d\n%s, want version %d\n%s", name, got.Version, string(got.Text), c.want.Version, string(c.want.Text))
		}
	}
	if got := site.Renew(cookie.Jar{}, cookie.Use{Jar: stored}, hosts, noon); got != (cookie.Jar{}) {
		t.Errorf("a jar that cannot be read becomes version %d", got.Version)
	}
}

// Whoever comes first: two runs that got the same version lose neither's cookies, and nothing changes when one is repeated.
func TestTwoRunsOfOneVersionLoseNothing(t *testing.T) { // section 17.7
	login := line("LOGIN", "one", 100) + line("SID", "s", 100)
	first := cookie.Use{Jar: jar(1, login, line("TS", "first", 20), line("A", "a", 1))}
	second := cookie.Use{Jar: jar(1, login, line("TS", "second", 21), line("B", "b", 1))}
	want := jar(3, login, line("TS", "second", 21), line("A", "a", 1), line("B", "b", 1))
	for _, order := range [][]cookie.Use{{first, second}, {second, first}, {first, second, first, second}} {
		got := jar(1, login, line("TS", "old", 10))
		for _, use := range order {
			got = site.Renew(got, use, hosts, noon)
		}
		if got != want {
			t.Errorf("version %d\n%s", got.Version, string(got.Text))
		}
	}
}
