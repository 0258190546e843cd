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
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/detector/detectortest"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/monitor/sourcetest"
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
	detectortest.Only(t, detector.Blackout, detector.Silence)
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

func TestMessagesNameTheSourceOfTheirStreams(t *testing.T) {
	sourcetest.Add(t, sourcetest.Imaginary)
	r := load(t, nil)
	text := func(name string, language notify.Language, change func(*message.Facts)) string {
		e := example(name)
		e.Facts.Language = language
		change(&e.Facts)
		m := r.Message(e.Facts, e.Step)
		return strings.Join(append([]string{m.Title}, m.Lines...), "\n")
	}
	same := func(*message.Facts) {}
	other := func(f *message.Facts) { f.Incident.StreamURL = sourcetest.Stream }
	twitch := func(f *message.Facts) { f.Incident.StreamURL = "https://www.twitch.tv/some_login" }
	for _, c := range []struct {
		name     string
		language notify.Language
		change   func(*message.Facts)
		says     string
		studio   bool
	}{
		{"no_media, opened", notify.English, same, "YouTube Studio", true},
		{"no_media, opened", notify.English, other, "is the encoder still sending? Check its uplink.", false},
		{"no_media, opened", notify.Japanese, other, "エンコーダーの送出と回線", false},
		{"black, opened", notify.English, same, "preview in YouTube Studio.", true},
		{"black, opened", notify.English, other, "preview in the studio of the platform.", false},
		{"black, opened", notify.Japanese, other, "配信サイトの管理画面のプレビュー", false},
		{"black, opened", notify.English, twitch, "preview in the Creator Dashboard of Twitch.", false},
		{"late, opened", notify.Japanese, twitch, "エンコーダーと配信は始まっていますか → Twitchのクリエイターダッシュボード", false},
		{"storm of blind, opened", notify.English, same, "The platform refuses the address", false},
		{"storm of blind, opened", notify.Japanese, same, "配信サイトがstream-monitorのアドレス", false},
	} {
		if got := text(c.name, c.language, c.change); !strings.Contains(got, c.says) || strings.Contains(got, "YouTube") != c.studio {
			t.Errorf("%s says %s\nwant %s", c.name, got, c.says)
		}
	}
}

// Services refuse a message with a link that no browser opens.
func TestTheLinkToAnAudioStreamOpensItsMount(t *testing.T) {
	e := example("no_media, opened")
	e.Facts.Incident.StreamURL, e.Facts.Incident.Metadata = "icy+http://radio.example:8000/live", nil
	m := load(t, nil).Message(e.Facts, e.Step)
	if m.Stream.URL != "http://radio.example:8000/live" || strings.Contains(m.Title+strings.Join(m.Lines, ""), "icy+") {
		t.Errorf("the link is %s, the message says %s %v", m.Stream.URL, m.Title, m.Lines)
	}
}

// span is a time before eight; to is lasts if it has not ended.
type span struct{ from, to time.Duration }

const lasts = time.Duration(0)

func came(name incident.Name, spans ...span) incident.Condition {
	c := incident.Condition{Name: name, StartedAt: eight.Add(spans[0].from), Count: len(spans)}
	for _, s := range spans {
		c.LastStartedAt, c.EndedAt = eight.Add(s.from), eight.Add(s.to)
		if s.to == lasts {
			c.EndedAt = time.Time{}
		}
		c.Spans = append(c.Spans, incident.Span{StartedAt: c.LastStartedAt, EndedAt: c.EndedAt})
	}
	return c
}

func example(name string) message.Example {
	for _, e := range message.Examples(eight) {
		if e.Name == name {
			return e
		}
	}
	panic(name)
}

