package message_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

var (
	jst   = time.FixedZone("JST", 9*60*60)
	eight = time.Date(2026, 11, 21, 20, 19, 7, 0, jst)
	keys  = evidence.LinkKeys{"0123456789abcdef0123456789abcdef"}
)

func load(t *testing.T, files fs.FS) *message.Renderer {
	t.Helper()
	r, err := message.Load(message.Config{Files: files, PublicURL: "https://monitor.example", Keys: keys, Zone: jst})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMessagesReadAsInTheGoldenFiles compares all messages with testdata/en.txt and ja.txt.
// WRITE_GOLDEN=1 writes the files.
func TestMessagesReadAsInTheGoldenFiles(t *testing.T) {
	r := load(t, nil)
	for _, language := range []notify.Language{notify.English, notify.Japanese} {
		var text strings.Builder
		all := slices.DeleteFunc(message.Examples(eight), func(e message.Example) bool { // the kinds differ alike for all conditions
			return e.Step.Kind != notify.Opened && e.Facts.Notice == nil && !strings.Contains(e.Name, "black") && !strings.Contains(e.Name, "blind")
		})
		for _, e := range append(all, special()...) {
			e.Facts.Language = language
			m := r.Message(e.Facts, e.Step)
			fmt.Fprintf(&text, "# %s\n%s\n", e.Name, m.Title)
			for _, line := range m.Lines {
				fmt.Fprintf(&text, "    %s\n", line)
			}
			for _, l := range append([]message.Link{m.Stream, m.Link}, m.Actions...) {
				if url, _, _ := strings.Cut(l.URL, "/act/"); l.URL != "" {
					fmt.Fprintf(&text, "    [%s] %s\n", l.Text, url)
				}
			}
			if m.Picture != nil {
				fmt.Fprintf(&text, "    (picture) %s\n", m.Picture.Alt)
			}
			text.WriteString("\n")
		}
		path := filepath.Join("testdata", string(language)+".txt")
		if os.Getenv("WRITE_GOLDEN") != "" {
			if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if text.String() != string(want) {
			t.Errorf("the messages differ from %s; see what WRITE_GOLDEN=1 changes in it", path)
		}
	}
}

// special returns messages in which several things come together.
func special() []message.Example {
	find := func(name string) message.Example {
		for _, e := range message.Examples(eight) {
			if e.Name == name {
				return e
			}
		}
		panic(name)
	}
	both := find("black, worse")
	both.Name = "black, then silent too"
	both.Facts.Incident.Conditions = append(both.Facts.Incident.Conditions,
		incident.Condition{Name: "silent", StartedAt: eight.Add(-time.Minute), LastStartedAt: eight.Add(-time.Minute), Count: 1})
	both.Facts.Situation.Severity, both.Facts.Incident.Severity = 3, 3

	resolved := find("black, recovered")
	resolved.Name = "resolved a minute after the end of both"
	ended := eight.Add(-time.Minute)
	resolved.Facts.Incident.Conditions = []incident.Condition{
		{Name: "black", StartedAt: eight.Add(-2 * time.Minute), LastStartedAt: eight.Add(-2 * time.Minute), EndedAt: ended.Add(700 * time.Millisecond), Count: 1},
		{Name: "silent", StartedAt: eight.Add(-90 * time.Second), LastStartedAt: eight.Add(-90 * time.Second), EndedAt: ended.Add(-time.Second), Count: 1},
	}
	resolved.Facts.Incident.StartedAt = eight.Add(-2 * time.Minute)

	often := find("black, updated")
	often.Name, often.Facts.Repeat = "repeated as often as a push may come", time.Minute

	late := find("black, recovered")
	late.Name, late.Facts.Delay, late.Facts.Unreachable = "recovered, delivered late", 6*time.Minute, true

	yesterday := find("silent, repeated")
	yesterday.Name = "since yesterday, with a picture"
	onset := eight.Add(-25 * time.Hour)
	yesterday.Facts.Incident.Conditions[0].LastStartedAt, yesterday.Facts.Incident.StartedAt = onset, onset
	yesterday.Facts.Picture = &message.Picture{URL: "https://monitor.example/evidence/1"}

	hostile := find("black, opened")
	hostile.Name = "the names are hostile"
	hostile.Facts.Incident.Metadata = []byte(`{"channel_name":"<!channel> *a*\n\u202e{{.}}@everyone \u0000 ` + strings.Repeat("長", 300) + `","stream_title":"[x](https://evil.example)\n# y"}`)

	unnamed := find("black, opened")
	unnamed.Name = "nothing names the stream"
	unnamed.Facts.Incident.Metadata = []byte(`{}`)

	unknown := find("black, opened")
	unknown.Name = "another detector"
	unknown.Facts.Incident.Conditions[0].Name = "frozen"

	over := find("black, acknowledged")
	over.Name, over.Facts.Incident.Conditions[0].EndedAt = "acknowledged while nothing lasts any more", eight.Add(-time.Second)
	return []message.Example{both, resolved, often, late, yesterday, hostile, unnamed, unknown, over}
}

func TestAMessageKeepsItsLimits(t *testing.T) {
	r := load(t, nil)
	for _, language := range []notify.Language{notify.English, notify.Japanese, "xx"} {
		for _, e := range append(message.Examples(eight), special()...) {
			e.Facts.Language = language
			m := r.Message(e.Facts, e.Step)
			if n := utf8.RuneCountInString(m.Title); n == 0 || n > 60 {
				t.Errorf("%s, %s: the title has %d characters: %s", language, e.Name, n, m.Title)
			}
			for _, line := range append(m.Lines, m.Title, m.Stream.Text) {
				if strings.ContainsAny(line, "\n\r\x00\u202e") || strings.Contains(line, "<no value>") {
					t.Errorf("%s, %s: %q", language, e.Name, line)
				}
			}
			if len(m.Lines) == 0 {
				t.Errorf("%s, %s has no lines", language, e.Name)
			}
		}
	}
}

func TestBlindnessNeverSaysThatTheStreamIsDown(t *testing.T) {
	r := load(t, nil)
	for _, e := range message.Examples(eight) {
		if !strings.HasPrefix(e.Name, "blind") && !strings.HasPrefix(e.Name, "storm of blind") || !e.Facts.Situation.Open {
			continue
		}
		for language, want := range map[notify.Language][2]string{
			notify.English: {"annot ", "may be fine"}, notify.Japanese: {"確認できません", "正常かもしれません"},
		} {
			e.Facts.Language = language
			m := r.Message(e.Facts, e.Step)
			if !strings.Contains(m.Title, want[0]) || !strings.Contains(m.Lines[0], want[1]) {
				t.Errorf("%s, %s: %s\n%s", language, e.Name, m.Title, m.Lines[0])
			}
		}
	}
}

func TestActionsAreOfferedWhileTheyMeanSomething(t *testing.T) {
	r := load(t, nil)
	for kind, want := range map[notify.MessageKind][]notify.Action{
		notify.Opened: {notify.Acknowledge, notify.SilenceAnHour}, notify.Repeated: {notify.Acknowledge, notify.SilenceAnHour},
		notify.Acknowledged: {notify.SilenceAnHour}, notify.Recovered: nil,
	} {
		seen := 0
		for _, e := range message.Examples(eight) {
			if e.Name != "black, "+string(kind) {
				continue
			}
			seen++
			m := r.Message(e.Facts, e.Step)
			if len(m.Actions) != len(want) {
				t.Fatalf("%s has %d actions, want %d", kind, len(m.Actions), len(want))
			}
			for n, action := range want {
				token, below := strings.CutPrefix(m.Actions[n].URL, "https://monitor.example/act/")
				got, err := notify.CheckAction(keys, token, eight.Add(23*time.Hour))
				if err != nil || !below || got.Action != action || got.IncidentID != e.Facts.ThreadID || got.DestinationID != e.Facts.DestinationID {
					t.Errorf("%s: %s is %+v, %v", kind, m.Actions[n].URL, got, err)
				}
			}
		}
		if seen != 1 {
			t.Errorf("%d examples of %s were seen, want 1", seen, kind)
		}
	}
}

func TestWithoutAPublicURLThereAreNoLinksToTheService(t *testing.T) {
	r, err := message.Load(message.Config{Keys: keys, Zone: jst})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range message.Examples(eight) {
		if m := r.Message(e.Facts, e.Step); m.Link.URL != "" || len(m.Actions) > 0 || e.Facts.Incident != nil && m.Stream.URL == "" {
			t.Errorf("%s has %+v, %+v, %+v", e.Name, m.Link, m.Actions, m.Stream)
		}
	}
}

func TestAFileOfTheOperatorReplacesWhatItDefines(t *testing.T) {
	r := load(t, fstest.MapFS{"ja.tmpl": {Data: []byte(`{{define "condition"}}障害{{.}}{{end}}`)}})
	e := message.NewExample("id", notify.Opened, eight)
	e.Facts.Language = notify.Japanese
	if m := r.Message(e.Facts, e.Step); m.Title != "テスト｜🟠 警告｜障害black 4分12秒｜007 Example Channel" {
		t.Error(m.Title)
	}
	e.Facts.Language = notify.English
	if m := r.Message(e.Facts, e.Step); m.Title != "TEST｜🟠 HIGH｜Black video 4 min 12 s｜007 Example Channel" {
		t.Error(m.Title)
	}
}

func TestAWrongTemplateIsRefusedWithFileLineAndRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"a syntax error":          {"en.tmpl", "\n{{define \"title\"}}{{if}}{{end}}", []string{"en.tmpl:2", "correct the template"}},
		"a field that is not":     {"ja.tmpl", "\n\n{{define \"title\"}}{{.Titel}}{{end}}", []string{"ja.tmpl:3", "Titel", "correct the template"}},
		"a call that fails":       {"en.tmpl", `{{define "lines"}}{{index .Conditions 99}}{{end}}`, []string{"en.tmpl:1", "late, opened", "correct the template"}},
		"a template that is not":  {"en.tmpl", `{{define "title"}}{{template "nothing"}}{{end}}`, []string{"nothing", "correct the template"}},
		"a title that is empty":   {"en.tmpl", `{{define "title"}}{{""}}{{end}}`, []string{"title", "writes nothing", "correct the template"}},
		"a language that is none": {"fr.tmpl", ``, []string{"fr.tmpl", "en.tmpl and ja.tmpl", "rename"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := message.Load(message.Config{Files: fstest.MapFS{c.file: {Data: []byte(c.text)}}})
			for _, want := range append(c.want, "TEMPLATES_DIR") {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not name %q: %v", want, err)
				}
			}
		})
	}
	if _, err := message.Load(message.Config{Files: os.DirFS(filepath.Join(t.TempDir(), "none"))}); err == nil {
		t.Error("a directory that does not exist is accepted")
	}
}