// special returns messages in which several things come together.
func special() []message.Example {
	both := example("black, worse")
	both.Name = "black, then silent too"
	both.Facts.Incident.Conditions = append(both.Facts.Incident.Conditions, came("silent", span{-time.Minute, lasts}))
	both.Facts.Situation.SeverityNow = 3

	resolved := example("black, recovered")
	resolved.Name = "resolved a minute after the end of both"
	resolved.Facts.Incident.Conditions = []incident.Condition{
		came("black", span{-2 * time.Minute, -time.Minute + 700*time.Millisecond}), came("silent", span{-90 * time.Second, -61 * time.Second}),
	}

	still := example("black, recovered")
	still.Name, still.Facts.Incident.ResolvedBy = "resolved by a person, still black", "Ann"
	still.Facts.Incident.Conditions = []incident.Condition{came("black", span{-6 * time.Minute, lasts}), came("silent", span{-5 * time.Minute, -4 * time.Minute})}
	overSince := example("black, recovered")
	overSince.Name, overSince.Facts.Incident.ResolvedBy = "resolved by a person, and over", "Ann"

	paused := example("black, recovered")
	paused.Name, paused.Facts.Incident.ResolvedBy, paused.Facts.Incident.ResolvedByPause = "paused by a person", "Ann", true
	pausedByRoot := example("silent, recovered")
	pausedByRoot.Name, pausedByRoot.Facts.Incident.ResolvedByPause = "paused, nobody knows by whom", true

	// Silent for 365 s in the 23 min 38 s between the first onset and the last end, and black twice.
	silences := []span{{-24 * time.Minute, -22 * time.Minute}, {-17 * time.Minute, -15 * time.Minute}, {-147 * time.Second, -22 * time.Second}}
	blacks := []span{{-16 * time.Minute, -14 * time.Minute}, {-2 * time.Minute, -50 * time.Second}}
	flapped := example("silent, recovered")
	flapped.Name = "silent three times and black twice, resolved"
	flapped.Facts.Incident.Conditions = []incident.Condition{came("silent", silences...), came("black", blacks...)}
	quiet := example("silent, updated")
	quiet.Name, quiet.Facts.Situation.Conditions = "silent three times and black twice, nothing lasts", nil
	quiet.Facts.Incident.Conditions = flapped.Facts.Incident.Conditions
	again := example("silent, reopened")
	again.Name, silences[2].to = "silent for the third time, black is over", lasts
	again.Facts.Incident.Conditions = []incident.Condition{came("silent", silences...), came("black", blacks...)}
	unseen := example("blind, worse")
	unseen.Name = "blind after it was black"
	unseen.Facts.Incident.Conditions = []incident.Condition{came("black", blacks...), came("blind", span{-time.Minute, lasts})}

	often := example("black, updated")
	often.Name, often.Facts.Repeat = "repeated as often as a push may come", time.Minute

	late := example("black, recovered")
	late.Name, late.Facts.Delay, late.Facts.Unreachable = "recovered, delivered late", 6*time.Minute, true

	yesterday := example("silent, repeated")
	yesterday.Name = "since yesterday, with a picture"
	yesterday.Facts.Incident.Conditions[0] = came("silent", span{-25 * time.Hour, lasts})
	yesterday.Facts.Picture = &message.Picture{URL: "https://monitor.example/evidence/1", RenditionHeight: 360}

	hostile := example("black, opened")
	hostile.Name = "the names are hostile"
	hostile.Facts.Incident.Metadata = map[string]string{"channel_name": "<!channel> *a*\n\u202e{{.}}@everyone \u0000 " + strings.Repeat("長", 300), "stream_title": "[x](https://evil.example)\n# y"}
	hostile.Facts.Incident.Labels = monitor.Labels{"team": "<!channel> *a* [x](https://evil.example)", "show": strings.Repeat("長", 100), "more": strings.Repeat("長", 100)}

	unnamed := example("black, opened")
	unnamed.Name = "nothing names the stream"
	unnamed.Facts.Incident.Metadata = nil

	unknown := example("black, opened")
	unknown.Name = "another detector"
	unknown.Facts.Incident.Conditions[0].Name = "frozen"

	over := example("black, acknowledged")
	over.Name, over.Facts.Incident.Conditions[0] = "acknowledged while nothing lasts any more", came("black", span{-4*time.Minute - 12*time.Second, -time.Second})
	return []message.Example{both, resolved, still, overSince, paused, pausedByRoot, flapped, quiet, again, unseen, often, late, yesterday, hostile, unnamed, unknown, over}
}

func TestAMessageAboutAThirdDetectorHasTheWordsOfItsRow(t *testing.T) {
	detectortest.Only(t, detector.Blackout, detector.Silence)
	detectortest.Add(t, detectortest.Imaginary)
	r := load(t, nil)
	alone := example("imagined, opened")
	both := example("imagined, opened")
	both.Facts.Incident.Conditions = append(both.Facts.Incident.Conditions, came("silent", span{-time.Minute, lasts}))
	for language, want := range map[notify.Language][]string{
		notify.English:  {"🟠 HIGH｜Imagined video 4 min 12 s｜007 Example Channel", "The sound is fine.", "First: look at the mind.", "No sound + Imagined video"},
		notify.Japanese: {"🟠 重大度 高｜架空の映像 4分12秒｜007 Example Channel", "音声は正常。", "まず: 心の中", "無音＋架空の映像"},
	} {
		alone.Facts.Language, both.Facts.Language = language, language
		text := r.Message(alone.Facts, alone.Step).Text() + r.Message(both.Facts, both.Step).Title
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("the message lacks %q:\n%s", w, text)
			}
		}
	}
}

func TestAMessageHasTheSecondOpinionInTheWordsOfWhoeverGaveIt(t *testing.T) { // section 19.9
	r := load(t, nil)
	for language, prefix := range map[notify.Language]string{notify.English: "Second opinion: ", notify.Japanese: "セカンドオピニオン: "} {
		for body, want := range map[string]string{
			`{"opinion":"label","label":"end screen","confidence":0.926,"severity":0,"reason":"a logo"}`: prefix + "end screen (93 %): a logo",
			`{"opinion":"keep","reason":"nothing is seen"}`:                                              prefix + "nothing is seen",
			`{"opinion":"keep"}`: "", `{"opinion":"drop","reason":"late"}`: "", `no answer`: "",
		} {
			e := example("black, opened")
			opinion := incident.ReadOpinion(200, []byte(body))
			e.Facts.Language, e.Facts.Incident.Conditions[0].Alert = language, &incident.Alert{Opinion: &opinion}
			text := r.Message(e.Facts, e.Step).Text()
			if !strings.Contains(text, want) || strings.Contains(text, prefix) != (want != "") {
				t.Errorf("%s: the message is\n%s\nwant %q", body, text, want)
			}
		}
	}
}

func TestAMessageSaysThatTheCredentialsOfAStreamAreRefused(t *testing.T) { // decision S27
	r := load(t, nil)
	for language, words := range map[notify.Language]map[string]string{
		notify.English:  {"token": "The stream's token has expired", "denied": "refuses the credentials", "access_denied": "refuses the credentials", "manifest": ""},
		notify.Japanese: {"token": "トークンの有効期限が切れ", "denied": "認証情報を拒否", "access_denied": "認証情報を拒否", "manifest": ""},
	} {
		for reason, want := range words {
			e := example("black, opened")
			e.Facts.Language, e.Facts.Incident.Conditions[0].Alert = language, &incident.Alert{Reason: reason, Detail: reason + ": cdn.example: answered 403"}
			text := r.Message(e.Facts, e.Step).Text()
			if !strings.Contains(text, want) || want == "" && (strings.Contains(text, "credentials") || strings.Contains(text, "認証情報")) {
				t.Errorf("%s: the message is\n%s\nwant %q", reason, text, want)
			}
		}
	}
}

func TestAMessageKeepsItsLimits(t *testing.T) {
	detectortest.Add(t, detectortest.Imaginary)
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
	if m := r.Message(e.Facts, e.Step); m.Title != "テスト｜🟠 重大度 高｜障害black 4分12秒｜007 Example Channel" {
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

func TestADurationHasTwoUnitsAtMost(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		0:                                     {"0 s", "0秒"},
		-time.Second:                          {"0 s", "0秒"},
		35*time.Second + 400*time.Millisecond: {"35 s", "35秒"},
		59*time.Second + 600*time.Millisecond: {"1 min", "1分"},
		4*time.Minute + 12*time.Second:        {"4 min 12 s", "4分12秒"},
		time.Hour + 12*time.Second:            {"1 h", "1時間"},
		time.Hour + 5*time.Minute:             {"1 h 5 min", "1時間5分"},
		49*time.Hour + 3*time.Minute:          {"2 d 1 h", "2日1時間"},
	} {
		for n, language := range []notify.Language{notify.English, notify.Japanese} {
			if got := message.Duration(language, d); got != want[n] {
				t.Errorf("%v is %q, want %q", d, got, want[n])
			}
		}
	}
}
